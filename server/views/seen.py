"""What a step has seen of the input that is swept: histograms, and where in them backward differs, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..capture.samples import data_of, sample_of, share_words
from ..numerics.curve.evaluation import Evaluation
from ..numerics.diagnosis.evidence import EXCEPTIONS
from ..numerics.formatting.numbers import format_number
from ..numerics.sentences.names import MOST_NAMED, section_names
from ..numerics.sentences.places import describe_intervals
from ..numerics.status import Status
from ..numerics.studies.seen import SeenPoints, judge_seen
from ..numerics.verdict.verdict import Verdict
from ..protocol.errors import BadQuestion
from ..protocol.listed import listed
from ..protocol.question import Question
from ..runtime.arrays import Array, Interval, Mask
from ..runtime.failure import FunctionFailed
from ..runtime.section import Section
from ..schema.section import Bins, SeenRecord, SeenSiteRecord
from .common import ColumnArrays, record_of
from .small_net import NET, small_net_numbers

_BINS, _FEW_BINS = 48, 24  # unit: of the inputs and of grad_output
_OUTLIERS = (0.002, 0.998)  # unit: the quantiles between which the histogram of grad_output reaches
_EXACT = 4.0  # bound: ulps of float32 within which a number is exactly on a kink


@dataclass(frozen=True)
class _Sample:
    """The numbers of an input at all sites, each with its grad_output and site; ``paired`` where those are known.

    ``grads`` are all grad_outputs, ``passed`` is how many numbers went in, ``sites`` have path, line, calls and
    backwards.
    """

    x: Array
    given: Array
    site: Array
    paired: bool
    grads: Array
    passed: int
    file: str
    sites: Sequence[Mapping[str, Any]]


def seen_summary(
    section: Section, question: Question, evaluation: Evaluation, verdict: Verdict
) -> tuple[SeenRecord | None, ColumnArrays]:
    """What was seen, and the column of its histogram; nothing where nothing was, or a parameter is swept."""
    names = [each.name for each in section.op.inputs]
    if question.wrt.name not in names:
        return None, {}
    place = names.index(question.wrt.name)
    sample = _of_net(section) if question.data == NET else _of_step(section, question, place)
    if sample is None or not sample.x.size:
        return None, {}
    try:
        points = judge_seen(section, sample.x, sample.given, question.step)
    except FunctionFailed:
        points = None
    on_kinks = _on_kinks(sample.x, points.bends if points else ())
    inputs = _bins(sample.x[~on_kinks], (question.start, question.stop), _BINS, sample.x.size)
    record = _record(sample, points, question, inputs, on_kinks)
    record["sentences"] = [*_sentences(record, section, question, sample, points, evaluation, verdict)]
    rows = np.searchsorted([low for low, _, _ in inputs], evaluation.rows.x, side="right") - 1
    return record, {"seen": np.array([share for _, _, share in inputs])[rows.clip(0)]}


def _of_net(section: Section) -> _Sample:
    """The numbers in the small net; raises ``BadQuestion`` for an op that does not fit into it."""
    found = small_net_numbers(section) if [each.shape for each in section.op.inputs] == [()] else None
    if found is None:
        raise BadQuestion("data=net is for a Function of one number that returns one; leave data out.", "data")
    x, given = found
    site = {"path": NET, "line": "", "calls": 1, "backwards": 1}
    return _Sample(x, given, np.zeros(x.size), True, given, x.size, "the small net", [site])


def _of_step(section: Section, question: Question, place: int) -> _Sample | None:
    """The numbers of a step at all sites, with their own grad_output where each element has one."""
    data, name = data_of(section.op), question.wrt.name
    if data is None:
        return None
    alone = not section.op.inputs[place].shape and data.capture.record["sampled"]
    parts = []
    for number, site in enumerate(data.sites):
        x = sample_of(data.capture, [site], "input", data.index(site, name, place))
        given = sample_of(data.capture, [site], "grad_output")
        own = alone and given.size == x.size
        parts.append((x, given if own else np.full(x.size, question.grad_output), np.full(x.size, number), own))
    columns, own = [np.concatenate(each) for each in [*zip(*parts, strict=True)][:3]], all(part[3] for part in parts)
    grads = sample_of(data.capture, list(data.sites), "grad_output")
    passed = sum(slot["numel"] for slot in data.slots(name, place))
    return _Sample(columns[0], columns[1], columns[2], own, grads, passed, data.capture.name, data.sites)


def _record(sample: _Sample, points: SeenPoints | None, question: Question, inputs: Bins, on_kinks: Mask) -> SeenRecord:
    x, grads = sample.x, sample.grads
    site = sample.site[points.which] if points else sample.site[:0]
    differs = points.status == Status.DIFFERS if points else np.zeros(0, bool)
    stopped = points.stopped if points else np.zeros(0, bool)
    signs = sample.given[points.which][differs] if points and sample.paired and differs.any() else grads
    bends = points.bends if points else ()
    sites = []
    for number, each in enumerate(sample.sites):
        shares = {"differs": differs[site == number], "stopped": stopped[site == number]}
        shares["kinks"] = on_kinks[sample.site == number]
        sites.append(record_of(None, SeenSiteRecord, **each, **{name: _share(mask) for name, mask in shares.items()}))
    return record_of(
        sample,
        SeenRecord,
        sampled=x.size,
        differs=_share(differs),
        negative=_share(signs < 0),
        stopped=_share(stopped),
        outside=_share((x < question.start) | (x > question.stop)),
        missing=_share(~np.isfinite(x)),
        kinks=[(at, share) for at in bends if (share := _share(_on_kinks(x, (at,))))],
        sites=sites,
        inputs=inputs,
        grad_outputs=_bins(grads, _reach(grads), _FEW_BINS, grads.size),
        sentences=[],
    )


def _share(mask: Mask) -> float | None:
    """The share of what is so; None of nothing."""
    return float(mask.mean()) if mask.size else None


def _on_kinks(x: Array, bends: tuple[float, ...]) -> Mask:
    """Which numbers are exactly at one of some places, which were measured."""
    found = np.zeros(x.size, bool)
    for at in bends:
        found |= np.abs(x - at) <= _EXACT * float(np.finfo(np.float32).eps) * max(abs(at), 1.0)
    return found


def _reach(values: Array) -> Interval:
    """From where to where most of some numbers lie."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 0.0
    low, high = (float(each) for each in np.quantile(finite, _OUTLIERS))
    return min(low, 0.0), max(high, 0.0)


