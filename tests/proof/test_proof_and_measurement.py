"""Where a proof and the measurement speak of the same curves, neither contradicts the other, and both say one edge.

If they do, one of the two is at fault, and that is ours: these tests are the place where it is loud.
"""

from collections.abc import Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random

import pytest
import torch
from bench.mutation import mutations
from functions.random_sums import RandomCurve, random_sum
from support.sampling import sampled
from support.sections import look, section

from gradloupe.ops import OPS, Op
from gradloupe.server.numerics.curve.evaluation import Evaluation
from gradloupe.server.numerics.formatting.numbers import simplest_number
from gradloupe.server.numerics.sentences.places import describe_point
from gradloupe.server.proof import Proof, prove
from gradloupe.server.runtime.arrays import Interval

GRAD_OUTPUTS = (1.0, -1.0)
COUNT = 401
GAP = 1e-3  # of the range: between what is measured and the next row
PLAIN, WIDE = (
    1e-3,
    3,
)  # share of the slope, and cells: a difference that the measurement cannot have tolerated or missed
MUTANTS, SUMS = 3, [seed for seed in range(48) if random_sum(seed).dtype == torch.float64]
ELEMENTWISE = [name for name, op in OPS.items() if all(each.shape == () for each in op.inputs)]


def contradictions(op: Op, grad_output: float = 1.0, count: int = COUNT) -> list[str]:
    """What is measured to differ where it is proved right, or matches where it is refuted; and edges told otherwise."""
    cut = section(op)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    found = prove(cut, op.surrogate_for(cut.wrt, grad_output), start, stop, grad_output)
    assert found is not None
    evaluation, verdict = look(op, start, stop, count, grad_output)
    measured = verdict.against.intervals if verdict.word == "differs" else ()
    wrong = [
        f"measured to differ from {low} to {high}, proved from {one} to {other}"
        for low, high in measured
        for one, other in found.proved
        if min(high, other) - max(low, one) > GAP * (stop - start)
    ]
    if verdict.word.startswith("matches") and is_plainly_refuted(found, (stop - start) / count):
        wrong.append(f"refuted, yet it {verdict.word}: {found.witness}")
    located = measured if verdict.against.worst is not None else ()  # else only between which rows it differs
    return wrong + list(told_otherwise(found, located, evaluation))


def is_plainly_refuted(found: Proof, cell: float) -> bool:
    one = found.witness
    if one is None or not any(high - low > WIDE * cell for low, high in found.refuted):
        return False
    apart = max(one.backward_low - one.slope_high, one.slope_low - one.backward_high)
    return apart > PLAIN * max(abs(one.slope_low), abs(one.slope_high))


def told_otherwise(found: Proof, measured: Sequence[Interval], evaluation: Evaluation) -> Iterator[str]:
    """The ends of what is measured that are written as another number than the one proved edge within a cell."""
    cell = evaluation.grid.span / evaluation.grid.count
    ends_of, starts_of = (lambda some: {each[1] for each in some}), (lambda some: {each[0] for each in some})
    begins = [each for each in found.points if each[0] in ends_of(found.proved) and each[1] in starts_of(found.refuted)]
    ceases = [each for each in found.points if each[0] in ends_of(found.refuted) and each[1] in starts_of(found.proved)]
    for edges, ends in ((begins, starts_of(measured)), (ceases, ends_of(measured))):
        for end in sorted(ends - {found.start, found.stop}):
            near = [simplest_number(*each) for each in edges if abs(each[0] - end) <= cell]
            written = [describe_point(each, evaluation) for each in (end, *near)]
            if len(near) == 1 and len(set(written)) == 2:
                yield f"{written[0]} is written, and {written[1]} is proved"


@pytest.mark.parametrize("name", sampled(OPS))
def test_neither_contradicts_the_other(name: str) -> None:
    assert [said for grad_output in GRAD_OUTPUTS for said in contradictions(OPS[name], grad_output)] == []


def beyond(each: RandomCurve, seed: int) -> Op:
    """The sum with a backward that is half as large again beyond a place drawn at random."""
    place = each.start + (each.stop - each.start) * Random(seed).uniform(0.1, 0.9)
    return each.op(lambda x: torch.where(x > place, 1.5, 1.0).to(x.dtype))


@pytest.mark.parametrize("seed", sampled(SUMS, SUMS[::8]))
def test_nor_does_it_of_a_random_sum_that_is_right_or_wrong_in_a_part(seed: int) -> None:
    each = random_sum(seed)
    for op in (each.op(), beyond(each, seed), each.op(each.half_a_cell())):
        assert contradictions(op, count=each.count) == []


def mutants(name: str, folder: Path) -> Iterator[tuple[str, Op]]:
    """Ops whose backward has one change, drawn at random."""
    source = Path(f"{Path(OPS[name].function.__module__.replace('.', '/'))}.py").name
    text = (Path(__file__).parents[2] / "ops" / source).read_text()
    found = mutations(text, OPS[name].function.__name__)
    for number, each in enumerate(Random(name).sample(found, min(MUTANTS, len(found)))):
        path = folder / f"mutant_{number}.py"
        path.write_text(each.source)
        spec = spec_from_file_location(f"gradloupe.ops.{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        yield each.short, module.op


@pytest.mark.parametrize("name", sampled(ELEMENTWISE, ELEMENTWISE[::20]))
def test_nor_does_it_of_a_mutant(name: str, tmp_path: Path) -> None:
    for short, op in mutants(name, tmp_path):
        for grad_output in GRAD_OUTPUTS:
            assert contradictions(op, grad_output) == [], short
