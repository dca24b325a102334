"""The dependence of outputs on inputs, and the gradients that are dropped or unfounded, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ..sentences.places import join_words
from .dependence import Dependence, LossLinks

# Pairs of tensors that are named.
_FEW = 3
_NONE = (
    "For an output that the loss does not use, a Function that calls set_materialize_grads(False) is handed None:"
    " backward has to test for it."
)


def dependence_sentence(influence: Dependence, loss: LossLinks) -> str:
    """One loss in words: the inputs a gradient arrives at, those dropped or unfounded, and what backward raised."""
    return " ".join(_told(influence, loss))


def other_tensors_sentence(influence: Dependence, of: str, wrt: str) -> str:
    """What is wrong with other pairs of tensors than the one shown, empty where nothing is."""
    wrong = []
    for loss in influence.losses:
        if len(loss.outputs) > 1 or influence.surrogate:
            continue
        output = loss.outputs[0]
        if loss.failure and output != of:
            wrong.append(f"with a loss on {output} backward raises")
        for name, link, right in zip(influence.inputs, loss.links[0], loss.right, strict=False):
            if (output, name) != (of, wrt) and (link == "dropped" or right is False):
                wrong.append(f"{output} by {name} is {'dropped' if link == 'dropped' else 'wrong'}")
    if not wrong:
        return ""
    some = [*wrong[:_FEW], f"{len(wrong) - _FEW} more"] if len(wrong) > _FEW else wrong
    return f"Not right for other tensors: {join_words(some)}; see below which input reaches which output."


def loss_name(influence: Dependence, loss: LossLinks) -> str:
    """The name of a loss: the output it looks at, or how many."""
    if len(loss.outputs) == 1:
        return loss.outputs[0]
    return "both" if len(loss.outputs) == 2 else "all"


def _told(influence: Dependence, loss: LossLinks) -> Iterator[str]:
    alone = " alone" if len(influence.outputs) > 1 and len(loss.outputs) == 1 else ""
    begins = f"With the loss on {join_words(loss.outputs) if len(loss.outputs) < 3 else 'all outputs'}{alone}"
    if loss.failure:
        yield f"{begins}, backward raised {loss.failure.rstrip('.')}."
        if "NoneType" in loss.failure:
            yield _NONE
        return
    silent = [name for name in loss.outputs if not influence.carries[influence.outputs.index(name)]]
    if len(silent) == len(loss.outputs):
        yield f"{begins}, backward is not called: {_silent(silent)}."
        return
    arrives, unfounded = (_inputs(influence, loss, link) for link in ("arrives", "unfounded"))
    yield f"{begins}, a gradient arrives at {join_words(arrives)}." if arrives else f"{begins}, {_no(influence, loss)}."
    if silent:
        yield f"{_silent(silent)}."
    yield from _dropped(influence, loss)
    if unfounded:
        yield f"A gradient arrives at {join_words(unfounded)}, with which the loss does not move here."
    yield from _without(influence, loss)
    yield from _amiss(influence, loss, arrives)


def _silent(names: list[str]) -> str:
    return f"{join_words(names)} {'carries' if len(names) == 1 else 'carry'} no gradient"


def _no(influence: Dependence, loss: LossLinks) -> str:
    moves = any(link in ("dropped", "unknown") for row in loss.links for link in row)
    return "no gradient arrives" if moves else "which no input moves here, no gradient is called for"


def _without(influence: Dependence, loss: LossLinks) -> Iterator[str]:
    """The inputs that no output of the loss depends on, and those for which that is unknown."""
    columns = list(zip(*loss.links, strict=True))
    still = [name for name, links in zip(influence.inputs, columns, strict=True) if set(links) == {"nothing"}]
    vague = [name for name, links in zip(influence.inputs, columns, strict=True) if "unknown" in links]
    if still and len(still) < len(columns):
        yield f"{join_words(still)} {'has' if len(still) == 1 else 'have'} no influence here, and no gradient."
    if vague:
        yield f"Whether it moves with {join_words(vague)} cannot be told here: forward bends, or has no slope."


def _amiss(influence: Dependence, loss: LossLinks, arrives: list[str]) -> Iterator[str]:
    dropped = _inputs(influence, loss, "dropped")
    wrong = [name for name, right in zip(influence.inputs, loss.right, strict=True) if right is False]
    amiss = [name for name in wrong if name in arrives and name not in dropped]
    if amiss and not influence.surrogate:
        yield f"What arrives at {join_words(amiss)} is not what differences of the loss say."
    if influence.surrogate and (wrong or dropped or _inputs(influence, loss, "unfounded")):
        yield "It is meant to be the gradient of its surrogate."


def _dropped(influence: Dependence, loss: LossLinks) -> Iterator[str]:
    for output, row in zip(loss.outputs, loss.links, strict=True):
        for what in ("None", "0"):
            names = [
                name
                for name, link, came in zip(influence.inputs, row, loss.returned, strict=True)
                if link == "dropped" and came == what
            ]
            if names:
                came = "None, which autograd takes for 0" if what == "None" else "0"
                yield f"{output} moves with {join_words(names)}, but what comes back is {came}: dropped."
        partly = [
            name
            for name, link, came in zip(influence.inputs, row, loss.returned, strict=True)
            if link == "dropped" and came == "gradient"
        ]
        if partly:
            yield f"The part of {join_words(partly)} that goes through {output} is dropped."


def _inputs(influence: Dependence, loss: LossLinks, link: str) -> list[str]:
    """The inputs that some output of the loss is linked to like this."""
    return [name for place, name in enumerate(influence.inputs) if any(row[place] == link for row in loss.links)]
