"""Trial calls of a recipe: forward and backward of the Function, with a fixed seed, isolated, and the outcome kept."""

from __future__ import annotations

import contextlib
import io
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ...runtime import timing
from ...runtime.arguments import as_tensor_or_tuple, callable_of, copy_if_mutable, is_complex_tensor, result_tuple
from ...runtime.call_cost import TooManySteps, step_limit
from ...runtime.failure import describe_result as called
from ...runtime.kept_values import keep_values
from ...runtime.rng import SEED, preserve_rng, seed_all_generators
from ...runtime.settings import SETTINGS, SavedSettings
from ...runtime.user_call import call_user_code
from ...runtime.vjp import pull_back
from ..recipe.recipe import Recipe, TensorArgument
from .deadline import Deadline

# What a call with other values may run: so many times the lines of the one that worked, and some more.
_TIMES_AS_MANY, _LEAST_STEPS = 100, 10_000
OptionalTensors = list[torch.Tensor | None]


@dataclass(frozen=True)
class RepeatableCall:
    """A call that can be repeated with other values; it is not made any more when the ``deadline`` has no time left.

    ``values`` are the arguments by name, tensors without grad; ``most_steps`` are the lines of Python that it may run,
    as other values may never come to an end; 0 for any number. ``kept`` are the kinds that its tensors stay, by name.
    """

    function: Callable[..., Any]
    recipe: Recipe
    values: dict[str, Any]
    seed: int = SEED
    deadline: Deadline = field(default_factory=Deadline)
    most_steps: int = 0
    kept: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(
        cls, function: Callable[..., Any], recipe: Recipe, given: Mapping[str, torch.Tensor] | None = None
    ) -> RepeatableCall:
        """The call of a recipe, with tensors ``given`` in place of those that the recipe fills."""
        built = recipe.build(given=given)
        named = {each.name: value for each, value in zip(recipe.arguments, built, strict=True)}
        plain = {name: one.detach() if isinstance(one, torch.Tensor) else one for name, one in named.items()}
        return cls(function, recipe, plain)

    @property
    def out_of_time(self) -> bool:
        """Whether there is no time left for another call."""
        return not self.deadline.has(1)

    def within(self, seconds: float) -> RepeatableCall:
        """The same with a shorter time limit."""
        own, now = self.deadline, timing.now()
        return replace(self, deadline=Deadline(min(own.until, now + seconds), own.took, own.over, own.waited))

    def within_steps(self) -> RepeatableCall:
        """The same with a limit of what it may run, far above what it runs as it is."""
        if sys.gettrace():  # a debugger goes by the same hook
            return self
        with step_limit(sys.maxsize) as steps:
            self.outputs()
        return replace(self, most_steps=_LEAST_STEPS + _TIMES_AS_MANY * steps.taken)

    def with_values(self, values: Mapping[str, Any]) -> RepeatableCall:
        """The same with other values."""
        return replace(self, values={**self.values, **values})

    def forward(self, track: bool = False) -> tuple[dict[str, torch.Tensor], Any]:
        """Call forward: the leaves by name, and what it returned. Raises whatever the Function raises."""
        leaves: dict[str, torch.Tensor] = {}
        arguments: list[Any] = []
        for each in self.recipe.arguments:
            value = self.values[each.name]
            if isinstance(value, torch.Tensor):
                value = value.clone()
                if track and isinstance(each, TensorArgument) and each.grad:
                    leaves[each.name] = value.requires_grad_()
                    value = value * 1
                value = keep_values(value, self.kept[each.name]) if each.name in self.kept else value
            arguments.append(copy_if_mutable(value))
        seed_all_generators(self.seed)
        begun = timing.start()
        try:
            limit = step_limit(self.most_steps) if self.most_steps else nullcontext()
            with torch.set_grad_enabled(track), limit:
                return leaves, as_tensor_or_tuple(call_user_code(callable_of(self.function), *arguments))
        finally:
            self.deadline.timed(begun)

    def outputs(self) -> OptionalTensors | None:
        """The floating outputs in double precision, None for any other output.

        None altogether if the call fails or there is no time for it.
        """
        if self.out_of_time:
            return None
        try:
            _, returned = self.forward()
        except (Exception, SystemExit, TooManySteps):  # noqa: BLE001 a Function may raise anything
            return None
        return [float64_output(each) for each in result_tuple(returned)]

    def vjp(self, output: int, grad_output: torch.Tensor) -> dict[str, torch.Tensor] | None:
        """The VJP of one output by input name, zeros where backward returns None.

        None altogether if anything fails or no time is left.
        """
        if self.out_of_time:
            return None
        begun = timing.start()
        try:
            leaves, returned = self.forward(track=True)
            out = result_tuple(returned)[output]
            found = pull_back((out,), (grad_output.to(out),), leaves.values())
            self.deadline.timed(begun)
        except (Exception, SystemExit, TooManySteps):  # noqa: BLE001 a Function may raise anything
            return None
        return {
            name: torch.zeros_like(leaf) if gradient is None else gradient.detach()
            for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
        }

    def keeping(self, name: str, kept: str) -> RepeatableCall:
        """The same with a tensor that is kept to be of a kind."""
        return replace(self, kept={**self.kept, name: kept})

    def tensor(self, name: str) -> torch.Tensor:
        value: torch.Tensor = self.values[name]
        return value

    def with_element(self, name: str, index: tuple[int, ...], number: float) -> RepeatableCall:
        """The same with one element of a tensor set to a number."""
        tensor = self.tensor(name).clone()
        tensor[index] = number
        return self.with_values({name: tensor})


