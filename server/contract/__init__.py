"""The contract X-ray: checks a custom Function against the rules of autograd that torch does not enforce.

The curves and their verdict are in ``numerics``; the document of this view is built in ``views.contract``, and its
schema is in ``schema.views``.
"""

from .capabilities.all_badges import capability_badges, exception_summary
from .capabilities.compile import compile_badge, in_a_copy, in_this_process, try_compile
from .examination.call import Call
from .examination.recorder import instrument, replace_references
from .xray import CheckRow, ContractResult, contract_xray

__all__ = [
    "Call",
    "CheckRow",
    "ContractResult",
    "capability_badges",
    "compile_badge",
    "contract_xray",
    "exception_summary",
    "in_a_copy",
    "in_this_process",
    "instrument",
    "replace_references",
    "try_compile",
]
