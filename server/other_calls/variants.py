"""The variants of a recipe: one thing changed at a time, each in the domain that the source leaves open."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch

from ..inference.recipe.recipe import COMPLEX, INDEX_FILLS, OBJECT_TEXT, Constant, Recipe, TensorArgument, literal
from ..inference.search.choices import constant, is_writable
from ..inference.source.collect import CollectedEvidence
from ..inference.source.evidence import ArgumentEvidence
from ..inference.source.name_hints import COUNT_NAME, IGNORED_NAME
from ..inference.source.signature import LEFT_OUT, NO_DEFAULT
from ..protocol.listed import listed
from .ties import Tied, equal_to_the_first, in_turns

# The shapes that stand for a vector: not square, with one dimension more than matrices have.
_MATRIX, _CUBE = (3, 5), (2, 3, 4)
_BATCH = 3
_OTHER_SEED = 101
_COUNTS = (1, 2, 3)  # sample: how many tensors are given for ``*args``
_Shape = tuple[int, ...]
_Change = Callable[[torch.Tensor], torch.Tensor]
Compared = Literal["slopes", "float32", "float16", "dtypes", "vmap"]


@dataclass(frozen=True)
class CallVariant:
    """A recipe to call, what is ``changed`` in words, and how its inputs lie in memory.

    ``seed`` fills its tensors, ``alone`` is the only input that requires grad ("" if all do), ``layout`` makes a tensor
    of the same values that lies in memory in another way, ``tied`` gives equal numbers to the inputs, and ``compared``
    says what its gradient is held against. ``declared`` says that it is a call as the signature of forward has it.
    ``ignored`` is a tensor of indices, the first of which is this number, that forward leaves out.
    """

    recipe: Recipe
    changed: str
    seed: int = 0
    alone: str = ""
    layout: _Change | None = None
    tied: Tied | None = None
    compared: Compared = "slopes"
    declared: bool = False
    ignored: tuple[str, int] | None = None


def call_variants(
    recipe: Recipe, evidence: CollectedEvidence, given: bool, captured: Collection[str]
) -> tuple[CallVariant, ...]:
    """The variants of a recipe, none twice, and none of the recipe itself.

    Sizes change together where they are equal. The number of dimensions changes only where nothing in the source says
    it, and a size stays that it says. A number is halved and doubled, a whole one raised by one, a flag flipped, a word
    replaced by others that the source knows. Of a recipe that was ``given`` by the user the shapes stay as they are,
    and so do those of the tensors that are ``captured``, which are the last ones.
    """
    shapes = list(_shapes(recipe, evidence, captured))
    deepest = max(shapes, key=_rank)
    deeper = [deepest] if _rank(deepest) > len(recipe.inputs[0].shape) else []
    inferred = [CallVariant(recipe, "other numbers", _OTHER_SEED), *shapes, *_indices(recipe)]
    found = [
        *([] if given else inferred),
        *([] if captured else _defaults(recipe, evidence)),
        *([] if given or captured else _starred(recipe, evidence)),
        *_constants(recipe, evidence),
        *([] if given else (_both(each, other) for each in deeper for other in _constants(each.recipe, evidence))),
        *_ignored(recipe),
        *_layouts(recipe),
        *_alone(recipe),
        *_ties(recipe),
        *_dtypes(recipe),
        CallVariant(recipe, "torch.func.vmap over dimension 1", compared="vmap"),
    ]
    unique: dict[tuple[object, ...], CallVariant] = {}
    for each in found:
        how = (each.seed, each.alone, each.layout, each.tied, each.compared, each.ignored)
        unique.setdefault((each.recipe.text(), *how), each)
    unique.pop((recipe.text(), 0, "", None, None, "slopes", None), None)
    return tuple(unique.values())


def _shapes(recipe: Recipe, evidence: CollectedEvidence, captured: Collection[str]) -> Iterator[CallVariant]:
    tensors = {each.name: each.shape for each in recipe.arguments if isinstance(each, TensorArgument)}
    counts = _counts(recipe)
    told = _told_sizes(tensors, evidence).union(*(tensors[name] for name in captured), counts)
    sizes = {size for shape in tensors.values() for size in shape if size > 1} - told
    # What is taken apart into equal parts stays divisible.
    steps = _steps(tensors, evidence)
    yield _reshaped(recipe, _resized(tensors, {size: size + steps[size] for size in sizes}))
    main = recipe.inputs[0]
    if len(main.shape) > 1 and main.shape[0] not in told:
        chosen_from = max((each.below for each in _index_tensors(recipe) if main.shape[0] not in each.shape), default=0)
        for batch in (steps[main.shape[0]], _BATCH * steps[main.shape[0]]):
            if batch >= chosen_from:  # an index has to be one of a row
                yield _reshaped(recipe, _resized(tensors, {main.shape[0]: batch}))
    # A permutation belongs to one dimension.
    once = {each.name for each in recipe.arguments if isinstance(each, TensorArgument) and each.fill in INDEX_FILLS}
    alike = [name for name, shape in tensors.items() if shape == main.shape and name not in (*once, *captured)]
    # What another argument counts belongs to one dimension, too.
    if main.shape and counts.isdisjoint(main.shape) and not any(_known(evidence, name).ranks for name in alike):
        for shape in _of_other_rank(main.shape, bool(told & {*main.shape}), math.lcm(*steps.values())):
            yield _reshaped(recipe, tensors | dict.fromkeys(alike, shape))


def _index_tensors(recipe: Recipe) -> list[TensorArgument]:
    return [each for each in recipe.arguments if isinstance(each, TensorArgument) and each.fill == "index"]


def _steps(tensors: Mapping[str, _Shape], evidence: CollectedEvidence) -> dict[int, int]:
    """By how much each size may be raised: by what the source says that it is divisible by."""
    steps = dict[int, int]()
    for name, shape in tensors.items():
        for place, size in enumerate(shape):
            count = evidence.notes.relations.parts_of(name, place, len(shape))
            steps[size] = math.lcm(steps.get(size, 1), count)
    return steps


def _counts(recipe: Recipe) -> set[int]:
    """The whole numbers that say by their names how many there are of something."""
    given = [each for each in recipe.arguments if isinstance(each, Constant) and type(each.value) is int]
    return {each.value for each in given if COUNT_NAME.search(each.name.lower())}


def _known(evidence: CollectedEvidence, name: str) -> ArgumentEvidence:
    """The evidence on an argument; none on more of ``*args`` than backward returns gradients for."""
    return evidence.notes.arguments.get(name, ArgumentEvidence(name))


def _told_sizes(tensors: Mapping[str, _Shape], evidence: CollectedEvidence) -> set[int]:
    """The sizes that the source says, as it does where it reads each element of a dimension by its place."""
    relations = evidence.notes.relations
    places = {
        (name, place): size
        for name, shape in tensors.items()
        for index, size in enumerate(shape)
        for place in (index, index - len(shape))
    }
    said = {size for where, size in places.items() if size in (relations.exact(where), relations.fixed.get(where))}
    return said | relations.identities


def _of_other_rank(shape: _Shape, told: bool, step: int) -> Iterator[_Shape]:
    """The shapes with more dimensions that stand for this one; the last dimensions are kept, too, if not alone.

    All sizes are multiples of ``step``.
    """
    if len(shape) == 1 and not told:
        yield from (tuple(step * size for size in each) for each in (_MATRIX, _CUBE))
    if len(shape) < 3:
        yield (step * _BATCH, *shape)


def _resized(shapes: Mapping[str, _Shape], sizes: Mapping[int, int]) -> dict[str, _Shape]:
    return {name: tuple(sizes.get(size, size) for size in shape) for name, shape in shapes.items()}


def _reshaped(recipe: Recipe, shapes: Mapping[str, _Shape]) -> CallVariant:
    changed, arguments = list[str](), list[TensorArgument | Constant]()
    for each in recipe.arguments:
        if isinstance(each, TensorArgument) and each.shape != shapes[each.name]:
            each = replace(each, shape=shapes[each.name])
            changed.append(f"{each.name} of shape {each.shape}")
        arguments.append(each)
    return CallVariant(replace(recipe, arguments=tuple(arguments)), " and ".join(changed))


def _rank(variant: CallVariant) -> int:
    return len(variant.recipe.inputs[0].shape)


def _both(shaped: CallVariant, other: CallVariant) -> CallVariant:
    return replace(other, changed=f"{shaped.changed} and {other.changed}")


def _constants(recipe: Recipe, evidence: CollectedEvidence) -> Iterator[CallVariant]:
    for place, each in enumerate(recipe.arguments):
        if isinstance(each, Constant):
            known = _known(evidence, each.name)
            near = _other_dimensions(each, known, len(recipe.inputs[0].shape))
            near = values_near(each.value, known.strings) if near is None else near
            for value in filter(partial(_is_within, known), near):
                other = Constant(each.name, value)
                yield CallVariant(recipe.with_argument(place, other), f"{each.name} = {literal(value)}")


def _other_dimensions(constant: Constant, known: ArgumentEvidence, rank: int) -> list[int] | None:
    """The other dimensions of a tensor of this rank, of which the constant is one; None where it is none."""
    value = constant.value
    if type(value) is not int or known.weight("dim") <= 0 or not -rank <= value < rank:
        return None
    return [each for each in range(rank) if each != value % rank]


def _is_within(known: ArgumentEvidence, value: Any) -> bool:
    """Whether a number is inside of the bounds that the source or the docstring sets to an argument."""
    low, high = -math.inf if known.low is None else known.low, math.inf if known.high is None else known.high
    return isinstance(value, bool) or not isinstance(value, int | float) or low < value < high


def _ignored(recipe: Recipe) -> Iterator[CallVariant]:
    """The label that is left out among the others."""
    for each in recipe.arguments:
        if isinstance(each, Constant) and type(each.value) is int and IGNORED_NAME.search(each.name.lower()):
            for one in _index_tensors(recipe):
                if math.prod(one.shape) > 1:
                    yield CallVariant(recipe, f"{each.name} among {one.name}", ignored=(one.name, each.value))


def _defaults(recipe: Recipe, evidence: CollectedEvidence) -> Iterator[CallVariant]:
    """All declared defaults passed, and each tensor that stands in the place of a default left to that."""
    behind = evidence.arguments[len(recipe.arguments) :]
    passed = [_default(each.name, each.default) for each in behind if each.default is not LEFT_OUT]
    if passed and len(passed) == len(behind):
        names = listed([each.name for each in passed])
        whole = replace(recipe, arguments=(*recipe.arguments, *passed))
        yield CallVariant(
            whole, f"{names} passed at {'its default' if len(passed) == 1 else 'their defaults'}", declared=True
        )
    for place, (argument, given) in enumerate(zip(evidence.arguments, recipe.arguments, strict=False)):
        default = argument.default
        if isinstance(given, TensorArgument) and default is not NO_DEFAULT and default is not LEFT_OUT:
            left = recipe.with_argument(place, _default(given.name, default))
            if left.inputs:
                yield CallVariant(left, f"the default of {given.name}", declared=True)


def _default(name: str, value: Any) -> Constant:
    """A declared default as an argument, also where no recipe can write it."""
    return constant(name, value) if is_writable(value) else Constant(name, value, OBJECT_TEXT)


def _starred(recipe: Recipe, evidence: CollectedEvidence) -> Iterator[CallVariant]:
    """One, two and three tensors for ``*args``."""
    star = evidence.notes.star
    names = [f"{star}{place}" for place in range(len(recipe.arguments))] if star else []
    inside = [each for each in recipe.arguments if isinstance(each, TensorArgument) and each.name in names]
    before = tuple(each for each in recipe.arguments if each.name not in names)
    for count in _COUNTS if inside and len(before) + len(inside) == len(recipe.arguments) else ():
        tensors = [replace(inside[min(place, len(inside) - 1)], name=f"{star}{place}") for place in range(count)]
        many = f"{count} tensor{'s' * (count > 1)}"
        yield CallVariant(replace(recipe, arguments=(*before, *tensors)), f"{many} for *{star}")


def values_near(value: Any, words: list[str]) -> list[Any]:
    """Other values of the same kind that are as likely to be in the domain of a Function."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 2]
    if isinstance(value, float):
        # What lies between a half and 1 may be a share, of which the double is none, and what lies between 1 and 2 the
        # exponent of a norm or an entropy, of which the half is none.
        towards_one = (1 + value) / 2
        half, double = towards_one if 1 < value < 2 else value / 2, towards_one if 0.5 < value < 1 else 2 * value
        return [half, double] if value else [0.5]
    if isinstance(value, str):
        return [each for each in dict.fromkeys(words) if each != value]
    if isinstance(value, tuple) and value and all(type(each) is int for each in value):
        return [tuple(each + 1 for each in value)]
    return []


