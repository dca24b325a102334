"""A visitor's file is loaded in a process of its own, under the names it has for her, or it is said why not."""

import os
import time
from pathlib import Path
from textwrap import indent

import pytest
from support.own_worker import SQUARE, Worker, worker, written
from support.servers import HERE
from support.written_functions import class_source

from gradloupe.server.url.representations import REPRESENTATIONS

SWISH = SQUARE.replace("Square", "Swish")
UNFINISHED = SQUARE.replace("Square", "Unfinished").partition("\n    @staticmethod\n    def backward")[0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which we are."""
    folder = tmp_path.resolve() / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def found(*targets: str) -> list[str]:
    """The names of the Functions in these targets."""
    with worker(*targets) as loaded:
        return loaded.names


def described(loaded: Worker, name: str, recipe: str = "") -> dict:
    told = loaded.describe(name, recipe)
    assert told["kind"] == "described", told
    return told["op"]


def test_every_function_of_a_file_is_found_in_the_order_of_the_file(here: Path) -> None:
    written(here, {"my_ops": SWISH + SQUARE.partition("\n")[2]})
    with worker("my_ops.py") as loaded:
        first, second = loaded.hello["catalogue"]
        assert loaded.hello["files"] == [str(here / "my_ops.py")]
    assert [first[word] for word in ("name", "title", "group", "file")] == ["Swish", "Swish", "my_ops.py", "my_ops.py"]
    assert (first["doc"], first["declared"], first["own"]) == ("The square of each element.", False, True)
    assert first["first_line"] == first["line"] == 4
    assert first["source"] == SWISH.partition("\n\n\n")[2]
    assert second["name"] == "Square"


def test_a_function_nested_as_a_static_method_is_found(here: Path) -> None:
    square = indent(SQUARE.partition("\n\n\n")[2], "    ")
    written(here, {"my_ops": f"import torch\n\n\nclass Outer:\n    @staticmethod\n{square}"})
    with worker("my_ops.py") as loaded:
        (stub,) = loaded.hello["catalogue"]
        op = described(loaded, stub["name"])
    assert (stub["title"], op["recipe"]) == ("Outer.Square", "x: float64[7]")


def test_an_imported_function_is_called_as_the_file_that_imports_it_says(here: Path) -> None:
    examples = 'example_inputs = {"Square": (torch.ones(2, 3, dtype=torch.float64),)}'
    written(here, {"theirs": SQUARE, "mine": f"import torch\nfrom theirs import Square\n\n{examples}\n"})
    with worker("mine.py") as loaded:
        assert described(loaded, "Square")["recipe"] == "x: float64[2,3]"


def test_an_op_is_described_when_somebody_asks(here: Path) -> None:
    written(here, {"my_ops": SQUARE})
    with worker("my_ops.py") as loaded:
        op, again = described(loaded, "Square"), described(loaded, "Square", "x: float64[2,3]")
        assert "from my_ops import Square" in loaded.test("Square")
    assert (op["recipe"], op["usual_recipe"]) == ("x: float64[7]", "x: float64[7]")
    assert [name for name, _ in op["assumed"]] == ["x"]
    assert "op_square = Op(" in op["block"]
    assert (op["own"], op["declared"], op["group"], op["dtype"]) == (True, False, "my_ops.py", "float64")
    assert again["recipe"] == "x: float64[2,3]"
    assert again["digest"] == op["digest"] == loaded.hello["catalogue"][0]["digest"]


DEEDS = {
    "Misspelt": "return x.clmp(0)",
    "Nameless": "return nosuch",
    "Refusing": "raise ValueError('not today')",
    "Exiting": "sys.exit(3)",
    "Importing": "import nosuch",
    "Evaluating": "return eval('1 +')",
}


def test_what_no_argument_cures_is_told_with_its_line_and_the_next_question_is_answered(here: Path) -> None:
    raising = "\n\n".join(class_source(f"def forward(ctx, x):\n    {deed}", name) for name, deed in DEEDS.items())
    text = "import sys\n" + UNFINISHED + "\n\n" + raising + SWISH.partition("\n")[2]
    written(here, {"my_ops": text})
    lines = text.splitlines()
    with worker("my_ops.py") as loaded:
        for name, deed in DEEDS.items():
            line = lines.index(f"        {deed}") + 1
            for recipe in ("", "x: float64[3]"):
                told = loaded.describe(name, recipe)["op"]
                assert told["name"] == name
                assert (told["trouble"]["file"], told["trouble"]["line"]) == ("my_ops.py", line)
                assert [line, f"        {deed}"] in told["trouble"]["excerpt"]
                assert f"line {line}, in forward" in told["trouble"]["traceback"]
        assert "no backward" in loaded.describe("Unfinished")["op"]["sentence"]
        assert "not a dtype of a recipe" in loaded.describe("Swish", "x: float[7]")["refusals"][0][1]
        assert described(loaded, "Swish")["recipe"] == "x: float64[7]"


@pytest.mark.parametrize(
    ("right", "odd"),
    [
        ("    @staticmethod\n    def forward", "    def forward"),
        ("return 2 * x * grad_output", "return 2 * x * grad_output, grad_output"),
    ],
    ids=["a forward that is not static", "a gradient too many"],
)
def test_what_torch_calls_all_the_same_is_described(here: Path, right: str, odd: str) -> None:
    written(here, {"my_ops": SQUARE.replace(right, odd)})
    with worker("my_ops.py") as loaded:
        assert described(loaded, "Square")["recipe"] == "x: float64[7]"


def test_an_attribute_picks_a_class_a_nested_class_a_function_or_what_is_called(here: Path) -> None:
    nested = "\n\nclass Outer:\n" + "".join(f"    {line}\n" for line in SWISH.partition("\n\n\n")[2].splitlines())
    more = "\n\nsquare = Square.apply\n\n\ndef twice(x):\n    return Square.apply(x) * 2\n"
    written(here, {"my_ops": SQUARE + nested + more})
    assert found("my_ops.py") == ["Square", "Outer.Swish"]
    for attribute, name in [("Square", "Square"), ("Outer.Swish", "Outer.Swish"), ("Outer", "Outer.Swish")]:
        assert found(f"my_ops.py:{attribute}") == [name]
    assert found("my_ops.py:square") == ["Square"]
    assert found("my_ops:twice") == ["twice"]
    with worker("my_ops.py:twice") as loaded:
        assert described(loaded, "twice")["recipe"] == "x: float64[7]"


BASES = """

class Base(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1


class Concrete(Base):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


Alias = Square


def make():
    class Made(Base):
        @staticmethod
        def backward(ctx, grad_output):
            return grad_output

    return Made


Bound = make()
"""


def test_a_base_without_backward_is_left_out_and_what_was_made_goes_by_its_name(here: Path) -> None:
    written(here, {"my_ops": SQUARE + BASES, "alone": UNFINISHED, "importing": "from my_ops import Square, make\n"})
    with worker("my_ops.py") as loaded:
        assert loaded.names == ["Square", "Concrete", "Bound"]
        made = loaded.hello["catalogue"][2]
        assert made["source"].startswith("    class Made(Base):")
        assert described(loaded, "Bound")["recipe"] == "x: float64[7]"
    assert found("alone.py") == ["Unfinished"]


HALF = SQUARE.partition("        (x,)")[0] + "        raise NotImplementedError\n"


def test_a_base_that_only_raises_is_left_out_and_alone_it_is_said_what_to_name(here: Path) -> None:
    derived = "\n\nclass Whole(Square):\n    @staticmethod\n    def backward(ctx, g):\n        return g\n"
    written(here, {"both": HALF + derived, "base": HALF, "more": "from base import Square" + derived})
    assert found("both.py") == ["Whole"]
    assert found("base.py", "more.py") == ["Whole"]
    assert found("base.py:Square") == ["Square"]
    with worker("base.py") as loaded:
        assert "name a subclass" in loaded.trouble["sentence"]


def test_a_class_that_is_named_is_taken_as_its_file_declares_it(here: Path) -> None:
    declared = "\nfrom gradloupe.ops import Input, Op\n\nop = Op(Square, 'A square', '', '', '', (Input('x'),))\n"
    written(here, {"ste": SQUARE + declared})
    for target in ("ste.py", "ste.py:Square", "ste:Square"):
        with worker(target) as loaded:
            assert [(op["title"], op["declared"]) for op in loaded.hello["catalogue"]] == [("A square", True)]
            assert described(loaded, "Square")["declared"]
            assert "from ste import op" in loaded.test("Square")


def test_what_worked_before_a_save_is_tried_again(here: Path) -> None:
    written(
        here,
        {"my_ops": "import torch\n" + class_source("def forward(ctx, x):\n    return x.scaled(2) + x.size", "Odd")},
    )
    with worker("my_ops.py") as loaded:
        told = loaded.describe("Odd", before="x: float64[7]")["op"]
    assert "as before the save" in told["sentence"]
    assert told["trouble"]["line"] == 5


def test_what_is_imported_from_elsewhere_is_taken_only_where_nothing_is_defined(here: Path) -> None:
    written(here, {"helper": SQUARE, "importing": "from helper import Square\n"})
    written(here, {"both": "from helper import Square\n" + SWISH})
    assert found("importing.py") == ["Square"]
    assert found("both.py") == ["Swish"]


DECLARED = """
from gradloupe.ops import Input, Op

op = Op(
    function=Square,
    title="The square",
    group="Mine",
    forward="x^2",
    backward="2x",
    inputs=(Input("x", domain=(0.0, 2.0)),),
)
"""


def test_a_declared_op_stands_in_the_place_of_its_function(here: Path) -> None:
    written(here, {"my_ops": SQUARE + DECLARED})
    with worker("my_ops.py") as loaded:
        (stub,) = loaded.hello["catalogue"]
        op, other = described(loaded, "Square"), described(loaded, "Square", "x: float64[3]")
        assert "from my_ops import op" in loaded.test("Square")
    assert (stub["name"], stub["title"], stub["declared"], stub["group"]) == ("Square", "The square", True, "my_ops.py")
    assert (op["forward"], op["inputs"][0]["domain"], op["declared"]) == ("x^2", [0.0, 2.0], True)
    assert op["source"] == stub["source"] == SQUARE.partition("\n\n\n")[2]
    assert (op["recipe"], other["recipe"]) == ("", "x: float64[3]")


@pytest.mark.parametrize("started", [".", "ours", "elsewhere"])
def test_a_repository_with_packages_named_like_ours_gets_its_own(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    ours = ("ops", "server", "static", "tests", "templates")
    written(here, {f"{name}/__init__": f"NAME = 'their {name}'\n" for name in ours})
    imports = "".join(f"from {name} import NAME as {name}\n" for name in ours)
    shown = "told = ' '.join([" + ", ".join(ours) + "])\n"
    doc = "\nSquare.__doc__ = told\n"
    written(here, {"ops/mine": imports + shown + SQUARE + doc, "scripts/lone": imports + shown + SQUARE + doc})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir({".": here, "ours": HERE, "elsewhere": elsewhere}[started])
    for target in (here / "ops" / "mine.py", here / "scripts" / "lone.py"):
        with worker(str(target)) as loaded:
            (stub,) = loaded.hello["catalogue"]
            assert stub["doc"] == " ".join(f"their {name}" for name in ours)
            assert described(loaded, "Square")["recipe"] == "x: float64[7]"


def test_a_module_of_a_package_imports_its_neighbours(here: Path) -> None:
    written(here, {"pack/__init__": "", "pack/deep/__init__": "", "pack/helper": "K = 2\n"})
    written(here, {"pack/deep/kernels": "from ..helper import K\nfrom pack import helper\n" + SQUARE})
    written(here, {"pack/whole": "from .deep.kernels import Square\n"})
    for target in ("pack/deep/kernels.py", "pack.deep.kernels", "pack/whole.py", "pack.deep.kernels:Square"):
        assert found(target) == ["Square"]
    with worker("pack/deep/kernels.py") as loaded:
        assert "from pack.deep.kernels import Square" in loaded.test("Square")


@pytest.mark.parametrize("folder", ["with-hyphen", "json"])
def test_a_lone_file_with_relative_imports_is_a_module_of_its_folder(here: Path, folder: str) -> None:
    written(here, {f"{folder}/kernels": "from .helper import K\n" + SQUARE, f"{folder}/helper": "K = 2\n"})
    written(here, {f"{folder}/in/deeper": "from ..helper import K\n" + SWISH})
    assert found(f"{folder}/kernels.py", f"{folder}/in/deeper.py") == ["Square", "Swish"]


@pytest.mark.parametrize("folder", ["numpy", "two words"])
def test_a_package_may_have_a_name_that_is_taken(here: Path, folder: str) -> None:
    written(here, {f"{folder}/__init__": "from .kernels import Square\n", f"{folder}/helper": "K = 2\n"})
    written(here, {f"{folder}/kernels": "from .helper import K\n" + SQUARE, f"{folder}/more": SWISH})
    assert found(f"{folder}/kernels.py", f"{folder}/more.py") == ["Square", "Swish"]
    assert found(f"{folder}/__init__.py") == ["Square"]


def test_a_file_may_have_any_name(here: Path) -> None:
    files = [f"{name}.py" for name in ("random", "ops", "test", "numpy", "my-ops v2.1", "größe", "class", "json")]
    for file in files:
        (here / file).write_text(SQUARE, encoding="utf-8")
    with worker(*files) as loaded:
        assert [op["group"] for op in loaded.hello["catalogue"]] == files
        assert [described(loaded, name)["recipe"] for name in loaded.names] == ["x: float64[7]"] * len(files)


def test_names_in_addresses_are_ascii_and_nobody_elses(here: Path) -> None:
    written(here, {"first": SQUARE + SQUARE.replace("Square", "Größe").partition("\n")[2]})
    written(here, {"second": SQUARE + SQUARE.replace("Square", "exp").partition("\n")[2]})
    written(here, {"third": SQUARE.replace("Square", "Ядро")})
    with worker("first.py", "second.py", "second.py:Square", "third.py") as loaded:
        assert loaded.names == ["Square", "Grou00dfe", "second.Square", "second.exp", "u042fu0434u0440u043e"]
        assert loaded.hello["catalogue"][1]["title"] == "Größe"


def test_no_name_of_a_nested_function_is_the_address_of_a_representation_of_another(here: Path) -> None:
    nested = dict.fromkeys(part for ending in (*REPRESENTATIONS, "embed") for part in ending.split("."))
    inner = "\n\n".join(indent(SQUARE.partition("\n")[2].replace("Square", each), "    ") for each in nested)
    written(here, {"my_ops": f"import torch\n\n\nclass Normal:\n{inner}"})
    names = found("my_ops.py")
    assert len(names) == len(nested)
    assert "Normal.embed" in names
    taken = {f"Normal.{ending}" for ending in REPRESENTATIONS}
    assert taken.isdisjoint(f"{name}{end}" for name in names for end in ("", *(f".{each}" for each in REPRESENTATIONS)))


def test_an_installed_module_is_loaded_with_what_it_exports() -> None:
    with worker("gradloupe.ops.exp", "gradloupe.ops.cube:Cube") as loaded:
        assert [op["group"] for op in loaded.hello["catalogue"]] == ["gradloupe.ops.exp", "gradloupe.ops.cube"]
        assert loaded.names == ["Exp", "Cube"]


def test_a_package_shows_what_it_exports_and_what_it_has_imported(here: Path) -> None:
    written(here, {"pack/__init__": "from .kernels import Square\nfrom . import more\n", "pack/kernels": SQUARE})
    written(here, {"pack/more": SWISH + SQUARE.partition("\n")[2], "pack/unused": "raise SystemExit"})
    assert found("pack") == ["Square", "Swish", "more.Square"]
    assert found("pack/__init__.py") == ["Square", "Swish", "more.Square"]


def test_a_file_run_by_us_sees_itself_imported_and_its_path_in_argv(here: Path) -> None:
    check = f"import sys\nassert sys.argv == [{str(here / 'my_ops.py')!r}], sys.argv\nassert __name__ == 'my_ops'\n"
    guarded = "\n\nif __name__ == '__main__':\n    raise SystemExit\n"
    written(here, {"my_ops": check + SQUARE + guarded})
    assert found("my_ops.py") == ["Square"]


def test_a_file_saved_twice_in_one_second_is_not_taken_from_pythons_cache(here: Path) -> None:
    path = here / "my_ops.py"
    stamp = time.time_ns()
    digests = []
    for factor in (2, 3):
        path.write_text(SQUARE.replace("The square", f"{factor} times"))
        os.utime(path, ns=(stamp, stamp))
        with worker("my_ops.py") as loaded:
            assert loaded.hello["catalogue"][0]["doc"] == f"{factor} times of each element."
            digests.append(loaded.hello["catalogue"][0]["digest"])
    assert digests[0] != digests[1]
    assert [each.name for each in here.iterdir()] == ["my_ops.py"]


def test_the_digest_follows_every_file_that_was_read(here: Path) -> None:
    digests = []
    for k in (1, 2, 1):
        written(here, {"my_ops": "from helper import K\n" + SQUARE, "helper": f"K = {k}\n"})
        with worker("my_ops.py") as loaded:
            digests.append(loaded.hello["catalogue"][0]["digest"])
    assert digests[0] == digests[2] != digests[1]


def test_the_source_shown_is_the_one_that_was_loaded(here: Path) -> None:
    written(here, {"my_ops": SQUARE})
    with worker("my_ops.py") as loaded:
        (here / "my_ops.py").unlink()
        op = described(loaded, "Square")
    assert op["source"] == SQUARE.partition("\n\n\n")[2]


SETTINGS = """import resource, sys, torch
torch.set_grad_enabled(False)
torch.autograd.set_detect_anomaly(True)
torch.set_default_device("meta")
torch.set_num_threads(2)
torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
sys.setrecursionlimit(120)
resource.setrlimit(resource.RLIMIT_NOFILE, (4, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
sys.path.clear()
print("x" * 10_000_000)
"""


def test_what_a_file_sets_for_all_is_put_back_and_said(here: Path) -> None:
    written(here, {"my_ops": SETTINGS + SQUARE})
    with worker("my_ops.py") as loaded:
        words = ("gradients off", "anomalies on", "to meta", "to float64", "limit to 120", "4 open files", "sys.path")
        for note, said in zip(loaded.hello["notes"], words, strict=True):
            assert note.startswith("my_ops.py ")
            assert said in note
            assert " when it is imported; " in note
        assert described(loaded, "Square")["recipe"] == "x: float64[7]"


def test_the_default_dtype_of_a_file_holds_while_its_function_is_called(here: Path) -> None:
    strict = "return x * x * torch.tensor(0.5) if torch.tensor(0.5).dtype == torch.float64 else x.missing"
    text = SQUARE.replace("return x * x", strict).replace(
        "return 2 * x", "assert torch.ones(()).dtype == x.dtype; return x"
    )
    written(here, {"my_ops": text.replace("\n\n\n", "\n\ntorch.set_default_dtype(torch.float64)\n\n", 1)})
    with worker("my_ops.py") as loaded:
        assert described(loaded, "Square")["recipe"] == "x: float64[7]"
        assert described(loaded, "Square", "x: float64[2]")["recipe"] == "x: float64[2]"


def test_a_file_that_forks_greets_once(here: Path) -> None:
    written(here, {"my_ops": "import os\nos.fork()\n" + SQUARE})
    with worker("my_ops.py") as loaded:
        assert loaded.names == ["Square"]
        assert described(loaded, "Square")["recipe"] == "x: float64[7]"


def test_five_hundred_classes_are_listed_in_their_order_and_none_is_called(here: Path) -> None:
    body = SQUARE.partition("\n")[2]
    many = "".join(body.replace("Square", f"F{n}") for n in range(500))
    called = many.replace("        ctx.save", "        open('called', 'a').close()\n        ctx.save")
    assert called != many
    written(here, {"many": f"import torch\n{called}"})
    with worker("many.py") as loaded:
        assert loaded.names == [f"F{n}" for n in range(500)]
        assert not (here / "called").exists()
        assert described(loaded, "F499")["first_line"] == loaded.hello["catalogue"][499]["line"]
        assert (here / "called").exists()
