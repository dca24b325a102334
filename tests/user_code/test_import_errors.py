from pathlib import Path

import pytest
from support.own_worker import SQUARE, worker, written


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which we are."""
    monkeypatch.chdir(tmp_path)
    return tmp_path.resolve()


def refused(*targets: str) -> str:
    """Why these targets cannot be loaded, in one sentence."""
    with worker(*targets) as loaded:
        sentence: str = loaded.trouble["sentence"]
        assert loaded.hello["sentence"] == sentence
        assert sentence.count("\n") == 0
        return sentence


@pytest.mark.parametrize(
    ("text", "kind", "line", "said"),
    [
        ("import torch\nx = (1,\ny = 2\n", "SyntaxError", 2, "'(' was never closed"),
        ("import torch\nimport nosuchlibrary\n", "ModuleNotFoundError", 2, "nosuchlibrary, which is not installed"),
        ("from jinja2.nothing import x\n", "ModuleNotFoundError", 1, "installed here has no such module"),
        ("import nosuchlibrary.deep\n", "ModuleNotFoundError", 1, "-m pip install nosuchlibrary"),
        ("from torch import nosuchname\n", "ImportError", 1, "cannot import what"),
        ("import sys\n\nsys.exit(2)\n", "SystemExit", 3, 'if __name__ == "__main__": above that,'),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1, "raised KeyboardInterrupt"),
        ("def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError", 2, "raised ZeroDivisionError: division by zero"),
        ("def f():\n    f()\nf()\n", "RecursionError", 2, "raised RecursionError"),
        ("class E(Exception):\n    def __str__(self): raise E\nraise E\n", "E", 3, "raised E when"),
        ("print('half', chr(0xd800))\nraise ValueError\n", "UnicodeEncodeError", 1, "surrogates not allowed"),
        ("raise ValueError('\\ud800')\n", "ValueError", 1, "raised ValueError: ? when"),
        ("input()\n", "EOFError", 1, "waits for input"),
        ("x = 1\n", "NothingToLookAt", None, "defines no torch.autograd.Function"),
        ("from json import nope\n", "ImportError", 1, "install or build it"),
    ],
)
def test_a_file_that_cannot_be_imported_is_explained_with_its_line(
    here: Path, text: str, kind: str, line: int | None, said: str
) -> None:
    written(here, {"my_ops": text})
    with worker("my_ops.py") as loaded:
        trouble = loaded.trouble
        assert loaded.hello["files"] == [str(here / "my_ops.py")]
    assert said in trouble["sentence"]
    assert (trouble["kind"], trouble["line"]) == (kind, line)
    if line is not None:
        assert trouble["sentence"].startswith(f"my_ops.py, line {line}, ")
        assert trouble["file"] == "my_ops.py"
        assert [line, text.splitlines()[line - 1]] in trouble["excerpt"]
        assert len(trouble["excerpt"]) <= 7


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"# one\nname = 'caf\xe9'\n", 2, "is not UTF-8: it has the byte 0xE9"),
        (b"x = 1\ny = 2\n\0", 3, "holds a null byte; remove it"),
        ("import torch\n".encode("utf-16"), 1, "is the beginning of"),
        (b"# -*- coding: klingon -*-\nx = 1\n", 1, "names no encoding"),
        (b"\xef\xbb\xbf# -*- coding: latin-1 -*-\n", 1, "names no encoding"),
    ],
)
def test_bytes_that_are_no_text_are_explained(here: Path, data: bytes, line: int, said: str) -> None:
    (here / "my_ops.py").write_bytes(data)
    with worker("my_ops.py") as loaded:
        assert loaded.trouble["sentence"].startswith(f"my_ops.py, line {line}, {said}")
        assert loaded.trouble["line"] == line


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_a_byte_order_mark_or_another_encoding_is_read_as_python_reads_it(here: Path, encoding: str) -> None:
    text = f"# -*- coding: {encoding.removesuffix('-sig')} -*-\n" + SQUARE.replace("The square", "Größe, squared")
    (here / "my_ops.py").write_bytes(text.encode(encoding))
    with worker("my_ops.py") as loaded:
        assert loaded.hello["catalogue"][0]["doc"] == "Größe, squared of each element."
        assert "Größe" in loaded.hello["catalogue"][0]["source"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from . import sibling\n", "'sibling' from 'pack'; define it there"),
        ("from .sibling import x\n", "pack.sibling, and there is no such file"),
        ("from .here import x\n", "'x' from 'pack.here'; define it there"),
    ],
)
@pytest.mark.parametrize("init", [True, False], ids=["a package", "a folder"])
def test_what_is_missing_in_the_visitors_own_package_is_not_to_be_installed(
    here: Path, text: str, said: str, init: bool
) -> None:
    written(here / "pack", {"my_ops": text, "here": ""} | ({"__init__": ""} if init else {}))
    with worker("pack.my_ops") as loaded:
        assert said in loaded.trouble["sentence"]


def test_a_module_beside_the_file_that_imports_it_is_not_to_be_installed(here: Path) -> None:
    written(here / "pack", {"__init__": "", "my_ops": "from parameters import x\n", "parameters": "x = 1\n"})
    with worker("pack.my_ops") as loaded:
        sentence = loaded.trouble["sentence"]
    assert "from . import parameters" in sentence
    assert "install" not in sentence


def test_the_traceback_shows_the_frames_of_the_visitors_files_only(here: Path) -> None:
    written(here, {"my_ops": "import helper\n", "helper": "import json\njson.loads('{')\n"})
    with worker("my_ops.py") as loaded:
        trouble = loaded.trouble
        assert loaded.hello["files"] == [str(here / "my_ops.py"), str(here / "helper.py")]
    assert (trouble["file"], trouble["line"]) == ("helper.py", 2)
    frames = [line.strip() for line in trouble["traceback"].splitlines() if line.startswith("  File")]
    assert frames == ['File "my_ops.py", line 1, in <module>', 'File "helper.py", line 2, in <module>']


def test_a_long_traceback_is_cut(here: Path) -> None:
    written(here, {"my_ops": "raise ValueError('x' * 100_000)\n"})
    with worker("my_ops.py") as loaded:
        assert len(loaded.trouble["traceback"]) == 8000
        assert len(loaded.trouble["sentence"]) < 600


def test_a_mistake_in_what_the_file_imports_is_placed_there(here: Path) -> None:
    written(here, {"my_ops": "import helper\n", "helper": "\n\ndef f(:\n"})
    with worker("my_ops.py") as loaded:
        assert (loaded.trouble["file"], loaded.trouble["line"]) == ("helper.py", 3)
        assert set(loaded.hello["files"]) == {str(here / "my_ops.py"), str(here / "helper.py")}


def test_a_circle_of_imports_is_named(here: Path) -> None:
    written(here, {"my_ops": "from helper import X\nY = 1\n", "helper": "from my_ops import Y\nX = 1\n"})
    sentence = refused("my_ops.py")
    assert sentence.startswith("helper.py, line 1, ")
    assert "in a circle" in sentence


def test_a_file_that_is_gone_is_still_watched_for(here: Path) -> None:
    with worker("my_ops.py:Square") as loaded:
        assert loaded.trouble["sentence"].startswith("There is no file ")
        assert loaded.hello["files"] == [str(here / "my_ops.py")]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("my_ops.py", "the classes A, B and the functions f, g; to look at a function of tensors write my_ops.py:f."),
        ("my_ops.py:A", "my_ops.py:A is a class, but no torch.autograd.Function; "),
        ("my_ops.py:net", "my_ops.py:net is an nn.Module; "),
        ("my_ops.py:number", "my_ops.py:number is a float; "),
        ("my_ops.py:ff", "has no ff; did you mean my_ops.py:f?"),
        ("my_ops.py:FF", "has no FF; did you mean my_ops.py:f?"),
        ("my_ops.py:zebra", "has no zebra; it has f, g."),
        (f"my_ops.py:{'x' * 10_000}", "it has f, g."),
        ("my_ops.deeper", "has no module deeper; it has none at all."),
        ("my_ops.f", "has no module f, but something else of that name; write my_ops:f."),
    ],
)
def test_where_there_is_no_function_it_is_said_what_there_is(here: Path, target: str, said: str) -> None:
    text = "from torch import nn\nclass A: pass\nclass B: pass\ndef f(x): return x\ndef g(x): return x\n"
    written(here, {"my_ops": text + "net = nn.ReLU()\nnumber = 1.5\n"})
    assert said in refused(target)


def test_a_class_that_forgot_its_base_and_one_inside_a_function_are_pointed_at(here: Path) -> None:
    written(here, {"bare": SQUARE.replace("(torch.autograd.Function)", "")})
    written(here, {"maker": "import torch\ndef make():\n    " + SQUARE.partition("\n\n\n")[2].replace("\n", "\n    ")})
    written(here, {"pack/__init__": "", "pack/kernels": SQUARE})
    assert "let it inherit from" in refused("bare.py")
    assert "one is inside make" in refused("maker.py")
    assert refused("pack").endswith("; pack.kernels does, so name that.")


def test_only_what_the_file_defines_is_suggested(here: Path) -> None:
    written(here, {"my_ops": "from torch.autograd.function import once_differentiable\n" + SQUARE})
    assert refused("my_ops.py:Nope").endswith("Nope; it has Square.")
    assert "it has Square" in refused("my_ops.py:once_differentable")


def test_a_package_is_searched_for_a_module_that_defines_one(here: Path) -> None:
    written(here, {"fast/__init__": "", "fast/a": "# Function\n", "fast/deep/__init__": "", "fast/deep/b": SQUARE})
    assert refused("fast").endswith("fast.deep.b does, so name that.")
    assert "fast/deep/b.py" in refused("fast/")


def test_compiled_files_and_addresses_are_no_files(here: Path) -> None:
    (here / "my_ops.pyc").write_bytes(b"")
    assert "its source, my_ops.py" in refused("my_ops.pyc")
    assert "on this machine" in refused("http://x.y/z.py")
