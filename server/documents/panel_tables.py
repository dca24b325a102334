"""The tables and sentences of views that come as HTML: rows of cells, each a text or markup."""

import sys
from collections import defaultdict

from markupsafe import Markup, escape

from ..schema.page import WrongRecord
from ..schema.section import Ends
from ..schema.views import (
    WRONG_GRADIENT_IDS,
    ContractRecord,
    LossRecord,
    NodeRecord,
    PrecisionRecord,
    ProofRecord,
    Sent,
    SupportRecord,
)
from .typography import number_within_span, typeset_number

Cell = str
_MOST_ROWS = 24
_NOTHING = "–"
_KNOWN = {"proved": "proved", "refuted": "refuted", "bends": "a curve may bend or jump", "undecided": "not decided"}


def wrong_elsewhere(answer: ContractRecord) -> WrongRecord | None:
    """Where the contract found a wrong gradient: the ``element``, and the ``recipe``, "" for the call at hand."""
    for check in answer["checks"]:
        if check["level"] == "error" and check["id"] in WRONG_GRADIENT_IDS and check["element"]:
            return {"element": check["element"], "recipe": check["recipe"]}
    return None


def stretch_table(answer: ProofRecord) -> tuple[list[list[Cell]], int]:
    """The stretches of a proof, with the digits that tell their ends apart; and how many more there are."""
    rows = []
    for each in answer["stretches"][:_MOST_ROWS]:
        ends = [number_within_span(each[end], each["stop"] - each["start"]) for end in ("start", "stop")]
        rows.append([*ends, _KNOWN[each["known"]]])
    return rows, max(0, len(answer["stretches"]) - _MOST_ROWS)


def undecided_stretches(answer: ProofRecord) -> list[Ends]:
    """Where nothing is proved and nothing refuted."""
    return [(each["start"], each["stop"]) for each in answer["stretches"] if each["known"] == "undecided"]


def ends_of_grad_output(answer: ProofRecord) -> Ends | None:
    """Between which grad_output the same would be said, of those of the same sign; None where nothing is."""
    if answer["witness"] or answer["holds_for"] in ("", "this"):
        return None
    if answer["given"]:
        return answer["given"]
    least, most = sys.float_info.min, sys.float_info.max
    return (least, most) if answer["grad_output"] > 0 else (-most, -least)


def precision_rows(answer: PrecisionRecord) -> list[list[Cell]]:
    """The largest errors in every dtype and on every device, in units in the last place."""
    return [_precision(each) for each in answer["rows"]]


def _precision(row: SupportRecord) -> list[Cell]:
    inside = f" (computes in {row['computes_in']})" if row["computes_in"] not in (None, row["dtype"]) else ""
    if not row["supported"]:
        return [row["dtype"], row["device"], row["message"] or "not supported"]
    ends = [_NOTHING if end is None else typeset_number(end, 3) for end in row["overflow"]]
    return [
        row["dtype"] + inside,
        row["device"],
        *("reference" if row["yardstick"] else _most(row[what]) for what in ("forward_ulp", "gradient_ulp")),
        "not in this range" if set(row["overflow"]) == {None} else " … ".join(ends),
        typeset_number(row["nan_gradients"], 4) if row["nan_gradients"] else "none",
    ]


def _most(loss: LossRecord | None) -> Cell:
    return f"{typeset_number(loss['max'], 2)} ULP" if loss and loss["max"] is not None else _NOTHING


def returned_rows(raw: list[Sent]) -> list[list[Cell]]:
    """What backward returned for every argument, and what arrived there."""
    rows: list[list[Cell]] = []
    for each in raw:
        out = _typed(each["returned"], each["returned_dtype"])
        came = _typed(each["delivered"], each["delivered_dtype"])
        kept = out == came or (out == "None" and came == _NOTHING)
        delivered = came if kept else Markup('{}<i class="changed"> changed</i>').format(came)
        rows.append([each["input"], each["shape"] or _NOTHING, out, delivered])
    return rows


def _typed(shape: str, dtype: str) -> str:
    return f"{dtype} {shape}" if dtype else shape or "None"


def graph_words(answer: NodeRecord) -> str:
    """The picture of a graph in one sentence."""
    names, into = list(map(_vertex_name, answer["vertices"])), defaultdict[int, list[str]](list)
    for edge in answer["edges"]:
        into[edge["target"]].append(names[edge["source"]])
    said = (f"{' and '.join(into[target])} into {names[target]}" for target in sorted(into))
    return f"Graph: {'; '.join(said)}."


