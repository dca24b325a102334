"""The badges: for each a Function that it is right of, one that is refused, one that gets wrong numbers."""

import os
import resource
import select
import signal
import sys

import pytest
import torch
from functions.basics import SquaredError, altered, with_backward
from functions.user_written import Doubled
from support.sampling import sampled
from support.sections import section
from support.servers import children

from gradloupe.ops import OPS, Input, Op
from gradloupe.server.contract import (
    Call,
    capability_badges,
    compile_badge,
    exception_summary,
    in_a_copy,
    in_this_process,
    try_compile,
)
from gradloupe.server.runtime import timing


class DoubledInPlace(Doubled):
    """Returns what it was given, where ``Doubled`` returns what the operation in place does."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x


def op_with(function, *inputs, **words):
    return Op(function, "a test", "tests", "", "", inputs or (Input("x", domain=(0.2, 2.0)),), **words)


def new_style(forward=lambda x: x**3, derivative=lambda x: 3 * x**2, **methods):
    """A Function of one input in the new style, with more methods."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    def backward(ctx, *grad_output):
        return grad_output[0] * derivative(ctx.saved_tensors[0])

    body = {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context)}
    body |= {"backward": staticmethod(backward)}
    wrapped = {name: staticmethod(each) if callable(each) else each for name, each in methods.items()}
    return type("NewStyle", (torch.autograd.Function,), body | wrapped)


COUNTS = []


def counted(value):
    """Another number every time."""
    COUNTS.append(1)
    return value * len(COUNTS)


def times(factor):
    return lambda ctx, tangent: tangent * factor * ctx.saved_tensors[0] ** 2


def upside_down(info, dims, x):
    return -(x**3), dims[0]


NEW = op_with(new_style(generate_vmap_rule=True, jvp=times(3)))
OLD = op_with(with_backward(lambda x: x * 2, lambda g, x: g * 2))
ROUNDED = op_with(new_style(lambda x: x.round(), torch.ones_like, jvp=lambda ctx, tangent: tangent * 1))
WHOLE = op_with(new_style(lambda x: x.long()))


# A product of matrices that says nothing to autocast.
MATMUL = with_backward(torch.matmul, lambda g, a, b: (g @ b.T, a.T @ g))


def refuses_half(x):
    if x.dtype in (torch.float16, torch.bfloat16):
        raise TypeError("no half measures. Here at least.")
    return x * 1


SQUARES = (Input("a", shape=(2, 2), value=(1.0, 2.0, 3.0, 4.0)), Input("b", shape=(2, 2), value=(2.0, 0.5, 1.0, 3.0)))
STEEP = op_with(with_backward(lambda x: 1 / (1 + (-x).exp()), lambda g, x: g * (-x).exp() / (1 + (-x).exp()) ** 2))
DEEP = op_with(STEEP.function, Input("x", domain=(-14.0, -12.0), value=-13.0))
CONJUGATED = op_with(with_backward(lambda x: x.exp(), lambda g, x: g * x.exp().conj()))


def rough(ctx, a, b):
    """Right in single precision alone."""
    y = MATMUL.forward(ctx, a, b)
    ctx.low = y.dtype == torch.bfloat16
    return y.to(a.dtype)


def twice_too_much(ctx, g):
    a, b = MATMUL.backward(ctx, g)
    return (2 * a, b) if ctx.low else (a, b)


def blurred(ctx, g):
    """Spoiled by bfloat16."""
    return (g / (not ctx.low)).float(), None


RoughInHalf = altered(MATMUL, "RoughInHalf", forward=rough, backward=twice_too_much)
Blurred = altered(MATMUL, "Blurred", forward=lambda ctx, a, b: rough(ctx, a, b).to((a @ b).dtype), backward=blurred)


def dropped(x):
    return x * (torch.rand_like(x) > 0.3)


def slope_of_pair(ctx, tangent):
    return torch.complex(tangent, 2 * ctx.saved_tensors[0] * tangent)


