"""Command-line options and environment variables, read into ``Settings``; and the targets of a command line.

What they change is in ``cli``, ``app`` and the packages these hand them to.
"""

from .options import OPTION_GROUPS, OWN_FOLDERS, OWN_PAGES
from .settings import OPTIONS, REPORT_FORMATS, Settings, parse_settings
from .target import BadTarget, Target, parse_target

__all__ = [
    "OPTIONS",
    "OPTION_GROUPS",
    "OWN_FOLDERS",
    "OWN_PAGES",
    "REPORT_FORMATS",
    "BadTarget",
    "Settings",
    "Target",
    "parse_settings",
    "parse_target",
]