def _vertex_name(vertex: Sent) -> str:
    return (", " if vertex["kind"] == "constant" else " ").join(vertex["lines"])


def edge_rows(answer: NodeRecord) -> list[list[Cell]]:
    """The edges of a graph: from where, to where, and what came back."""
    names = list(map(_vertex_name, answer["vertices"]))
    said = {"none": "None", "nothing": _NOTHING}
    return [[names[e["source"]], names[e["target"]], str(said.get(e["back"], e["label"]))] for e in answer["edges"]]


def function_sentences(one: Sent) -> list[str]:
    """What is to be said of a Function in one call."""
    dirty = [each["name"] for each in one["arguments"] if each["dirty"]]
    silent = [each["name"] for each in one["outputs"] if each["silent"]]
    count, total = one["count"], len(one["arguments"]) + one["more"]["arguments"]
    said = ["ctx is filled in setup_context." if one["new_style"] else "forward takes ctx itself, the old style."]
    if one["once"]:
        said.append("backward is marked once_differentiable.")
    if len(one["outputs"]) + one["more"]["outputs"] > 1:
        given = "zeros" if one["materialize"] else "None"
        said.append(f"For an output that is not used, backward is given {given}.")
    if dirty:
        said.append(f"Marked as changed in place: {', '.join(dirty)}.")
    if silent:
        said.append(f"Without a gradient: {', '.join(silent)}.")
    if one["returned_list"]:
        said.append("backward returned a list, which torch takes for one value.")
    if count is not None and count < total:
        said.append(f"backward returned {count} for {total} arguments.")
    return said


def argument_rows(one: Sent, columns: int) -> list[list[Cell]]:
    """The arguments of forward, what backward returned for them, and what torch delivered."""
    rows = [
        [
            each["name"],
            _value(each["thing"]),
            "yes" if each["tracked"] else "no",
            _value(each["returned"]),
            _delivered(each),
        ]
        for each in one["arguments"]
    ]
    return [row[:columns] for row in rows]


def _delivered(one: Sent) -> Cell:
    if one["delivered"] is not None:
        return _value(one["delivered"])
    expected = one["tracked"] and one["thing"]["shape"] is not None
    none = one["returned"] is not None and one["returned"]["kind"] == "None"
    return "nothing: None counts as zeros" if expected and none else _NOTHING


def output_rows(one: Sent, columns: int) -> list[list[Cell]]:
    """The outputs of forward, and the gradients that arrived for them."""
    rows = [
        [each["name"], _value(each["thing"]), _value(each["arrived"]), _strides(each["arrived"])]
        for each in one["outputs"]
    ]
    return [row[:columns] for row in rows]


def saved_rows(one: Sent) -> list[list[Cell]]:
    """The saved tensors: what they are, whose memory they take, and whether backward uses them."""
    return [_saved_row(each) for each in one["saved"]]


def _saved_row(each: Sent) -> list[Cell]:
    thing, shares = each["thing"], each["shares"]
    if thing is None:
        return ["None", _NOTHING, "0", _NOTHING, _NOTHING]
    name = each["name"] or (f"a view of {shares}" if shares else "a tensor of its own")
    memory = f"shared with {shares}, costs nothing" if shares else "of its own"
    used = {None: _NOTHING, True: "yes", False: "never"}[each["used"]]
    return [name, _value(thing), str(thing["size"]), memory, used]


def attribute_rows(one: Sent) -> list[list[Cell]]:
    """What forward put on ctx."""
    return [
        [each["name"], each["thing"]["kind"], _value(each["thing"]), each["role"] or _NOTHING]
        for each in one["attributes"]
    ]


def _strides(thing: Sent | None) -> Cell:
    return f"[{', '.join(map(str, thing['strides']))}]" if thing and thing["strides"] else _NOTHING


def _value(thing: Sent | None) -> Cell:
    """A value in short: its first elements, its shape and dtype."""
    if thing is None:
        return _NOTHING
    text = Markup("<code>{}</code>").format(thing["text"])
    if thing["shape"] is None:
        return text
    shape = str(thing["shape"]) if any(size != 1 for size in thing["shape"]) else ""
    return text + Markup(" <i>{}</i>").format(escape(f"{shape} {thing['dtype']}".strip()))
