"""The Python API, ``gradloupe.check`` and ``gradloupe.look``: verdict and live figure of a Function, in process.

The same check from the command line is ``report``; the web app, which uses a worker process, is ``routes``.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from ..inference.recipe.recipe import fill_tensor
from ..paths import working_directory
from ..report.result import CheckResult
from ..runtime.kept_values import keep_values
from ..runtime.remembered import forget
from ..runtime.rng import preserve_rng
from ..runtime.settings import SETTINGS, SavedSettings

__all__ = ["check", "fill_tensor", "keep_values", "look"]


def check(
    function: Any,
    /,
    *arguments: Any,
    recipe: str = "",
    x: tuple[float, float] | str | None = None,
    wrt: str = "",
    of: str = "",
    example_inputs: Any = None,
    surrogate: Any = None,
    surrogate_gradient: Any = None,
    **parameters: Any,
) -> CheckResult:
    """What Gradloupe finds of a Function: the verdict on its curves, and the contract X-ray. Raises nothing.

    ``function`` is a ``torch.autograd.Function`` or its ``apply``, a plain function of tensors, a module of
    ``torch.nn``, or an ``Op``. It is called with ``arguments``: what one would pass to ``apply``, as a tuple
    (``check(F, (x, 2.0))``), one after the other, or by name in a dict. A recipe does as well (``"x: float64[7]; k =
    2"``). They may be given as ``recipe`` and ``example_inputs``, too, and without them a call is found out. Tensors
    are used as they are, in their dtype. Those that require grad are differentiated, and all floating ones where none
    does.

    Any argument of the Function may be given by name: a tensor (``x=torch.randn(3)``), or the value of a parameter or
    of an input (``k=2``). So may what the address of a page holds, such as ``grad_output=-1``, ``dtype="float32"`` or
    ``order=2``; a name that is both is refused with the way to say it. ``x`` is the interval that the input is swept
    over, unless it is a tensor, or a text (``x="0.5"``) that says where an input x is held. ``wrt`` is the element that
    is swept (``"weight[0,1]"``), ``of`` that of the output. Where no section is asked for, the other inputs are swept
    too.

    ``surrogate`` is the function whose derivative backward is meant to be, and ``surrogate_gradient`` the factor by
    which ``grad_output`` is meant to be multiplied: each is called with the first arguments of the Function, as many as
    it takes.

    It runs in this process, whose random numbers, default dtype, threads and modes are afterwards what they were.
    Whatever goes wrong is a word of the result (``unsolved``, ``failed``) and a sentence.
    """
    with process_restored():
        from .arguments import CheckArguments
        from .subject import run_check

        meant = (surrogate, surrogate_gradient)
        return run_check(
            function, CheckArguments(recipe, x, wrt, of, example_inputs, *meant, parameters, arguments)
        ).checked


def look(
    function: Any,
    /,
    *arguments: Any,
    recipe: str = "",
    x: tuple[float, float] | str | None = None,
    wrt: str = "",
    of: str = "",
    example_inputs: Any = None,
    surrogate: Any = None,
    surrogate_gradient: Any = None,
    height: int | None = None,
    **parameters: Any,
) -> Any:
    """The live figure of a Function, and the verdict, for the cell of a notebook; ``save(path)`` keeps it as a page.

    The figure needs no server. Where anywidget is installed, its controls ask the running kernel. Else, and in
    ``save``, its sliders are those of the parameters and of ``grad_output``, with as many values as have room in about
    2 MB. It says which have none, and why. ``height`` is in pixels. All else is as in ``check``; a Function that cannot
    be called is shown as what was found of it.
    """
    with process_restored():
        from .arguments import CheckArguments
        from .figure import notebook_figure

        meant = (surrogate, surrogate_gradient)
        wanted = CheckArguments(recipe, x, wrt, of, example_inputs, *meant, parameters, arguments, height)
        return notebook_figure(function, wanted)


@contextmanager
def process_restored() -> Iterator[None]:
    """Restore random state, default dtype, threads, modes of torch, ``sys.path`` and the working directory at the end.

    Inside, torch computes in one thread: for tensors of this size more threads are many times slower.
    """
    path, folder = list(sys.path), working_directory()
    forget()  # what a Function reads may have been changed in the cell before
    with SavedSettings(SETTINGS).restored(), preserve_rng():
        torch.set_num_threads(1)
        try:
            yield
        finally:
            sys.path[:] = path
            with suppress(OSError):
                os.chdir(folder)
