"""What sentences call things: what is swept, what answers, and forward, backward and grad_output of either order."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.arguments import PARTS
from ...runtime.section import Section

# budget: places, stretches and names that a sentence tells one by one; of more it tells the number, and a story that
# needs more is not told.
MOST_NAMED = 3


@dataclass(frozen=True)
class Names:
    """What the sentence calls things: the swept element, the output element, and the op's claim.

    Where backward itself is differentiated, what it returns stands for ``forward``, and double backward for
    ``backward``.
    """

    wrt: str
    of: str
    claim: str = "exact"
    parameter: bool = False
    """Whether what is swept is a parameter, not a tensor."""
    forward: str = "forward"
    backward: str = "backward"
    grad_output: str = "grad_output"

    @property
    def derivative(self) -> str:
        """What backward is to return: the derivative of forward, of one element of many, along a part."""
        if complex_part(self.of)[1] or complex_part(self.wrt)[1]:
            along = "along" if complex_part(self.wrt)[1] else "with respect to"
            return f"the derivative of {part_in_words(self.of)} {along} {part_in_words(self.wrt)}"
        if "[" in self.of + self.wrt:
            return f"the derivative of {self.of} with respect to {self.wrt}"
        return f"the derivative of {self.forward}"

    def say(self, template: str, **parts: str) -> str:
        """A template with these names and the ``parts`` filled in."""
        named = {name: getattr(self, name) for name in ("wrt", "of", "forward", "backward", "grad_output")}
        return template.format(**named, **parts)


def capital(sentence: str) -> str:
    """The sentence with a capital, unless it begins with a name."""
    words = sentence.startswith(("double ", "the ", "what "))
    return sentence[0].upper() + sentence[1:] if words else sentence


def section_names(section: Section) -> Names:
    """What the page calls the elements of a section, of either order."""
    wrt, of = element_name(section.wrt, section.wrt_index), element_name(section.of, section.of_index)
    if section.order == 2:
        return Names(wrt, of, forward=of, backward="double backward", grad_output="its own grad_output")
    return Names(wrt, of, section.op.claim, section.sweeps_parameter)


def element_name(name: str, index: tuple[int, ...]) -> str:
    """What an element of a tensor is called."""
    return name + (f"[{','.join(map(str, index))}]" if index else "")


def complex_part(element: str) -> tuple[str, str]:
    """The complex tensor of an element's name, and its part: ``("z", ".real")`` of ``z.real[0]``; no part if real."""
    name = element.partition("[")[0]
    return next(((name.removesuffix(part), part) for part in PARTS if name.endswith(part)), (name, ""))


def complex_inputs(section: Section) -> tuple[str, ...]:
    """The complex tensors that the op takes in two parts."""
    return tuple(dict.fromkeys(name for name, part in (complex_part(each.name) for each in section.op.inputs) if part))


def part_in_words(element: str) -> str:
    """An element's name as one says it: ``the real part of z[0]`` for ``z.real[0]``."""
    name, part = complex_part(element)
    where = name + element[len(name + part) :]
    return f"the {_PARTS_IN_WORDS[part]} part of {where}" if part else where


_PARTS_IN_WORDS = dict(zip(PARTS, ("real", "imaginary"), strict=True))