DROPOUT = op_with(with_backward(dropped, lambda g, x: g))
STATES = [
    ("vmap", NEW, "yes", "A batch of 3"),
    ("vmap", OLD, "no", "because forward takes ctx"),
    ("vmap", op_with(new_style()), "no", "generate_vmap_rule = True"),
    ("vmap", op_with(new_style(vmap=upside_down)), "wrong", "different numbers from 3 calls"),
    ("vmap", op_with(new_style(lambda x: counted(x), generate_vmap_rule=True)), "unknown", "each time it is called"),
    ("func.grad", NEW, "yes", "gradients that backward returns"),
    ("func.grad", OLD, "no", "setup_context"),
    ("func.grad", op_with(new_style(derivative=lambda x: counted(x))), "wrong", "different gradients"),
    ("func.grad", WHOLE, "unknown", "No output carries a gradient."),
    ("jvp", NEW, "yes", "directional derivative of forward"),
    ("jvp", ROUNDED, "yes", "agrees with backward"),
    ("jvp", OLD, "no", "It has no jvp"),
    ("jvp", op_with(new_style(jvp=times(4))), "wrong", "in which differences of forward give"),
    ("jvp", op_with(new_style(lambda x: x.long(), jvp=lambda ctx, t: None)), "unknown", "No output of forward mode"),
    ("autocast", NEW, "yes", "run under torch.autocast"),
    ("autocast", op_with(MATMUL, *SQUARES), "no", "custom_fwd"),
    ("autocast", op_with(new_style(lambda x: x.bfloat16() + 0)), "yes", "run under torch.autocast"),
    ("autocast", WHOLE, "unknown", "no gradient comes back"),
    ("half", NEW, "yes", "but for their rounding"),
    ("half", op_with(with_backward(refuses_half, lambda g, x: g)), "no", "TypeError: no half measures."),
    ("func.grad", op_with(new_style(lambda x: (x**3, None))), "yes", "gradients that backward returns"),
    ("jvp", op_with(new_style(lambda x: (x**3, 3), jvp=lambda ctx, t: (times(3)(ctx, t), None))), "yes", "of forward"),
    ("jvp", op_with(new_style(lambda x: torch.complex(x, x**2), jvp=slope_of_pair)), "yes", "of forward"),
    ("autocast", op_with(RoughInHalf, *SQUARES), "wrong", "off by"),
    ("autocast", op_with(Blurred, *SQUARES), "wrong", ""),
    ("autocast", DROPOUT, "unknown", "random numbers"),
    ("half", DROPOUT, "unknown", "random numbers"),
    ("half", DEEP, "wrong", "In float16 gradients are NaN or infinite"),
]


def badge(name, op, wrt=""):
    """One badge of an op."""
    cut = section(op, wrt)
    return next(each for each in capability_badges(cut, Call.of(cut)) if each.name == name)


@pytest.mark.parametrize(("name", "op", "state", "said"), STATES)
def test_every_state_is_found_and_explained(name, op, state, said):
    found = badge(name, op)
    assert (found.state, said in found.sentence) == (state, True), found
    assert found.sentence.endswith(".")


@pytest.mark.parametrize(
    ("op", "wrt", "state", "said"),
    [
        (CONJUGATED, "x", "yes", "the gradient torch defines"),
        (OPS["exp"], "x", "wrong", "a conjugate is missing"),
        (OPS["clamp_with_grad"], "input", "no", "Complex input is not supported"),
        (OPS["clamp_with_grad"], "min", "unknown", "min is not a tensor."),
        (OPS["replace_grad"], "x_backward", "unknown", "another function"),
    ],
)
def test_complex_numbers_in_every_state(op, wrt, state, said):
    found = badge("complex", op, wrt)
    assert (found.state, said in found.sentence) == (state, True), found


def test_a_function_of_float64_alone_is_said_to_refuse_float32():
    def only_double(x):
        if x.dtype != torch.float64:
            raise ValueError("float64 only")
        return x * 1

    found = badge("autocast", op_with(with_backward(only_double, lambda g, x: g)))
    assert "not even take float32" in found.sentence


