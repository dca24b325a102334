"""The call that a page shows, and a section as a test for pytest: it asks the question of its page again, with
``gradloupe.check``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill

from ..schema.op import OpDescription
from ..url.address import Address, curves_only, default_query_values, query_values, without_display_options

# Everything up to a semicolon or newline outside of string literals.
RECIPE_PIECES = re.compile(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^;\n])+""")
_VALUE = re.compile(r"(\w+)\s*=(?!=)")
_MOST_RENAMED = 3  # underscores behind an argument's name that an address has for something else


@dataclass(frozen=True)
class ShownArgument:
    """One argument of the call: its ``text`` now, and as ``recipe`` has it; ``parameter`` and ``kind`` if it is one."""

    text: str
    recipe: str
    name: str = ""
    parameter: str = ""
    kind: str = ""


def shown_call(op: OpDescription, values: Mapping[str, str], usual: Mapping[str, str]) -> list[ShownArgument]:
    """The arguments of the recipe; ``values`` and ``usual`` are those of the parameters, as in a query."""
    return list(_arguments(op, values, usual))


def _arguments(op: OpDescription, values: Mapping[str, str], usual: Mapping[str, str]) -> Iterator[ShownArgument]:
    free = {each["name"]: each["kind"] for each in op["parameters"]}
    for piece in map(str.strip, RECIPE_PIECES.findall(op["recipe"])):
        found = _VALUE.match(piece)
        names = [found[1] + "_" * more for more in range(1 + _MOST_RENAMED)] if found else []
        own = next((each for each in names if each in free), "")
        if not found or not own:
            yield ShownArgument(piece, piece)
            continue
        kind, same = free.pop(own), values[own] == usual[own]
        text = piece if same else f"{found[1]} = {_literal(kind, values[own])}"
        yield ShownArgument(text, piece, found[1], own, kind)


def _literal(kind: str, text: str) -> str:
    """A value of a query as a recipe writes it; as ``literal`` in ``static/js/own/shown_call.js``."""
    if kind == "float":
        return text if re.search(r"[.e]", text) else f"{text}.0"
    return {"switch": text.capitalize(), "choice": repr(text)}.get(kind, text)


_SENTENCES = {
    "exact": "The backward of {} is the derivative of its forward.",
    "surrogate": "The backward of {} is the derivative of its declared surrogate.",
    "broken": "{} is a bug, kept as a specimen, and Gradloupe finds it.",
}
_WITHOUT = {
    "exact": "Gradloupe asks the question of its page again. Without it, torch.autograd.gradcheck asks at a single "
    "point: give it tensors in float64 that require grad.",
    "surrogate": "Gradloupe asks the question of its page again. torch.autograd.gradcheck knows no surrogate: it "
    "compares with forward.",
}
_NAMES = {
    "exact": "backward_is_the_derivative_of_forward",
    "surrogate": "backward_is_the_derivative_of_its_surrogate",
    "broken": "what_is_wrong_is_found",
}
MAX_COLUMNS = 88  # those of a formatter that nobody has told another number
_STRING_COLUMNS = MAX_COLUMNS - len('        "",')
_NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?")
_LEFT_OUT = ("device", "layout", "recipe")  # of an address; a device may be missing where the test runs


def pytest_source(op: OpDescription, address: Address) -> str:
    """The source of a complete pytest file for a described op: it imports the Function, and checks it as on its page.

    The call is written as a recipe, unless the user's file says it. Where the address asks for another section than the
    default one, no other is swept. The test is green where ``--check`` is; that of a specimen, where it is found wrong.
    """
    apart = not op["import_line"].startswith("from gradloupe.")
    imports = ["import gradloupe", *[""] * apart, op["import_line"]]
    return "\n".join((f'"""{_docstring(op)}"""', "", *imports, "", "", *_test(op, address), ""))


