"""A census of random layers by `--check`: how often a right one is accused, by what it is computed in."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from functions.random_layers import HEAD, random_layer
from report import Report, Table, Target
from support.checked_files import checked_functions

LAYERS = 240
PASSED, LEFT_OPEN = {"matches"}, {"undecided"}
ARITHMETIC = {
    "x.dtype": "float64",
    "torch.float32": "float32",
    "torch.float16": "float16",
    "torch.bfloat16": "bfloat16",
}
BACKWARDS = {"": "right", "1.05 * ": "× 1.05", "-": "the other sign"}


def measure() -> Report:
    """The words for right and for wrong layers."""
    layers = [random_layer(number) for number in range(LAYERS)]
    with TemporaryDirectory() as folder:
        (Path(folder) / "layers.py").write_text(HEAD + "".join(each.text for each in layers))
        words = {each.checked.name: each.checked.word for each in checked_functions(Path(folder), "layers.py")}
    counted = {(inside, factor): Counter() for inside in ARITHMETIC for factor in BACKWARDS}
    for each in layers:
        counted[each.inside, each.factor][_outcome(words.get(each.name, "unsolved"))] += 1
    rows = [
        (ARITHMETIC[inside], BACKWARDS[factor], *map(str, _in_order(found)))
        for (inside, factor), found in counted.items()
    ]
    accused = sum(found["accused"] for (_, factor), found in counted.items() if not factor)
    right = sum(found.total() for (_, factor), found in counted.items() if not factor)
    heading = ("computed in", "backward", "matches", "undecided", "differs")
    return Report(
        [
            Table(
                "Random layers", heading, rows, "Softmax, norms, losses, gates and products of one to three dimensions."
            )
        ],
        [Target("no right layer accused", f"{accused} of {right}", not accused)],
    )


def _outcome(word: str) -> str:
    return "passed" if word in PASSED else "open" if word in LEFT_OPEN else "accused"


def _in_order(found: Counter) -> list[int]:
    return [found["passed"], found["open"], found["accused"]]
