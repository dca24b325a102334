"""HTTP plumbing: ASGI middleware, responses and their cache, error handlers, access log, metrics, OpenAPI description.

The addresses are in ``routes``, the pages in ``html``.
"""

from .access_log import logging_config
from .connection_limits import ConnectionLimits, Connections, limited_protocol

__all__ = ["ConnectionLimits", "Connections", "limited_protocol", "logging_config"]