def pytest_ending(op: OpDescription, address: Address) -> str:
    """What makes such a file of the text that defines the Function, where it stands at the end."""
    return "\n".join(("import gradloupe", "", "", *_test(op, address), ""))


def _test(op: OpDescription, address: Address) -> list[str]:
    return [f"def test_{_NAMES[op['claim']]}():", f"    found = {_check_call(op, address)}", *_assertion(op)]


def _docstring(op: OpDescription) -> str:
    """What the test asserts, and what there is without Gradloupe."""
    title = (op["title"] or op["name"]).replace("\\", "\\\\").replace('"', "'")
    sentence = fill(_SENTENCES[op["claim"]].format(title), MAX_COLUMNS - len('"""'))
    without = fill(_WITHOUT.get(op["claim"], ""), MAX_COLUMNS)
    return f"{sentence}\n\n{without}\n" if without else sentence


def _check_call(op: OpDescription, address: Address) -> str:
    """The call of ``check``, on one line or several."""
    section = without_display_options(curves_only(address))
    values, usual = query_values(section), default_query_values(op, section.question.wrt)
    changed = {name: text for name, text in values.items() if text != usual[name]}
    arguments = [op["bound"]]
    if op["recipe"] and not op["written"]:
        parameters = {each["name"] for each in op["parameters"]}
        changed = {name: text for name, text in changed.items() if name not in parameters}
        arguments.append(_recipe_source("; ".join(each.text for each in shown_call(op, values, usual)), op["like"]))
    return call_source("gradloupe.check", [*arguments, *_keywords(op, changed, section)], 4, len("found = "))


def _recipe_source(recipe: str, like: bool) -> str:
    """The source of a recipe; one that is too long for a line is cut between its arguments."""
    strings = [""]
    for argument in re.split(r"(?<=; )", "like " * like + recipe):
        if strings[-1] and len(strings[-1] + argument) > _STRING_COLUMNS:
            strings.append("")
        strings[-1] += argument
    return "\n        ".join(map(string_source, strings))


def _keywords(op: OpDescription, changed: Mapping[str, str], section: Address) -> Iterator[str]:
    """What the section asks for beside the call, as keyword arguments. An input x is held at a text."""
    words = {each["name"] for each in op["parameters"] if each["kind"] == "choice"} | {"wrt", "of", "dtype", "x"}
    interval = {"start", "stop"} & changed.keys() if "x" not in changed else set()
    if interval:
        values = query_values(section)
        yield f"x=({values['start']}, {values['stop']})"
    for name, text in changed.items():
        if name not in (*_LEFT_OUT, *interval):
            yield f"{name}={string_source(text) if name in words else _value(text)}"


def _value(text: str) -> str:
    """The source of a number, of several between commas, or of a switch; anything else as a string."""
    pieces = text.split(",")
    if all(map(_NUMBER.fullmatch, pieces)):
        return text if len(pieces) == 1 else f"[{', '.join(pieces)}]"
    return text.capitalize() if text in ("true", "false") else string_source(text)


def _assertion(op: OpDescription) -> list[str]:
    if op["check"]:
        return [
            '    seen = [each.id for each in found.findings if each.level != "fine"]',
            f"    assert {string_source(op['check'])} in seen, found",
        ]
    right = "any(each.fault for each in found.sweeps)" if op["claim"] == "broken" else "found.ok"
    return [f"    assert {right}, found"]


def string_source(text: str) -> str:
    """The source of a string, in double quotes where it contains none."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def call_source(name: str, arguments: Sequence[str], indent: int, more: int = 1) -> str:
    """The source of a call behind ``indent`` columns: on one line if that leaves room for ``more``, else on several."""
    line = f"{name}({', '.join(arguments)})"
    if indent + len(line) + more <= MAX_COLUMNS and "\n" not in line:
        return line
    space = " " * indent
    return f"{name}(\n" + "".join(f"{space}    {each},\n" for each in arguments) + f"{space})"
