"""Makes the ``Op`` of a Function and a recipe: inputs, domains, parameters with bounds, names, swept element."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from ....ops import Input, Op, Parameter
from ....ops.op import RESERVED
from ...runtime.arguments import (
    PARTS,
    BoundFunction,
    ConstantArgument,
    PassedArgument,
    is_complex_tensor,
    real_outputs,
    result_tuple,
    tensors_of,
    unsupported,
)
from ...runtime.devices import without_device
from ...runtime.graph import function_nodes
from ...runtime.isolation import quietly
from ..recipe.recipe import OBJECT_TEXT, Constant, NotInferred, Recipe, TensorArgument
from ..search.blame import blame, is_source_error
from ..search.failure import describe_error
from ..search.on_gpu import here_or_on_gpu
from ..search.search import is_missing_here
from ..search.trial import OptionalTensors, RepeatableCall, float64_output
from ..source.function_source import source_tree
from .captured_inputs import with_captured
from .complex_numbers import joined_arguments, of_real_numbers
from .domain import swept_domain, usual_domain
from .elementwise import elementwise_inputs
from .kept_values import with_kept_values
from .parameter_bounds import bounded_parameter
from .short_dtypes import in_double
from .swept_element import ElementPair, pair_to_show, pairs_by_input

_Tensors = Mapping[str, torch.Tensor]
# Seconds for the analysis beyond the first call, for slow Functions and for others; a call is slow from _SLOW on.
_SLOW_SECONDS, _FAST_SECONDS, _SLOW = 2.0, 5.0, 0.01


@dataclass(frozen=True)
class InferredOp(Op):
    """The op of a Function that nobody declared: ``called`` is what its ``recipe`` calls, with the tensors ``given``.

    ``recipe_given`` says that the user wrote the recipe, or gave the tensors: then their shapes are the domain. The
    last tensors of the recipe are those that it captures, if there are any; ``hidden`` are others that take part.
    ``dtypes`` are those of its inputs if they are short, and looked at in float64; ``kept`` is what inputs stay.
    """

    called: Callable[..., Any] | None = field(default=None, compare=False)
    recipe: Recipe | None = field(default=None, compare=False)
    given: _Tensors = field(default_factory=dict, compare=False)
    recipe_given: bool = field(default=False, compare=False)
    hidden: tuple[str, ...] = field(default=(), compare=False)
    dtypes: Mapping[str, torch.dtype] = field(default_factory=dict, compare=False)
    kept: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class _Analysis:
    """The result of the analysis: ``numbers`` are the scalar inputs that can be batched in a vector, ``scalars`` those
    passed as 0-dimensional tensors. ``called`` is the call of the recipe, ``attempt`` the same of real numbers.
    """

    called: RepeatableCall
    attempt: RepeatableCall
    base: OptionalTensors
    numbers: tuple[str, ...]
    scalars: tuple[str, ...]
    pairs: dict[str, ElementPair]
    names: dict[str, str]

    @property
    def first(self) -> ElementPair:
        """The pair of elements that is shown first."""
        return pair_to_show(self.pairs)


def op_of(
    function: Callable[..., Any],
    recipe: Recipe,
    name: str,
    title: str,
    group: str,
    given: _Tensors | None = None,
    recipe_given: bool = False,
) -> InferredOp:
    """The op of a Function, or of a plain function of tensors, that is called as a recipe says.

    ``given`` are tensors to use in place of those that the recipe fills; ``recipe_given`` says that the user wrote it.
    It is called on the GPU where it runs nowhere else. Raises ``NotInferred`` where the call fails, returns no floating
    tensor, or has nothing to sweep; a failing backward is reported when it is measured.
    """
    with quietly():
        op = here_or_on_gpu(function, lambda called: _op_of(called, recipe, given or {}, (name, title, group)))
        return replace(op, recipe_given=recipe_given or bool(given))


def _op_of(function: Callable[..., Any], recipe: Recipe, given: _Tensors, named: tuple[str, str, str]) -> InferredOp:
    recipe, given, dtypes = in_double(function, recipe, given)
    called = RepeatableCall.at(function, recipe, given)
    graph, returned = _first_call(called)
    whole = with_captured(called, given)
    if whole.called is not called:
        called = whole.called
        graph, returned = _first_call(called)
    called = with_kept_values(called).within_steps()
    called = called.within(_FAST_SECONDS if called.deadline.seconds < _SLOW else _SLOW_SECONDS)
    op = _op(_analysed(called, returned), graph, returned, *named)
    return replace(
        op,
        called=whole.called.function,
        recipe=whole.called.recipe,
        given=whole.given,
        hidden=whole.hidden,
        dtypes=dtypes,
        kept=called.kept,
    )


def _first_call(attempt: RepeatableCall) -> tuple[type[torch.autograd.Function] | None, Any]:
    """The Function found in the graph of the first call, and what it returned. Raises ``NotInferred``."""
    recipe = attempt.recipe.text()
    try:
        _, returned = attempt.forward(track=True)
    except (Exception, SystemExit) as error:
        raise _call_error(attempt, recipe, error) from error
    if opaque := next(filter(None, map(unsupported, result_tuple(returned))), ""):
        raise NotInferred(
            f"forward returns {opaque}, which is unsupported here: what it computes cannot be compared with its slope.",
            recipe=recipe,
        )
    base = [float64_output(each) for each in result_tuple(returned)]
    if not any(each is not None and each.numel() for each in base):
        raise NotInferred(
            f"forward returned no floating tensor with elements, so there is nothing to look at. It was called with "
            f"`{recipe}`; {_correction(recipe)}.",
            recipe=recipe,
        )
    found = [type(node)._forward_cls for node in function_nodes(tensors_of(returned))]
    return (found[0] if found else None), returned


def _call_error(attempt: RepeatableCall, recipe: str, error: BaseException) -> NotInferred:
    message = (str(error).strip() or "no message").splitlines()[0]
    names = [each.name for each in attempt.recipe.arguments]
    blamed = blame(error, names, list(attempt.values.values()))
    if is_source_error(blamed):
        sentence = f"forward {describe_error(error)}, whatever it is called with; fix it."
    else:
        sentence = (
            f"forward raised {type(error).__name__}: {message}. It was called with `{recipe}`; {_correction(recipe)}."
        )
    tried = ((recipe, f"{type(error).__name__}: {message}"),)
    return NotInferred(sentence, recipe=recipe, tried=tried, error=error, missing_here=is_missing_here(blamed))


def _correction(recipe: str) -> str:
    return "give it other arguments" if OBJECT_TEXT in recipe else "correct that recipe"


def _analysed(called: RepeatableCall, returned: Any) -> _Analysis:
    attempt = of_real_numbers(called, returned)
    if not any(attempt.tensor(each.name).numel() for each in attempt.recipe.inputs):
        raise NotInferred(
            "None of the tensors that require grad has elements, so there is nothing to sweep; give one a shape, such "
            "as x: float64[7].",
            recipe=called.recipe.text(),
        )
    # A Function may return something else under no_grad, as it is called from here on.
    base = attempt.outputs() or [float64_output(each) for each in result_tuple(real_outputs(returned))]
    numbers = elementwise_inputs(attempt, base)
    found = pairs_by_input(attempt, base)
    if numbers:
        place = _shown_element(found, numbers)
        held = {each: _element(attempt.tensor(each), place, found[each].wrt_index) for each in numbers}
        attempt = attempt.with_values(held)
        base = attempt.outputs() or base
        found = pairs_by_input(attempt, base)
    scalars = tuple(each.name for each in attempt.recipe.inputs if each.name not in numbers and not each.shape)
    names = free_names(each.name for each in attempt.recipe.arguments)
    return _Analysis(called, attempt, base, numbers, scalars, found, names)


def _shown_element(found: dict[str, ElementPair], numbers: tuple[str, ...]) -> tuple[int, ...]:
    """The element to show: one that depends on a shared input, such as a learned clip, if there is one."""
    shared = [each for name, each in found.items() if name not in numbers and each.moves]
    return shared[0].of_index if shared else pair_to_show(found).wrt_index


def _element(tensor: torch.Tensor, index: tuple[int, ...], own: tuple[int, ...]) -> torch.Tensor:
    """One element of a tensor, as a vector of length 1."""
    return tensor[index if len(index) == tensor.dim() else own].reshape(1)


def _op(
    analysis: _Analysis,
    graph: type[torch.autograd.Function] | None,
    returned: Any,
    name: str,
    title: str,
    group: str,
) -> InferredOp:
    recipe, function = analysis.attempt.recipe, analysis.called.function
    is_class = isinstance(function, type) and issubclass(function, torch.autograd.Function)
    shown = analysis.first
    inputs = [_input(analysis, each) for each in recipe.inputs]
    parameters = [found for each in recipe.arguments if (found := _parameter(analysis, shown, each))]
    parameters = [replace(each, description=_explained(analysis, each.name)) for each in parameters]
    # An empty input cannot be the first.
    inputs.sort(key=lambda each: not each.values)
    taken = [each.name for each in inputs] + [each.name for each in parameters]
    outputs = _outputs(without_device(function), returned, taken)
    return InferredOp(
        function=function if is_class else graph or _named(without_device(function)),  # type: ignore[arg-type]
        title=title,
        group=group,
        forward="",
        backward="",
        inputs=tuple(inputs),
        parameters=tuple(parameters),
        outputs=outputs,
        call=_call(analysis, taken, is_class),
        wrt=_element_name(analysis.names[shown.wrt], shown.wrt_index, analysis.attempt.tensor(shown.wrt)),
        of=_element_name(outputs[shown.output], shown.of_index, analysis.base[shown.output]),
        dtype=_dtype(recipe),
        name=name,
    )


def _explained(analysis: _Analysis, name: str) -> str:
    """Why a parameter is not called as its argument; "" if it is."""
    argument = next(each for each, own in analysis.names.items() if own == name)
    return "" if argument == name else f"the argument {argument}; the address has a {argument} of its own"


def _named(function: Callable[..., Any]) -> Any:
    """The function, or the class of a callable object: something with a name and a source."""
    return function if hasattr(function, "__name__") else type(function)


def _element_name(name: str, index: tuple[int, ...], tensor: torch.Tensor | None) -> str:
    one = tensor is None or tensor.numel() == 1
    return name if one else f"{name}[{','.join(map(str, index))}]"


def _input(analysis: _Analysis, each: TensorArgument) -> Input:
    tensor = analysis.attempt.tensor(each.name)
    values = tuple(float(number) for number in tensor.reshape(-1).double())
    pair = analysis.pairs.get(each.name)
    usual, within = usual_domain(each.fill, tensor, pair.wrt_index if pair else ())
    domain = swept_domain(analysis.attempt, pair, usual, within, analysis.numbers) if pair else usual
    shape = () if each.name in analysis.numbers else each.shape
    same = len(set(values)) == 1
    return Input(analysis.names[each.name], shape=shape, domain=domain, value=values[0] if same else values)


def _parameter(analysis: _Analysis, shown: ElementPair, each: TensorArgument | Constant) -> Parameter | None:
    if isinstance(each, TensorArgument):
        return None
    return bounded_parameter(analysis.attempt, shown, each, analysis.names[each.name])


def _call(analysis: _Analysis, taken: list[str], is_class: bool) -> Callable[..., Any] | None:
    """The adapter from the arguments of the op to those of the Function; None for a class that needs none."""
    function, recipe = analysis.called.function, analysis.attempt.recipe
    base = _dtype(recipe)
    arguments: list[PassedArgument | ConstantArgument] = []
    for each in recipe.arguments:
        if analysis.names[each.name] in taken:
            own = each.dtype if isinstance(each, TensorArgument) else base
            cast = None if own == base else getattr(torch, own)
            kept = analysis.called.kept.get(each.name, "")
            place = taken.index(analysis.names[each.name])
            arguments.append(PassedArgument(place, each.name in analysis.scalars, cast, kept))
        else:
            value, tensor = analysis.attempt.values[each.name], each if isinstance(each, TensorArgument) else None
            held = tensor.held if tensor else ""
            follows, name = tensor is not None and tensor.dtype == base, each.name if held else ""
            beside = _shape_beside(analysis, each)
            arguments.append(ConstantArgument(value, follows, beside, name, held == "data"))
    plain = arguments == [PassedArgument(place) for place in range(len(arguments))]
    in_parts = isinstance(analysis.attempt.function, BoundFunction)
    if plain and is_class and not in_parts:
        return None
    return BoundFunction(function, joined_arguments(analysis.called.recipe, arguments), in_parts)


def _shape_beside(analysis: _Analysis, each: TensorArgument | Constant) -> tuple[int, ...]:
    """The shape of the first input, if a held tensor has as many rows."""
    first = analysis.attempt.recipe.inputs[0]
    rows = each.shape[:1] if isinstance(each, TensorArgument) else ()
    return first.shape if rows and rows == first.shape[:1] and first.name not in analysis.numbers else ()


def _dtype(recipe: Recipe) -> Literal["float64", "float32"]:
    """The dtype of the op: float32 where no input is float64."""
    return "float64" if any(each.dtype == "float64" for each in recipe.inputs) else "float32"


def free_names(names: Iterable[str]) -> dict[str, str]:
    """The name in the op for each argument name, with underscores appended where it is reserved or taken."""
    found: dict[str, str] = {}
    for name in names:
        own = name
        while own in RESERVED or own in found.values():
            own += "_"
        found[name] = own
    return found


def _outputs(function: Callable[..., Any], returned: Any, taken: Iterable[str]) -> tuple[str, ...]:
    """Names of the outputs, two for a complex one."""
    outputs = result_tuple(returned)
    names = zip(names_of_outputs(function, len(outputs), taken), outputs, strict=True)
    return tuple(name + part for name, out in names for part in (PARTS if is_complex_tensor(out) else ("",)))


def names_of_outputs(function: Callable[..., Any], count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """Names of the outputs: the local names in the return statement of forward, or ``y0``, ``y1``."""
    if count == 1:
        return ("y",)
    names = _returned(function)
    if len(names) == count == len(set(names)) and not set(names) & {*taken, *RESERVED}:
        return names
    return tuple(f"y{place}" for place in range(count))


def _returned(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names in the last return statement of forward; none if it returns anything else."""
    written = function.forward if isinstance(function, type) else function  # type: ignore[attr-defined]
    tree = source_tree(written)
    returns = list(_returns(tree.body[0])) if tree else []
    last = max(returns, key=lambda node: node.lineno).value if returns else None
    if not isinstance(last, ast.Tuple | ast.List):
        return ()
    names = tuple(each.id for each in last.elts if isinstance(each, ast.Name))
    return names if len(names) == len(last.elts) else ()


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions defined inside."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Return):
            yield each
        elif not isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from _returns(each)
