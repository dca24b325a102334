"""The calls of a capture: how a Function was called in a step, in the place of a call that is found out."""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...ops import Input, Op
from ..capture.record import ArgumentRecord, Capture
from ..capture.samples import FunctionData, attach_data, numbers
from ..inference.recipe.recipe import NotInferred
from ..inference.search.trial import RepeatableCall
from ..inference.source.signature import signature_of
from ..runtime.isolation import quietly
from .example_inputs import Override, override_of_values

_NOT_HELD: Any = object()
# pattern: the quantiles between which a domain reaches, by this share of their distance more; and the share of the
# domain that numbers must span to be seen beside the usual ones.
_OUTLIERS, _BESIDE, _VISIBLE = (0.002, 0.998), 0.05, 0.05
_LONGEST = 200  # characters of a value: what was recorded has no more


def data_of_function(capture: Capture | None, function: Any) -> FunctionData | None:
    """What a capture has of a Function; None where it was not called."""
    sites = capture.sites(getattr(function, "__qualname__", "")) if capture else []
    return FunctionData(capture, tuple(sites)) if capture and sites else None


def with_data(op: Op, data: FunctionData | None) -> Op:
    """The op with what was seen of it in a step, whose inputs are swept over the numbers that went in, too."""
    if data is None:
        return op
    found = replace(op, inputs=tuple(_over_data(each, data, place) for place, each in enumerate(op.inputs)))
    attach_data(found, data)
    return found


def _over_data(each: Input, data: FunctionData, place: int) -> Input:
    """The input with a domain that reaches over nearly all its numbers, and the usual ones where those are near."""
    sample = data.inputs(each.name, place)
    sample = sample[np.isfinite(sample)]
    if not sample.size:
        return each
    low, high = (float(number) for number in np.quantile(sample, _OUTLIERS))
    beyond = _BESIDE * (high - low)
    start, stop = min(each.domain[0], low - beyond), max(each.domain[1], high + beyond)
    if beyond and high - low < _VISIBLE * (stop - start):
        start, stop = low - beyond, high + beyond
    return replace(each, domain=(float(f"{start:.3g}"), float(f"{stop:.3g}")))


def captured_override(data: FunctionData, function: Any) -> Override | None:
    """The first captured call that is held as a whole, runs, and has something to sweep; None without one.

    Of a large tensor some rows are held, with which a call may not run.
    """
    try:
        order = [each for each in signature_of(function).names if not each.startswith("*")]
    except NotInferred:  # what looks at it next says why
        return None
    for site in data.sites:
        values = {each["name"]: _value(data.capture, each) for each in site["arguments"]}
        held = bool(values) and not any(each is _NOT_HELD for each in values.values())
        if not held or [*values][: len(order)] != order[: len(values)]:
            continue
        with quietly(), suppress(Exception, SystemExit):
            found = override_of_values(values)
            outputs = RepeatableCall.at(function, found.recipe, found.given).outputs()
            if any(each is not None and each.numel() for each in outputs or ()):
                return replace(found, where=f"{data.capture.name} says so", values=values)
    return None


def class_digest(source: str) -> str:
    """The fingerprint of the source of a class."""
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:16]


def capture_notes(capture: Capture, sources: Mapping[str, str]) -> Iterator[str]:
    """What is to be said of a capture, for the Functions with these digests of their sources, by qualified name."""
    if capture.record["torch"].partition("+")[0] != torch.__version__.partition("+")[0]:
        yield (
            f"{capture.name} was recorded with torch {capture.record['torch']}, and this is {torch.__version__}: what "
            "torch's own slopes are at kinks may have changed."
        )
    for name, digest in sources.items():
        if any(site["digest"] not in ("", digest) for site in capture.sites(name)):
            yield f"{name} has changed since {capture.name} was recorded; its curves are those of now."
    missing = dict.fromkeys(each["function"] for each in capture.record["sites"] if each["function"] not in sources)
    if missing and len(missing) == len({each["function"] for each in capture.record["sites"]}):
        yield f"{capture.name} has seen none of these Functions, but {', '.join([*missing][:5])}."


def _value(capture: Capture, argument: ArgumentRecord) -> Any:
    held = argument["tensor"]
    if held is None:
        return _literal(argument["text"])
    rows = held["shape"] if held["rows"] is None else [held["rows"], *held["shape"][1:]]
    tensor = torch.from_numpy(numbers(capture, held["values"])).reshape(rows).to(getattr(torch, held["dtype"]))
    return tensor.requires_grad_(held["grad"] and tensor.is_floating_point())


def _literal(text: str) -> Any:
    """The value that a text of Python stands for; nothing of it is executed."""
    if not text or len(text) > _LONGEST:
        return _NOT_HELD
    try:
        return float(text) if text.lstrip("-") in ("inf", "nan") else ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _NOT_HELD