COMPILED = [
    (op_with(SquaredError, Input("x"), Input("target")), "yes", "compiles as one graph"),
    pytest.param(OPS["functional_linear"], "yes", "compiles as one graph", marks=pytest.mark.nightly),
    pytest.param(op_with(new_style(jvp=times(3))), "no", "jvp", marks=pytest.mark.nightly),
    pytest.param(op_with(Doubled), "no", "mark_dirty", marks=pytest.mark.nightly),
    pytest.param(op_with(DoubledInPlace), "wrong", "the gradients are different", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("op", "state", "said"), COMPILED)
def test_compiled_apart_in_every_state(op, state, said):
    loaded = set(sys.modules)
    found = compile_badge(Call.of(section(op)), True, 60.0)
    assert (found.state, said in found.sentence) == (state, True), found
    assert not {name for name in set(sys.modules) - loaded if name.startswith("torch._dynamo")}


@pytest.mark.parametrize(("op", "state", "said"), COMPILED)
def test_where_no_copy_can_differentiate_it_is_compiled_here_and_forgotten(op, state, said):
    before = sys.getrecursionlimit()
    found, sentence = in_this_process(lambda: try_compile(Call.of(section(op))), 60.0)
    assert (found, said in sentence) == (state, True), sentence
    assert sys.getrecursionlimit() == before


def test_where_no_more_files_may_be_opened_compiling_is_not_tried():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        state, sentence = in_a_copy(lambda: ("yes", ""), 60.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert (state, "Too many open files" in sentence) == ("unknown", True)


def test_what_hangs_or_raises_in_this_process_is_told():
    def fail():
        raise ValueError("no")

    assert in_this_process(signal.pause, 0.05) == ("unknown", "torch.compile did not finish in 0.05 seconds.")
    assert "raises ValueError: no before" in in_this_process(fail, 0.05)[1]


def test_what_is_not_done_in_time_is_ended():
    before = len(children(os.getpid()))
    found = compile_badge(Call.of(section("exp")), True, 0.05)
    assert (found.state, "did not finish" in found.sentence) == ("unknown", True)
    assert len(children(os.getpid())) == before


def test_a_function_that_ends_its_process_ends_only_the_copy():
    born = os.getpid()

    def leaves(x):
        if os.getpid() != born:
            os._exit(3)
        return x * 2

    found = compile_badge(Call.of(section(op_with(with_backward(leaves, lambda g, x: g * 2)))), True)
    assert (found.state, "without an answer" in found.sentence) == ("unknown", True)


def test_compile_is_not_tried_unless_asked():
    assert compile_badge(Call.of(section("exp")), False).sentence.startswith("Not tried")


def test_all_badges_come_in_one_order_and_leave_the_class_alone():
    cut = section("abs_product")
    before = dict(vars(cut.op.function))
    assert [each.name for each in capability_badges(cut, Call.of(cut))] == [
        *("vmap", "jvp", "func.grad", "compile", "autocast", "complex", "half")
    ]
    assert dict(vars(cut.op.function)) == before


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim != "broken"))
def test_no_op_that_is_right_is_accused_but_of_a_missing_conjugate(name):
    cut = section(OPS[name])
    wrong = [each for each in capability_badges(cut, Call.of(cut)) if each.state == "wrong"]
    assert [each.name for each in wrong] in ([], ["complex"])


def test_what_an_exception_says_is_bounded():
    assert len(exception_summary(type("E" * 9000, (Exception,), {})("z" * 10**6))) <= 2 * 160 + 3
    assert exception_summary(ValueError("")) == "ValueError"


def test_an_error_in_one_badge_leaves_the_others():
    cut = section("exp")
    odd = Call.of(cut).through(lambda x: type("Odd", (), {"__iter__": None})())
    assert len(capability_badges(cut, odd)) == 7
    late = capability_badges(cut, Call.of(cut), timing.now() - 1, True)
    assert "no time was left" in late[3].sentence
    assert {each.state for each in capability_badges(cut, Call.of(cut), timing.now() - 1)} == {"unknown"}


def test_the_copy_ends_with_its_parent():
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        in_a_copy(lambda: ("yes", str(os.write(writing, b"born") and signal.pause())), 60.0)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb", buffering=0) as copy:
        assert copy.read(4) == b"born"
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        assert select.select([copy], [], [], 5)[0]  # the other end is closed by the end of all who hold it
        assert copy.read(4) == b""
