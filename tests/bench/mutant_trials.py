"""Two trials of a file with one Function: ``--check`` as it is typed, and beside it gradcheck at the call inferred."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from mutant_subjects import TESTS, Original, module_of_file
from torch.autograd import Function

from gradloupe.server.inference.infer import NotInferred, infer
from gradloupe.server.inference.recipe import Constant, Recipe, parse_recipe
from gradloupe.server.inference.recipe.recipe import OBJECT_TEXT

SECONDS_TO_START, SECONDS_EACH = 60, 40  # for a command, and for each Function it is given
SECONDS_BESIDE = 60
SEEDS, SCALES = range(4), (1.0, 0.1, 4.0)
# More than rounding: relative to the largest gradient of that call.
ROUNDING = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float32: 1e-4, torch.complex64: 1e-4}
ROUNDING_OF_OTHERS = 2e-2  # half precision

Gradients = list[torch.Tensor]


@dataclass(frozen=True)
class Checked:
    """What ``--check`` says of a Function: its ``word``, and the ids of what makes it fail.

    ``warned`` says that it warns of a call that forward takes, and in which backward raises. ``explanations`` are the
    stories of why backward differs, of the sections that were swept and of the X-ray.
    """

    ok: bool
    word: str
    faults: tuple[str, ...] = ()
    warned: bool = False
    explanations: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """Word and ids."""
        return " ".join([self.word, *dict.fromkeys(self.faults), *["with a warning"] * self.warned])


@dataclass(frozen=True)
class Beside:
    """The ``call`` that is inferred for a Function, empty where there is none, and what is known of it beside us.

    ``where`` says where its gradient is another than that of the original, empty where it is the same; ``accepted``
    whether gradcheck accepts it at the call of the original.
    """

    call: str
    where: str = ""
    accepted: bool = False
    trouble: str = ""


# ---------------------------------------------------------------- --check


def check_files(files: Sequence[tuple[Path, str]]) -> dict[Path, Checked]:
    """What the command says of a class of that name in each file; files with which it never ends are tried apart."""
    targets = [f"{path}:{name}" for path, name in files]
    command = [sys.executable, "-m", "gradloupe", *targets, "--check", "--format", "json"]
    written = _output(command, SECONDS_TO_START + SECONDS_EACH * len(files))
    if written is None and len(files) > 1:
        middle = len(files) // 2
        return check_files(files[:middle]) | check_files(files[middle:])
    said = {Path(each["file"]).name: _checked(each) for each in (written or {"functions": ()})["functions"]}
    lost = Checked(ok=False, word="not loaded" if written else "no answer")
    return {path: said.get(path.name, lost) for path, _ in files}


def _checked(told: dict[str, Any]) -> Checked:
    warned = any(each["id"] in ("backward", "OTHER-CALLS") for each in told["warnings"])
    stories = [each["explanation"] for each in told["sweeps"] if each["word"] == "differs"]
    stories += [each["sentence"] for each in told["faults"] if each["id"] != "GRADIENT"]
    faults = tuple(each["id"] for each in told["faults"])
    return Checked(told["ok"], told["word"], faults, warned, tuple(filter(None, stories)))


def _output(command: list[str], limit: float) -> dict[str, Any] | None:
    """The JSON that a command writes; None where it writes none, or not in time."""
    folders = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": folders}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    ) as process:
        try:
            return json.loads(process.communicate(timeout=limit)[0])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
        except ValueError:
            return None


# ---------------------------------------------------------------- beside it


def look_beside(path: Path, original: Original, call: str | None) -> Beside:
    """Infer a call for the class in the file; at ``call``, or else at the one inferred, compare it with the original.

    It is done in a process of its own, whatever becomes of that.
    """
    context = get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_looked_beside, args=(sending, path, original, call))
    process.start()
    sending.close()
    try:
        return receiving.recv() if receiving.poll(SECONDS_BESIDE) else Beside("", "no answer", trouble="no answer")
    except EOFError:
        return Beside("", "a crash", trouble="a crash")
    finally:
        process.kill()
        process.join()


def _looked_beside(sending: Connection, path: Path, original: Original, call: str | None) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    try:
        found = _beside(path, original, call)
    except BaseException as error:  # noqa: BLE001 - whatever a mutant does is told
        found = Beside("", "it raises", trouble=f"{type(error).__name__}: {error}"[:200])
    sending.send(found)


def _beside(path: Path, original: Original, call: str | None) -> Beside:
    function = getattr(module_of_file(path, path.stem), original.name)
    inferred, trouble = _inferred(function)
    if (asked := inferred if call is None else call) == "":
        return Beside(inferred, trouble=trouble)
    recipe = infer(original.function).recipe if OBJECT_TEXT in asked else parse_recipe(asked)
    where = "" if call is None else where_different(original.function, function, recipe)
    return Beside(inferred, where, _gradchecked(function, recipe), trouble)


def _inferred(function: type[Function]) -> tuple[str, str]:
    """The call that is found, or why none is."""
    try:
        return infer(function).recipe.text(), ""
    except NotInferred as error:
        return "", error.sentence


def where_different(original: type[Function], mutant: type[Function], recipe: Recipe) -> str:
    """Where their gradients differ first, and by how much of the largest; empty where they do nowhere.

    Looked at are several tensors of the shapes of the recipe, in several scales, then other parameters.
    """
    for scale in SCALES:
        for seed in SEEDS:
            if apart := _apart(original, mutant, recipe, seed, scale):
                return f"{apart} at its call" if scale == 1.0 else f"{apart} at {scale:g} times its inputs"
    for change, other in _neighbours(recipe):
        for seed in SEEDS:
            if apart := _apart(original, mutant, other, seed, 1.0):
                return f"{apart} for {change}"
    return ""


def _neighbours(recipe: Recipe) -> list[tuple[str, Recipe]]:
    """The recipe with each number twice and half as large, or the next whole one, and each switch the other way."""
    found = []
    for place, each in enumerate(recipe.arguments):
        for value in _others(each.value) if isinstance(each, Constant) else ():
            arguments = (*recipe.arguments[:place], Constant(each.name, value), *recipe.arguments[place + 1 :])
            found.append((f"{each.name} = {value}", replace(recipe, arguments=arguments)))
    return found


def _others(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1,)
        case float():
            return (2 * value, value / 2) if value else (0.5, 1.0)
    return ()


def _apart(original: type[Function], mutant: type[Function], recipe: Recipe, seed: int, scale: float) -> str:
    """How far their gradients are apart in one call; empty where they are not, or the original has none there."""
    try:
        right = _gradients(original, recipe, seed, scale)
    except Exception:  # noqa: BLE001 - outside of its domain, it may raise anything
        return ""
    try:
        other = _gradients(mutant, recipe, seed, scale)
    except Exception as error:  # noqa: BLE001 - so may a mutant
        return f"raises {type(error).__name__}"
    known = [(a, torch.isfinite(a)) for a in right]
    largest = max((float(a[finite].abs().max()) for a, finite in known if finite.any()), default=0.0)
    apart = max(
        (
            float((a - b)[finite].abs().nan_to_num(torch.inf).max())
            for (a, finite), b in zip(known, other, strict=True)
            if finite.any()
        ),
        default=0.0,
    )
    rounding = max(ROUNDING.get(each.dtype, ROUNDING_OF_OTHERS) for each in right)
    if apart <= rounding * largest:
        return ""
    return f"{apart / largest:.2g}" if largest else "from 0"


def _gradients(function: type[Function], recipe: Recipe, seed: int, scale: float) -> Gradients:
    """The gradients of all inputs in one call, by a random grad_output."""
    tensors = {name: each * scale if each.is_floating_point() else each for name, each in recipe.tensors(seed).items()}
    leaves = recipe.leaves(seed, tensors if scale != 1.0 else None)
    torch.manual_seed(seed)
    outputs = _differentiable(function.apply(*(each for _, each in leaves)))
    inputs = [leaf for leaf, _ in leaves if leaf is not None]
    torch.manual_seed(seed + 1)
    found = torch.autograd.grad(outputs, inputs, [torch.randn_like(each) for each in outputs], allow_unused=True)
    return [torch.zeros_like(leaf) if each is None else each.detach() for each, leaf in zip(found, inputs, strict=True)]


def _differentiable(outputs: Any) -> list[torch.Tensor]:
    every = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    return [each for each in every if isinstance(each, torch.Tensor) and each.requires_grad]


def _gradchecked(function: type[Function], recipe: Recipe) -> bool:
    """Whether gradcheck accepts the call of the recipe, in double precision."""
    arguments = [
        (leaf is not None, _doubled(each.detach() if leaf is not None else each)) for leaf, each in recipe.leaves()
    ]
    inputs = [each.clone().requires_grad_() for swept, each in arguments if swept]

    def called(*given: torch.Tensor) -> Any:
        left = iter(given)
        outputs = function.apply(*(next(left) * 1 if swept else each for swept, each in arguments))
        return tuple(_differentiable(outputs))

    try:
        return torch.autograd.gradcheck(called, inputs)
    except Exception:  # noqa: BLE001 - what backward raises is a rejection too
        return False


def _doubled(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