def float64_output(out: Any) -> torch.Tensor | None:
    """A floating output as a tensor of float64 on the CPU; a complex one as its pairs of real numbers."""
    if is_complex_tensor(out):
        out = torch.view_as_real(out.detach().resolve_conj())
    if isinstance(out, torch.Tensor) and out.is_floating_point() and out.layout == torch.strided:
        return out.detach().to("cpu", torch.float64)
    return None


_REJECTED = re.compile(r"Backward returned an (incorrect number of gradients|invalid gradient at index \d+ - got)")


class UnusableCall(Exception):
    """A call that succeeded without usable outputs or gradients; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial: an ``error``, None where it works, and the arguments that were ``given``.

    ``outputs_finite`` says that every output is finite, ``empty`` that one has no element, ``forward`` that forward
    went through. ``reduced`` are the inputs whose gradient is larger than they are, so that torch sums it up.
    """

    recipe: Recipe
    given: tuple[Any, ...] = ()
    error: BaseException | None = None
    forward: bool = False
    outputs_finite: bool = False
    inputs_without_gradient: tuple[str, ...] = ()
    empty: bool = False
    reduced: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether nothing says that the call is another one than the author meant."""
        return self.outputs_finite and not self.empty and not self.reduced

    @property
    def rejected(self) -> bool:
        """Whether forward succeeded and torch rejected what backward returned, which perhaps no recipe avoids."""
        return self.forward and isinstance(self.error, RuntimeError) and bool(_REJECTED.search(str(self.error)))


@contextlib.contextmanager
def state_restored() -> Iterator[None]:
    """Restore the state of torch, random numbers and warnings that user code may change; stdout is discarded."""
    with (
        SavedSettings(SETTINGS).restored(),
        preserve_rng(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def try_recipe(call: Callable[..., Any], recipe: Recipe) -> Outcome:
    """Call forward and backward with the arguments of a recipe. Raises nothing, whatever the Function raises."""
    given: tuple[Any, ...] = ()
    forward, outputs_finite, dtype = False, False, torch.get_default_dtype()
    try:
        with torch.enable_grad():
            pairs = recipe.leaves()
            given = tuple(one for _, one in pairs)
            leaves = [leaf for leaf, _ in pairs if leaf is not None]
            returned = call_seeded(call, *given)
            outputs = _differentiable_outputs(returned)
            empty = not all(each.numel() for each in tensors_within(returned))
            forward, outputs_finite = True, all(bool(torch.isfinite(each).all()) for each in outputs)
            found = pull_back(outputs, map(torch.ones_like, outputs), leaves)
            inputs_without_gradient = tuple(
                each.name for each, one in zip(recipe.inputs, found, strict=True) if one is None
            )
            return Outcome(recipe, given, None, True, outputs_finite, inputs_without_gradient, empty)
    except BaseException as error:  # noqa: BLE001 whatever a user's Function raises, SystemExit too, is an outcome
        return Outcome(recipe, given, error, forward, outputs_finite)
    finally:
        if torch.get_default_dtype() is not dtype:
            torch.set_default_dtype(dtype)


def reduced_inputs(call: Callable[..., Any], recipe: Recipe) -> dict[str, tuple[int, ...]]:
    """The inputs with a gradient that is larger or of more dimensions than they are, and the shape of it.

    Raises nothing: what fails names none.
    """
    try:
        with torch.enable_grad():
            given = [passed for _, passed in recipe.leaves()]
            outputs = [each for each in result_tuple(call_seeded(call, *given)) if isinstance(each, torch.Tensor)]
            node: Any = next((each.grad_fn for each in outputs if hasattr(each.grad_fn, "_forward_cls")), None)
            returned = result_tuple(node.apply(*map(torch.ones_like, outputs))) if node else ()
    except BaseException:  # noqa: BLE001 it has worked once
        return {}
    both = zip(recipe.arguments, returned, strict=False)
    return {
        each.name: tuple(gradient.shape)
        for each, gradient in both
        if isinstance(each, TensorArgument)
        and isinstance(gradient, torch.Tensor)
        and (gradient.numel() > math.prod(each.shape) or gradient.dim() > len(each.shape))
    }


def _differentiable_outputs(returned: Any) -> list[torch.Tensor]:
    """The floating outputs that require grad, mostly finite. Raises ``UnusableCall`` if there are none."""
    tensors = list(tensors_within(returned))
    floats = [each for each in tensors if each.is_floating_point() or each.is_complex()]
    if not tensors:
        raise UnusableCall(f"forward returned no tensor, but {called(returned, 1)}")
    if not any(each.numel() for each in floats):
        raise UnusableCall("forward returned no floating numbers")
    if not any(each.requires_grad for each in floats):
        raise UnusableCall("what forward returned does not require grad")
    outputs = [each for each in floats if each.requires_grad and each.numel()]
    shares = [float(torch.isfinite(each.detach()).double().mean()) for each in outputs]
    if not any(share >= 0.5 for share in shares):
        raise UnusableCall("what forward returned is not finite")
    return outputs


def tensors_within(returned: Any) -> Iterator[torch.Tensor]:
    """The tensors in a return value, also inside tuples, lists and dicts."""
    if isinstance(returned, torch.Tensor):
        yield returned
    elif isinstance(returned, tuple | list | dict):
        for each in returned.values() if isinstance(returned, dict) else returned:
            yield from tensors_within(each)


def call_seeded(call: Callable[..., Any], *given: Any) -> Any:
    """Call with the fixed seed of all trials."""
    seed_all_generators(SEED)
    return call_user_code(call, *given)
