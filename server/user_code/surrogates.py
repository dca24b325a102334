"""What a user says that backward is meant to follow, laid over the op whose call was found out; where that is a
gradient, the function that it is the derivative of, by quadrature.
"""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from ...ops import BadDeclaration, Op
from ..inference.recipe.recipe import NotInferred
from ..inference.source.signature import signature_of
from ..runtime.arguments import BoundFunction, PassedArgument, as_tensor_or_tuple, passed_parts, real_outputs
from .discover import is_user_function

_LINE = re.compile(r"^[ \t]*Gradloupe surrogate( gradient)?:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_OF_THE_CALL = ("function", "inputs", "parameters", "call", "surrogate", "surrogate_takes", "name", "group")
_KEYWORDS = ("grad_output", "wrt")


def claimed_in_docstring(function: Any) -> Op | None:
    """What a Function's docstring claims by a line ``Gradloupe surrogate: x``, or ``Gradloupe surrogate gradient: 1``.

    The text is an expression of the arguments of forward and of the names in its module. Raises ``BadDeclaration``.
    """
    line = _LINE.search(inspect.cleandoc(getattr(function, "__doc__", None) or ""))
    if line is None or not is_user_function(function):
        return None
    try:
        names = signature_of(function).names
    except NotInferred:  # what looks at it next says why
        return None
    try:
        words = {node.id for node in ast.walk(ast.parse(line[2], mode="eval")) if isinstance(node, ast.Name)}
    except SyntaxError as problem:
        raise BadDeclaration(
            f"The line “{line[0].strip()}” of {function.__qualname__} is no expression; correct it."
        ) from problem
    last = max((place for place, name in enumerate(names, 1) if name in words), default=1)
    namespace = {"torch": torch, **vars(sys.modules[function.__module__])}
    meant = eval(f"lambda {', '.join(names[:last])}: ({line[2]})", namespace)  # noqa: S307 it is the user's own code
    return Op(function, surrogate=antiderivative(meant) if line[1] else meant)


def with_declared(found: Op, declared: Op) -> Op:
    """The op whose call was found out, with what ``declared`` says of it beside the call."""
    said = {
        each.name: getattr(declared, each.name)
        for each in fields(Op)
        if each.name not in _OF_THE_CALL and getattr(declared, each.name) != each.default
    }
    return with_surrogate(replace(found, **said), declared.surrogate)


def with_surrogate(op: Op, surrogate: Callable[..., torch.Tensor] | None) -> Op:
    """The op with this surrogate, which takes as many arguments of forward as it names; as it is where that is None."""
    if surrogate is None:
        return op
    bound = op.call if isinstance(op.call, BoundFunction) else None
    names = [each.name for each in op.inputs] + [each.name for each in op.parameters]
    own = tuple(PassedArgument(place) for place in range(len(names)))
    arguments = (bound.arguments if bound else own)[: _most_arguments(surrogate)]

    @functools.wraps(surrogate)
    def called(*given: Any, **keywords: Any) -> Any:
        returned = as_tensor_or_tuple(surrogate(*(each.of(given) for each in arguments), **keywords))
        return real_outputs(returned) if bound and bound.in_parts else returned

    parts = [part for each in arguments for part in passed_parts(each)]
    return replace(op, surrogate=called, surrogate_takes=tuple(names[each.place] for each in parts))


def _most_arguments(function: Callable[..., Any]) -> int | None:
    """How many arguments a function takes by their place; None for any number, 1 for one of torch that does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in by_place and each.name not in _KEYWORDS for each in parameters)


# The Gauss-Lobatto rule of seven nodes on [-1, 1], from its middle on. It has nodes at both ends: no jump hides there.
_NODES = (0.0, 0.46884879347071421, 0.83022389627856693, 1.0)
_WEIGHTS = (0.48761904761904762, 0.43174538120986262, 0.27682604736156595, 0.047619047619047619)
_PANELS, _HALVINGS, _MOST_PIECES, _ACCURACY = 16, 64, 2**20, 1e-14


def antiderivative(gradient: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The surrogate whose derivative by its first argument is ``gradient``, element by element, and which is 0 at 0.

    It takes the arguments of ``gradient``; where those are tensors, they are of the shape of the first, or broadcast to
    it. The integral is Gauss's rule in pieces that are halved until they agree, so ``gradient`` may jump.
    """

    @functools.wraps(gradient)
    def surrogate(x: torch.Tensor, *others: Any, **keywords: Any) -> torch.Tensor:
        return _Integral.apply(functools.partial(gradient, **keywords), x, *others)  # type: ignore[no-untyped-call]

    return surrogate


class _Integral(torch.autograd.Function):
    """∫ ``gradient`` from 0 to x."""

    @staticmethod
    def forward(ctx: Any, gradient: Callable[..., torch.Tensor], x: torch.Tensor, *others: Any) -> torch.Tensor:
        ctx.gradient, ctx.others = gradient, others
        ctx.save_for_backward(x)
        return _integral(gradient, x.detach(), others)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        return (None, grad_output * ctx.gradient(x, *ctx.others), *(None for _ in ctx.others))


def _integral(gradient: Callable[..., torch.Tensor], x: torch.Tensor, others: tuple[Any, ...]) -> torch.Tensor:
    """The integral up to each element of ``x``, in pieces that are halved until they agree with their halves."""
    end = x.double().reshape(-1)
    areas = _Areas(gradient, [_flat(each, x.shape) for each in others])
    edges = torch.linspace(0, 1, _PANELS + 1, dtype=torch.float64, device=x.device)
    low, high = (end[:, None] * edges[:-1]).reshape(-1), (end[:, None] * edges[1:]).reshape(-1)
    place = torch.arange(end.numel(), device=x.device).repeat_interleave(_PANELS)
    whole, total = areas.between(low, high, place), torch.zeros_like(end)
    for halvings in range(_HALVINGS):
        middle = (low + high) / 2
        left, right = areas.between(low, middle, place), areas.between(middle, high, place)
        last = halvings == _HALVINGS - 1 or low.numel() > _MOST_PIECES
        more = ((left + right - whole).abs() > _ACCURACY * (1 + whole.abs())) & (not last)
        total.index_add_(0, place[~more], (left + right)[~more])
        if not more.any():
            break
        low, high = torch.cat((low[more], middle[more])), torch.cat((middle[more], high[more]))
        place, whole = place[more].repeat(2), torch.cat((left[more], right[more]))
    return total.reshape(x.shape).to(x.dtype)


def _flat(argument: Any, shape: torch.Size) -> Any:
    """A tensor with dimensions as one number for each element; anything else as it is."""
    if isinstance(argument, torch.Tensor) and argument.dim():
        return argument.detach().expand(shape).reshape(-1)
    return argument


@dataclass(frozen=True)
class _Areas:
    """Areas under a function, in double precision; of the ``others`` tensors have a number for each element."""

    gradient: Callable[..., torch.Tensor]
    others: list[Any]

    def between(self, low: torch.Tensor, high: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """The areas from ``low`` to ``high``, each for the element at its ``place``."""
        nodes, weights = low.new_tensor([-each for each in _NODES[:0:-1]] + [*_NODES]), _WEIGHTS[:0:-1] + _WEIGHTS
        half = (high - low) / 2
        t = (high + low)[:, None] / 2 + half[:, None] * nodes
        row = place[:, None].expand(t.shape).reshape(-1)
        given = [each[row] if isinstance(each, torch.Tensor) and each.dim() else each for each in self.others]
        values = torch.as_tensor(self.gradient(t.reshape(-1), *given)).double()
        return half * (values.expand(row.shape).reshape(t.shape) @ low.new_tensor(weights))
