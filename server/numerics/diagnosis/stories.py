"""The stories of what backward does, as a table of templates: every sentence that a hypothesis may end in."""

from __future__ import annotations

from typing import NamedTuple

from ..sentences.names import Names, capital


class Story(NamedTuple):
    """Why backward differs: the ``kind`` of story in a word or two, and the story in a sentence or two."""

    kind: str
    sentence: str


_ADDED = "{backward} returns {grad_output} times (the slope of {owner} {term}) {where}: it adds a term{decay}."
# By its kind, and after a slash which of several of that kind. ``backward``, ``grad_output``, ``wrt`` and ``forward``
# are what the sentence calls those; ``owner`` is the function whose slope is called for, ``where`` a place.
_STORIES = {
    "not finite": "{backward} returns {what} {where}, where {owner} is finite{rest}.",
    "blocked": "{backward} returns {what} {where}, although {owner} moves: no gradient gets through.",
    "reversed": "{backward} returns the slope of {owner} with its sign reversed {where}.",
    "constant factor": "{backward} returns {factor} times the slope of {owner} {where}{because}.",
    "extra factor": "{backward} returns {factor} times the slope of {owner} {where}.",
    "missing factor": "Times {factor}, what {backward} returns is the slope of {owner} {where}{missing}.",
    "missing factor/of a constant": "{backward} {does} {where}{missing}.",
    "learned step": "{backward} returns {factor}({of} − {held}) / {wrt} {where}: the gradient of a step size, where "
    "what is rounded passes through.",
    "straight-through": "{backward} {does} {where}, whatever the slope of {owner}.",
    "straight-through/of steps": "{flat}, yet {backward} {does} {where}: a straight-through estimator.",
    "window": "{flat}, yet {backward} {does} {where} and {otherwise} elsewhere: a window{levels}.",
    "unfounded/straight-through": "{flat}, yet {backward} {does} {where}.",
    "unfounded/window": "{flat}, yet {backward} {does} {where} and {otherwise} elsewhere.",
    "bump": "{flat}, yet {backward} returns {grad_output} times a bump: {peak} high at {wrt} = {at}{width}{lobes}, "
    "with area {area} in this range{rises}.",
    "mask missing": "{right}, but where it is flat, {where}, {backward} {does}: {why}.{saves}",
    "mask missing/saves": " {forward} saves {saved}, and {backward} never uses {them}.",
    "leaky mask": "{right}, but where it is flat, {where}, {backward} {does}{why}.",
    "mask misplaced": "{right}, but {does} also {where}, where {owner} is flat{why}.",
    "mask reversed": "Where {owner} moves, {where}, {backward} {does}, and where it {is_flat}, it {otherwise}{why}.",
    "only in part": "{backward} {agrees} only {where}: {otherwise}.",
    "only in part/at points": "{backward} {answers}, and {agrees} everywhere else.",
    "only in part/between": "{backward} is right at every point that was judged, and wrong between them {where}.",
    "swapped": "What {backward} returns for {wrt} is the derivative of {forward} with respect to {other}, and the "
    "other way round: the two gradients are swapped.",
    "of another input": "What {backward} returns for {wrt} is the derivative of {forward} with respect to {other}.",
    "conjugated": "For {name} {backward} returns {times}the complex conjugate of {slope} {where}: torch’s convention "
    "is ∂L/∂Re z + i ∂L/∂Im z, for a holomorphic f conj(f′) · {grad_output}.",
    "added constant": _ADDED,
    "added multiple of x": _ADDED,
    "added multiple of y": _ADDED,
    "low precision": "{backward} is right except for rounding{why}. It is off by up to {off} of the largest slope.",
    "unexplained": "{none}.",
    "unexplained/flat": "{none}. {owner} is flat; {backward} returns {factor} times {grad_output}.",
    "unexplained/share": "{none}. Where the two differ{where} {times}.",
    "no explanation": "No simple explanation was found: what {backward} returns is no multiple of the slope, no mask "
    "and no window",
    "another function": "What {backward} returns is the slope of another function, the surrogate that is declared",
    "grad_output forgotten": "{backward} forgets {grad_output}: it returns {what}the same for {grad_output} {given}.",
    "added term": "Even for {grad_output} 0 {backward} returns {term}: it adds a term that does not come from the "
    "loss{decay}{rest}.",
    "power of grad_output": "What {backward} returns grows with {grad_output} to the power {power}.",
    "normalises": "{backward} normalises {grad_output}: only its sign counts, and for any size of it {backward} "
    "returns the same.",
    "clips": "{backward} clips {what} at ±{bound}: for a larger {grad_output} it returns no more.",
    "sign of grad_output/lost": "{backward} loses the sign of {grad_output}: for {one} it returns the same as for "
    "{other}.",
    "sign of grad_output": "What {backward} returns depends on the sign of {grad_output}: {how}. So this is not the "
    "gradient of any one function.",
    "not in proportion": "What {backward} returns is not in proportion to {grad_output}: at {wrt} = {x} it returns "
    "{plain} for {one}, {larger} for {large} and {smaller} for {small}.",
}


def tell(story: str, names: Names, **parts: str) -> Story:
    """The kind of a story of the table, and the story with its ``parts`` filled in."""
    return Story(story.partition("/")[0], capital(names.say(_STORIES[story], **parts)))