def _indices(recipe: Recipe) -> Iterator[CallVariant]:
    """Indices that are more than there are to choose from, so that some repeat, and unevenly; as many as nothing else.

    What has as many elements as there are indices follows them, but for the first tensor.
    """
    tensors = {each.name: each.shape for each in recipe.arguments if isinstance(each, TensorArgument)}
    sizes = {size for shape in tensors.values() for size in shape}
    for each in _index_tensors(recipe):
        if len(each.shape) == 1:
            count = next(
                size for size in range(2 * each.below + 3, 2 * each.below + 4 + len(sizes)) if size not in sizes
            )
            follow = {name: shape for name, shape in tensors.items() if name not in (each.name, recipe.inputs[0].name)}
            for shapes in ({}, _resized(follow, {each.shape[0]: count})):
                other = _reshaped(recipe, tensors | {each.name: (count,)} | shapes)
                yield replace(other, changed=f"{count} indices in {each.name}")


def _layouts(recipe: Recipe) -> Iterator[CallVariant]:
    ranks = [len(each.shape) for each in recipe.inputs]
    for least, (text, layout) in zip((2, 1, 1), MEMORY_LAYOUTS.items(), strict=True):
        if max(ranks) >= least and (text != EXPANDED or _may_be_equal(recipe)):
            yield CallVariant(recipe, text, layout=layout)