def _bins(values: Array, span: Interval, count: int, size: int) -> Bins:
    """A histogram between two ends: from, to, share of ``size`` numbers."""
    low, high = span
    if not low < high:
        return []
    inside = values[(values >= low) & (values <= high)]
    counts, edges = np.histogram(inside, bins=count, range=span)
    shares = counts / size
    return [(float(a), float(b), float(n)) for a, b, n in zip(edges[:-1], edges[1:], shares, strict=True)]


def _sentences(
    record: SeenRecord,
    section: Section,
    question: Question,
    sample: _Sample,
    points: SeenPoints | None,
    evaluation: Evaluation,
    verdict: Verdict,
) -> Iterator[str]:
    names, of = section_names(section), f"the inputs of `{section.op.function.__name__}`{_where(record)}"
    if record["differs"] is not None:
        own = "" if sample.paired else f", the other inputs held and grad_output {format_number(question.grad_output)}"
        if record["differs"]:
            negative = record["negative"] or 0.0
            signs = f"; grad_output is negative for {share_words(negative)} of them" if sample.paired else ""
            yield f"{share_words(record['differs'])} of {of} lie where backward differs{own}{signs}."
        else:
            yield f"None of {of} lies where backward differs{own}."
    if record["kinks"]:
        most = sorted(record["kinks"], key=lambda each: -each[1])[:MOST_NAMED]
        exactly = listed([f"{share_words(share)} at {names.wrt} = {format_number(at)}" for at, share in most])
        yield f"Exactly on a kink lie {exactly}."
    if points is not None:
        saturated, dead = (points.stopped & points.flat).mean(), (points.stopped & ~points.flat).mean()
        if saturated >= EXCEPTIONS:
            yield f"{share_words(float(saturated))} are saturated: forward is flat there, and nothing comes back."
        if dead >= EXCEPTIONS:
            zone = "a dead zone: backward returns 0, though forward moves or has a kink"
            yield f"{share_words(float(dead))} lie in {zone}."
    if record["missing"]:
        yield f"{share_words(record['missing'])} are NaN or infinite."
    finite = sample.x[np.isfinite(sample.x)]
    unreached = [each for each in verdict.against.intervals if not _reached(each, finite)]
    if unreached and finite.size and verdict.word == "differs":
        low, high = format_number(float(finite.min())), format_number(float(finite.max()))
        also = "too, " if record["differs"] else ""
        yield (
            f"No input lies {describe_intervals(unreached, evaluation, names)}, where backward differs, {also}"
            f"as they go from {low} to {high}."
        )
    if record["outside"] >= EXCEPTIONS:
        yield f"{share_words(record['outside'])} lie beyond the range that is shown."
    yield f"That is of {record['sampled']} numbers, of {record['passed']} that have passed."


def _reached(interval: Interval, x: Array) -> bool:
    low, high = interval
    return bool((((x > low) & (x < high)) | ((x == low) & (low == high))).any())


def _where(record: SeenRecord) -> str:
    places = list(dict.fromkeys(f"`{each['path'] or each['line']}`" for each in record["sites"]))
    return f" at {listed(places)}" if len(places) <= MOST_NAMED else f" at {len(places)} places"
