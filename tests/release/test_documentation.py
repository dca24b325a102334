"""The README is right: its op runs, and its commands exist."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location

from support.sections import look

import gradloupe.ops
from gradloupe.ops import Op

ROOT = HERE
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_op_in_the_readme_keeps_its_word(tmp_path, monkeypatch):
    source = next(each for each in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "op = Op(" in each)
    file = tmp_path / "swish.py"
    file.write_text(source, encoding="utf-8")
    spec = spec_from_file_location(f"{gradloupe.ops.__name__}.swish", file)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert isinstance(module.op, Op)
    assert look(module.op, -5.0, 5.0)[1].word == "matches"


def test_the_two_commands_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_picture_is_there():
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
