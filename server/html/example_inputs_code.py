"""A recipe as an ``example_inputs`` to paste into the visitor's file, made from the text of the recipe alone."""

import re

from ..documents.pytest_file import RECIPE_PIECES

_TENSOR = re.compile(r"(\w+)\s*:\s*(\w+)\s*\[([\d\s,]*)\]\s*(.*)", re.DOTALL)
_VALUE = re.compile(r"(\w+)\s*=(?!=)\s*(.+)", re.DOTALL)
_LONGEST = 88  # characters of a line
_READ = 2000  # characters of a recipe
_OPEN = "..."
_USUAL = "x: float64[7]"  # for an empty recipe
_WORDS = {"identity": "lambda x: x", "inf": 'float("inf")', "-inf": 'float("-inf")', "nan": 'float("nan")'}


def example_inputs_code(name: str, recipe: str, culprit: str = "") -> str:
    """Source code that gives the class ``name`` the arguments of ``recipe``, with ``...`` for what is to be filled in.

    That is the argument ``culprit``, which could not be inferred, and what cannot be parsed in the recipe.
    """
    pieces = [piece.strip() for piece in RECIPE_PIECES.findall((recipe or _USUAL)[:_READ]) if piece.strip()]
    arguments = [_expression(piece, culprit) for piece in pieces]
    short = f'example_inputs = {{"{name}": ({", ".join(arguments)}{"," * (len(arguments) == 1)})}}'
    if len(short) <= _LONGEST:
        return short
    lines = "".join(f"        {each},\n" for each in arguments)
    return f'example_inputs = {{\n    "{name}": (\n{lines}    ),\n}}'


def _expression(piece: str, culprit: str) -> str:
    tensor, value = _TENSOR.fullmatch(piece), _VALUE.fullmatch(piece)
    named = tensor or value
    if named is None or named[1] == culprit:
        return _OPEN
    if tensor:
        return _tensor(tensor[2], ", ".join(re.findall(r"\d+", tensor[3])) or "()", tensor[4])
    return _WORDS.get(named[2], named[2])


def _tensor(dtype: str, shape: str, words: str) -> str:
    """An expression that creates a tensor; ``shape`` is numbers with commas, or ``()``."""
    if dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    if "int" in dtype:
        size = shape.rpartition(", ")[2]
        if "shuffled" in words and shape != "()":
            return f"torch.arange({size}, dtype=torch.{dtype}).roll(-1).expand({shape})"
        if "inverse" in words and shape != "()":
            return f"torch.arange({size}, dtype=torch.{dtype}).roll(1).expand({shape})"
        below = re.search(r"<\s*(\d+)", words)
        within = shape if shape == "()" else f"({shape},)"
        return f"torch.randint({below[1] if below else 2}, {within}, dtype=torch.{dtype})"
    if "simplex" in words and shape != "()":
        return f"torch.randn({shape}, dtype=torch.{dtype}).softmax(-1)"
    if "spd" in words:
        return f"torch.eye({shape.rpartition(', ')[2]}, dtype=torch.{dtype}).expand({shape})"
    if "stable" in words:
        return f"torch.eye({shape.rpartition(', ')[2]}, dtype=torch.{dtype}).expand({shape}) * -0.4"
    if "binary" in words:
        return f"(torch.randn({shape}, dtype=torch.{dtype}) > 0).to(torch.{dtype})"
    if "signs" in words:
        return f"torch.randn({shape}, dtype=torch.{dtype}).sign()"
    if "positive" in words:
        return f"torch.rand({shape}, dtype=torch.{dtype}) + 0.5"
    if "negative" in words:
        return f"-torch.rand({shape}, dtype=torch.{dtype}) - 0.5"
    if "tiny" in words:
        return f"torch.full({shape if shape == '()' else f'({shape},)'}, 1e-12, dtype=torch.{dtype})"
    if "rising" in words and shape != "()":
        return f"torch.linspace(-1, 1, {shape.rpartition(', ')[2]}, dtype=torch.{dtype}).expand({shape})"
    return f"torch.randn({shape}, dtype=torch.{dtype})"
