"""Every op of the gallery, found by itself: one file, one op."""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from .op import BadDeclaration, Descent, Input, Op, Parameter

__all__ = ["OPS", "BadDeclaration", "Descent", "Input", "Op", "Parameter"]


def _load(name: str) -> Op:
    op = getattr(import_module(f"{__name__}.{name}"), "op", None)
    if not isinstance(op, Op) or not op.says_the_call:
        raise BadDeclaration(
            f"ops/{name}.py does not end in `op = Op(...)` with inputs; add it, or move it out of ops/"
        )
    return replace(op, name=name)


OPS: dict[str, Op] = {m.name: _load(m.name) for m in iter_modules(__path__) if m.name != "op"}
