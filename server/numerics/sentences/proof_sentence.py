"""What a proof says, in a line, in sentences and in full: what it covers, and what it does not."""

from __future__ import annotations

from collections.abc import Sequence

from ...proof.record import Held, Proof, Stretch, Witness
from ...protocol.listed import listed
from ...protocol.question import Element
from ..formatting.numbers import format_number, simplest_number, typeset
from ..tolerance import ALIKE_SHARE, SMALL
from .names import MOST_NAMED, Names

NOTHING_TO_PROVE = "with grad_output 0 every gradient is 0"
NOT_INSTALLED = "Proofs need python-flint: pip install 'gradloupe[proof]'."
_INWARDS = 1e-2  # pattern: how far the ends of a range of grad_output are rounded into it, to be short
_GIVEN = {
    "every": " It holds for every grad_output.",
    "every positive": " It holds for every positive grad_output.",
    "every negative": " It holds for every negative grad_output.",
}
_STAIRS = " That is of the slope between two places where forward may jump: what it rises by over many is not refuted."
_LIMITS = (
    "It is about the Python text over the real numbers: not about rounding, not about what a kernel makes of it on a"
    " GPU, and of code that leaves torch and NumPy it says nothing."
)


def proof_line(proof: Proof, names: Names) -> str:
    """What is proved, in one line; empty where nobody can ask."""
    if not proof.word:
        return ""
    if proof.witness:
        where = f" {_among(proof.refuted, proof, names)}" if _wide(proof.refuted, proof) else ""
        return f"Refuted{where}: {_contradiction(proof.witness, proof, names)}."
    if proof.word == "refuted":
        return f"Refuted: backward is not {_derivative(proof, names)} {_among(proof.refuted, proof, names)}."
    if proof.word == "nothing":
        return f"Nothing is proved: {proof.reason or _undecided(proof, names)}."
    but = f", but {_named(_exceptions(proof), proof)}" if _exceptions(proof) else ""
    return f"Proved {_covered(proof, names)}: backward is {_derivative(proof, names)}{but}."


def proof_sentence(proof: Proof, names: Names, grad_output: float) -> str:
    """The line, for which grad_output it holds, what differs and what is not decided."""
    said = proof_line(proof, names) or proof.reason
    if proof.word in ("", "nothing"):
        return said
    said += _GIVEN.get(proof.grad_output) or f" It holds for {_given(proof, grad_output)}."
    if proof.word == "refuted":
        said += f" Proved right {_among(proof.proved, proof, names)}." if _wide(proof.proved, proof) else ""
        said += _STAIRS if _on_stairs(proof) else ""
    if _wide(proof.undecided, proof):
        said += f" {_undecided(proof, names).capitalize()}."
    return said


def _on_stairs(proof: Proof) -> bool:
    """Whether all that is refuted lies between places, close together, of which nothing is known; nothing is proved."""
    widest = max(stop - start for start, stop in proof.refuted)
    between = len(proof.points) + len(proof.undecided) > 1
    return between and not proof.proved and widest < SMALL * (proof.stop - proof.start)


def proof_meaning(proof: Proof, names: Names, grad_output: float, dtype: str) -> list[str]:
    """What it means that it is proved or refuted, a sentence or two each; empty where nothing is said."""
    slope = _slope(proof, grad_output)
    told = []
    if proof.proved:
        near = f"differ by less than {proof.epsilon:.0e} of the slope at its place"
        near += ", or beside a zero of the slope, of that nearby. That they are equal no interval of numbers can say"
        told.append(
            f"For every real number {names.wrt} of what is proved{_beside(proof)}, not for some of them, "
            f"what backward returns and {slope} {near if proof.epsilon else 'are equal, exactly'}."
        )
    if proof.refuted:
        held = f", and some {named(proof.held)} that it is held at" if proof.held else ""
        told.append(
            f"For every real number {names.wrt} of what is refuted{held}, what backward returns is not"
            f" {slope}: intervals that hold the one and the other have no number in common."
        )
    if proof.held and _wide(proof.undecided, proof):
        told.append(f"A kink or a jump whose place moves with {named(proof.held)} leaves undecided all that it passes.")
    if proof.points:
        width = max(stop - start for start, stop in proof.points)
        told.append(
            f"Where a curve may bend or jump it has no slope to compare with: {len(proof.points)}"
            f" {'point is' if len(proof.points) == 1 else 'points are'} enclosed in no more than"
            f" {width:.0e} each, and left out."
        )
    shorter = [f"What {dtype} rounds off is left out: that is measured."] if dtype != "float64" else []
    return [*told, _LIMITS, *shorter] if told else []


def _given(proof: Proof, grad_output: float) -> str:
    if proof.given is None:
        return f"grad_output = {format_number(grad_output)}"
    low, high = (simplest_number(*sorted((end, end + _INWARDS * (grad_output - end)))) for end in proof.given)
    return f"every grad_output from {format_number(low)} to {format_number(high)}"


def _derivative(proof: Proof, names: Names) -> str:
    of_surrogate = names.claim == "surrogate" and not proof.of_forward
    return f"the derivative of {'the surrogate' if of_surrogate else 'forward'}"


