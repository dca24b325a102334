"""Functions that nobody has declared to us: of torch's tests, of two packages, and of our gallery without its ops."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType

from support.sections import look, section
from torch.autograd import Function

from gradloupe.ops import OPS, Op

# Of torch's own, these two are no derivatives on purpose, and three more are none when one reads them: of two backward
# adds or returns what is not multiplied by grad_output, and NumpySort returns what it was given, not sorted.
WRONG = {"ScaleGradGenVmap", "ZeroGradientsGenVmap", "CubeGenVmap", "NumpyCubeNotComposable", "NumpySort"}
SAMPLED = {"poisson_pass"}  # forward throws dice: whether they follow x can be seen or not


@dataclass(frozen=True)
class Stranger:
    """A Function of a ``collection``, and the words of which one is the right verdict on it."""

    collection: str
    name: str
    function: type[Function]
    right: tuple[str, ...]


def strangers() -> Iterator[Stranger]:
    """All of them; the packages are those that ``requirements.txt`` names."""
    torchs = "torch.testing._internal.autograd_function_db"
    for each in _functions(import_module(torchs)):
        yield Stranger(torchs, each.__name__, each, ("differs" if each.__name__ in WRONG else "matches",))
    spiking = "spikingjelly.activation_based.surrogate"
    for each in _functions(import_module(spiking)):
        # forward is a step and backward the slope of something smooth: without a declaration that is a difference.
        right = ("differs", "undecided") if each.__name__ in SAMPLED else ("differs",)
        yield Stranger(spiking, each.__name__, each, right)
    for module in ("activations", "losses", "root_finding"):
        for each in _functions(import_module(f"entmax.{module}")):
            yield Stranger("entmax", each.__name__, each, ("matches",))
    for name, op in OPS.items():
        yield Stranger("our gallery", name, op.function, (_declared(op),))


def _functions(module: ModuleType) -> list[type[Function]]:
    """The Functions that a module defines, in its order, without those that only others derive from."""
    found = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, Function)]
    return [each for each in found if each.__module__ == module.__name__ and not each.__name__.startswith("_")]


def _declared(op: Op) -> str:
    """The verdict on the op as it is declared, but for its surrogate, which no Function tells of itself."""
    bare = replace(op, surrogate=None, surrogate_formula="")
    start, stop = next((each.domain for each in op.inputs if each.name == section(op).wrt), (-3.0, 3.0))
    return look(bare, start, stop)[1].word
