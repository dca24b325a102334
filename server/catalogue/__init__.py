"""Describes the declared ops as plain data (JSON), with the output shapes measured by running each op once.

The ops themselves are in ``ops``; the processes above the worker, which do not import torch, get these descriptions.
"""