def _slope(proof: Proof, grad_output: float) -> str:
    return "the slope" if grad_output == 1 and proof.grad_output == "this" else "grad_output times the slope"


def _contradiction(one: Witness, proof: Proof, names: Names) -> str:
    """A number of the box at which the two differ, and both, rounded outwards as far as they stay apart."""
    backward, slope = _apart(
        (one.backward_low, one.backward_high), (one.slope_low, one.slope_high), one.backward_low > one.slope_high
    )
    at = f"{names.wrt} = {_digits(simplest_number(one.start, one.stop))}"
    also = f" and {named(proof.held)} = {format_number(one.at)}" if proof.held and one.at is not None else ""
    return f"at {at}{also} backward is {backward}, and the slope {slope}"


def _apart(backward: Stretch, slope: Stretch, above: bool) -> tuple[str, str]:
    """Bounds of the two that tell them apart, in few digits: each is moved into the gap between them."""
    inner, outer = (backward[0], slope[1]) if above else (slope[0], backward[1])
    low, high = simplest_number(outer, outer + (inner - outer) / 3), simplest_number(inner - (inner - outer) / 3, inner)
    most, least = f"at most {_digits(low)}", f"at least {_digits(high)}"
    said = (least, most) if above else (most, least)
    exact = [
        _digits(each[0]) if each[0] == each[1] else text for each, text in zip((backward, slope), said, strict=True)
    ]
    return exact[0], exact[1]


def _digits(value: float) -> str:
    return typeset(repr(value + 0.0).removesuffix(".0"))


def _covered(proof: Proof, names: Names) -> str:
    """How much of the range is proved, or that all of the line is."""
    if proof.everywhere and not _wide(proof.undecided, proof):
        return f"for every real {names.wrt}"
    whole = f"{names.wrt} from {_place(proof.start, proof)} to {_place(proof.stop, proof)}"
    many = "all" if not _wide(proof.undecided, proof) else f"{format_number(100 * proof.share)} % of"
    return f"for {many} {whole}{_beside(proof)}"


def _beside(proof: Proof) -> str:
    """What is held in a range, after what is swept."""
    held = proof.held
    return f" and all {named(held)} from {format_number(held.low)} to {format_number(held.high)}" if held else ""


def named(held: Held) -> str:
    """Its name, as an address has it."""
    return str(Element(held.name, held.index))


def _exceptions(proof: Proof) -> list[Stretch]:
    """The points, and what is as narrow: those that lie close together as one."""
    narrow = [each for each in proof.undecided if _is_narrow(each, proof)]
    return _joined(sorted([*proof.points, *narrow]), proof)[0]


def _named(stretches: Sequence[Stretch], proof: Proof) -> str:
    """Points, or how many there are."""
    if len(stretches) > MOST_NAMED:
        return f"at {len(stretches)} points"
    return f"at {listed([_point(each, proof) for each in stretches])}"


def _among(stretches: Sequence[Stretch], proof: Proof, names: Names) -> str:
    """On which stretches: what divides one in two, narrow as it is, is named."""
    joined, gaps = _joined(stretches, proof)
    found = [each for each in joined if not _is_narrow(each, proof)] or joined
    if len(found) > MOST_NAMED:
        return f"on {len(found)} stretches of {names.wrt}"
    said = listed([_stretch(each, proof) for each in found])
    return f"{said}, but {_named(gaps, proof)}" if gaps else said


def _joined(stretches: Sequence[Stretch], proof: Proof) -> tuple[list[Stretch], list[Stretch]]:
    """The same, with those between which there is hardly a gap as one; and these gaps."""
    found: list[Stretch] = []
    gaps = []
    for start, stop in stretches:
        gap = found and (found[-1][1], start)
        if gap and _is_narrow(gap, proof):
            found[-1] = (found[-1][0], stop)
            gaps.append(gap)
        else:
            found.append((start, stop))
    return found, gaps


def _stretch(each: Stretch, proof: Proof) -> str:
    if _is_narrow(each, proof):
        return f"at {_point(each, proof)}"
    ends = {end: point for point in proof.points for end in point}
    low, high = (_point(ends[end], proof) if end in ends else _place(end, proof) for end in each)
    return f"from {low} to {high}"


def _point(each: Stretch, proof: Proof) -> str:
    """A narrow stretch as one number: the shortest in it."""
    return _place(simplest_number(*each), proof)


def _place(x: float, proof: Proof) -> str:
    return format_number(x, proof.stop - proof.start)


def _is_narrow(each: Stretch, proof: Proof) -> bool:
    return each[1] - each[0] < ALIKE_SHARE * (proof.stop - proof.start)


def _wide(stretches: Sequence[Stretch], proof: Proof) -> bool:
    return not all(_is_narrow(each, proof) for each in stretches)


def _undecided(proof: Proof, names: Names) -> str:
    if proof.undecided == ((proof.start, proof.stop),):
        looked = f"{proof.boxes} box{'es' * (proof.boxes != 1)}"
        return f"not decided {_stretch(proof.undecided[0], proof)} by {looked}"
    return f"not decided {_among(proof.undecided, proof, names)}"
