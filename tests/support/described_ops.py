"""Descriptions of ops and of a device, as a worker would send them."""

from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.worker.answer import device_summary

OPS = {op["name"]: op for op in op_descriptions()}
DEVICE = device_summary()
