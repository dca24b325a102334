"""Names in ``example_inputs`` that are those of nothing in the module: what stands there for them is used by nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from ..protocol.suggest import meant
from .discover import is_function
from .example_inputs import EXAMPLES
from .import_errors import plain

MOST_NAMED = 20


def misnamed(module: ModuleType) -> Iterator[str]:
    """A sentence for each name; nothing is called for that."""
    said = vars(module).get(EXAMPLES)
    for name in said if isinstance(said, Mapping) else ():
        if isinstance(name, str) and name.partition(".")[0] not in vars(module):
            there = [each for each, value in vars(module).items() if is_function(value)]
            close = meant(name, there)
            hint = f"did you mean {close}?" if close else f"it has {', '.join(there[:MOST_NAMED])}."
            yield plain(f"{EXAMPLES} says how to call {name[:80]!r}, and nothing in the file has that name; {hint}")
