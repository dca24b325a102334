"""Describes the declared ops as plain data (JSON), with the output shapes measured by running each op once.

The ops themselves are in ``ops``; the processes above the worker, which do not import torch, get these descriptions.
"""

from .op_description import default_elements, describe_op, measured_shapes, op_descriptions, parse_element

__all__ = ["default_elements", "describe_op", "measured_shapes", "op_descriptions", "parse_element"]
