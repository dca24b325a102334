"""Descriptions of ops and of a device, as a worker would send them."""

from __future__ import annotations

from gradloupe.server.catalogue.op_description import catalogue
from gradloupe.server.worker.answer import device

OPS = {op["name"]: op for op in catalogue()}
DEVICE = device()
