"""What a worker wrote before its end is read: the stack of the thread at fault, and the line that is the visitor's."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from gradloupe.server.protocol import stack_dump
from gradloupe.server.protocol.stack_dump import StackFrame, format_stack, innermost_user_frame, parse_stack_dump

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
    assert [(call.file, call.line, call.function) for call in parse_stack_dump(DUMP)] == [
        ("/usr/lib/ctypes/__init__.py", 519, "string_at"),
        ("/home/me/café/my_ops.py", 12, "forward"),
        ("/home/me/α/rest.py", 3, "<module>"),
        ("/home/me/other.py", 5, "waits"),
    ]


def test_what_was_written_last_counts() -> None:
    later = format_stack([StackFrame("/home/me/later.py", 2, "backward")])
    assert parse_stack_dump(DUMP + later)[0] == StackFrame("/home/me/later.py", 2, "backward")


def test_half_of_a_dump_is_read_as_far_as_it_goes() -> None:
    at_fault, others = parse_stack_dump(DUMP)[:2], parse_stack_dump(DUMP)[3:]
    assert parse_stack_dump(DUMP[: DUMP.index('", line 3')]) == at_fault + others
    assert parse_stack_dump("") == ()


def test_the_last_line_is_that_of_the_file_asked_about_or_else_of_nobodys_package() -> None:
    ours = StackFrame(str(Path(stack_dump.__file__).with_name("python_command.py")), 60, "_serve")
    torchs = StackFrame(f"{sysconfig.get_path('purelib')}/torch/autograd/function.py", 575, "apply")
    hers, helper = StackFrame("/home/me/my_ops.py", 12, "forward"), StackFrame("/home/me/helper.py", 3, "inner")
    assert innermost_user_frame([torchs, helper, hers, ours]) == helper
    assert innermost_user_frame([torchs, helper, hers, ours], "my_ops.py") == hers
    assert innermost_user_frame([torchs, hers, ours], "/home/me/my_ops.py") == hers
    assert innermost_user_frame([torchs, ours], "my_ops.py") is None
    assert str(hers) == "my_ops.py, line 12, in forward"


def test_a_function_of_an_installed_package_has_a_last_line_too() -> None:
    torchs = StackFrame(f"{sysconfig.get_path('purelib')}/torch/autograd/function.py", 575, "apply")
    assert innermost_user_frame([torchs], torchs.file) == torchs