def transposed_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The same matrices, stored by columns."""
    return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor


def spaced_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, each beside one that is not used."""
    return torch.stack((tensor, tensor), -1)[..., 0]


def expanded_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The first row in place of every row, without a copy."""
    return tensor[:1].expand_as(tensor) if tensor.dim() else tensor


# The layouts in memory, by what is said of them: of matrices the first one, of vectors the others.
TRANSPOSED, SPACED = "inputs that are transposed in memory", "inputs that have gaps in memory"
EXPANDED = "inputs that are expanded"
MEMORY_LAYOUTS: dict[str, _Change] = {
    TRANSPOSED: transposed_in_memory,
    SPACED: spaced_in_memory,
    EXPANDED: expanded_in_memory,
}


def _alone(recipe: Recipe) -> Iterator[CallVariant]:
    if len(recipe.inputs) > 1:
        for each in recipe.inputs:
            yield CallVariant(recipe, f"a gradient for {each.name} alone", alone=each.name)


# The words of tensors whose numbers may be equal.
_MAY_BE_EQUAL = ("normal", "positive", "negative")


def _may_be_equal(recipe: Recipe) -> bool:
    return all(each.fill in _MAY_BE_EQUAL for each in recipe.inputs)


def _ties(recipe: Recipe) -> Iterator[CallVariant]:
    """Equal numbers in pairs, and in two tensors of one shape; an expanded tensor has nothing but equal rows."""
    if not _may_be_equal(recipe) or any(each.dtype != "float64" for each in recipe.inputs):
        return
    names, shapes = [each.name for each in recipe.inputs], [each.shape for each in recipe.inputs]
    if any(each.shape for each in recipe.inputs):
        yield CallVariant(recipe, "equal numbers in pairs", tied=in_turns)
    if shapes[0] in shapes[1:]:
        other = names[shapes.index(shapes[0], 1)]
        yield CallVariant(recipe, f"{other} equal to {names[0]}", tied=equal_to_the_first)


def _dtypes(recipe: Recipe) -> Iterator[CallVariant]:
    if all(COMPLEX.get(each.dtype, each.dtype) == "float64" for each in recipe.inputs):
        yield CallVariant(recipe, "float32", compared="float32")
    if all(each.dtype == "float64" for each in recipe.inputs):
        yield CallVariant(recipe, "float16", compared="float16")
        if len(recipe.inputs) > 1:
            first = recipe.inputs[0].name
            mixed = tuple(
                replace(each, dtype="bfloat16" if each.name == first else "float32")
                if isinstance(each, TensorArgument) and each.dtype == "float64"
                else each
                for each in recipe.arguments
            )
            yield CallVariant(
                replace(recipe, arguments=mixed), f"{first} in bfloat16 beside float32", compared="dtypes"
            )
