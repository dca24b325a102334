"""What a worker wrote before its end is read: the stack of the thread at fault, and the line that is the visitor's."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from gradloupe.server.protocol import stack_dump
from gradloupe.server.protocol.stack_dump import Fault, faults, last_line, written

DUMP = """Fatal Python error: Segmentation fault

Thread 0x00007f1 (most recent call first):
  File "/home/me/other.py", line 5 in waits

Current thread 0x00007f0 (most recent call first):
  File "/usr/lib/ctypes/__init__.py", line 519 in string_at
  File "/home/me/caf\\xe9/my_ops.py", line 12 in forward
  File "/home/me/\\u03b1/rest.py", line 3 in <module>

Extension modules: numpy.core._multiarray_umath (total: 1)
"""


def test_the_thread_at_fault_comes_first_and_innermost_its_innermost_call() -> None:
    assert [(call.file, call.line, call.function) for call in faults(DUMP)] == [
        ("/usr/lib/ctypes/__init__.py", 519, "string_at"),
        ("/home/me/café/my_ops.py", 12, "forward"),
        ("/home/me/α/rest.py", 3, "<module>"),
        ("/home/me/other.py", 5, "waits"),
    ]


def test_what_was_written_last_counts() -> None:
    later = written([Fault("/home/me/later.py", 2, "backward")])
    assert faults(DUMP + later)[0] == Fault("/home/me/later.py", 2, "backward")


def test_half_of_a_dump_is_read_as_far_as_it_goes() -> None:
    at_fault, others = faults(DUMP)[:2], faults(DUMP)[3:]
    assert faults(DUMP[: DUMP.index('", line 3')]) == at_fault + others
    assert faults("") == ()


def test_the_last_line_is_that_of_the_file_asked_about_or_else_of_nobodys_package() -> None:
    ours = Fault(str(Path(stack_dump.__file__).with_name("python_command.py")), 60, "_serve")
    torchs = Fault(f"{sysconfig.get_path('purelib')}/torch/autograd/function.py", 575, "apply")
    hers, helper = Fault("/home/me/my_ops.py", 12, "forward"), Fault("/home/me/helper.py", 3, "inner")
    assert last_line([torchs, helper, hers, ours]) == helper
    assert last_line([torchs, helper, hers, ours], "my_ops.py") == hers
    assert last_line([torchs, hers, ours], "/home/me/my_ops.py") == hers
    assert last_line([torchs, ours], "my_ops.py") is None
    assert str(hers) == "my_ops.py, line 12, in forward"


def test_a_function_of_an_installed_package_has_a_last_line_too() -> None:
    torchs = Fault(f"{sysconfig.get_path('purelib')}/torch/autograd/function.py", 575, "apply")
    assert last_line([torchs], torchs.file) == torchs
