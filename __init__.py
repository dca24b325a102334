"""Gradloupe, a loupe for gradients: see what a custom ``torch.autograd.Function`` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server.notebook import check, fill_tensor, keep_values, look
    from .server.watch.seen import watch

# gradloupe.sphinx is found here: a sphinx.py in a checkout would be taken for Sphinx itself.
__path__.append(f"{__path__[0]}/server/sphinx_extension")
__version__ = "0.1.0"
__all__ = ["__version__", "check", "fill_tensor", "keep_values", "look", "watch"]


def __getattr__(name: str) -> Any:
    """They load torch, so they are there when they are asked for."""
    if name == "watch":
        from .server.watch.seen import watch

        return watch
    if name in __all__[1:]:
        from .server import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
