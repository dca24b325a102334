from typing import Any

import pytest
import torch
from support.written_functions import function_of
from torch.autograd import Function

from gradloupe.server.inference.infer import NotInferred, infer


class NoBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


class Legacy(Function):
    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, x: Any) -> Any:
        return x * self.slope

    def backward(self, g: Any) -> Any:
        return g * self.slope


def refused(function: Any) -> NotInferred:
    with pytest.raises(NotInferred) as raised:
        infer(function, budget=0.5)
    return raised.value


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (NoBackward, "NoBackward has no backward"),
        (Function, "no forward of its own"),
        (Legacy, "not a static method"),
        (lambda: torch.ones(3), "no argument"),
        (dict, "no torch.autograd.Function"),
    ],
    ids=("no backward", "no forward", "not static", "no argument", "no Function"),
)
def test_what_cannot_be_called_is_said_in_a_sentence_with_the_fix(function: Any, words: str) -> None:
    sentence = refused(function).sentence
    assert words in sentence
    assert ";" in sentence or "Write" in sentence


def test_the_argument_that_could_not_be_guessed_is_named() -> None:
    riddle = """
        def forward(ctx, x, riddle):
            if str(riddle)[::-1] != "sesame":
                raise LookupError(f"not {riddle}")
            return x * 2
    """
    error = refused(function_of(riddle))
    assert error.argument == "riddle"
    assert "found for 'riddle'" in error.sentence
    assert f"called with `{error.recipe}`; " in error.sentence
    assert error.sayable
    assert error.recipe.startswith("x: float64[7]; riddle = ")
    assert 1 <= len(error.tried) <= 5
    assert all("LookupError: not" in message for _, message in error.tried)
    assert [name for name, _ in error.parameters] == ["x", "riddle"]


def test_a_function_that_exits_is_told_of_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    exits = "def forward(ctx, x):\n    print('going')\n    raise SystemExit(3)"
    assert "sys.exit" in refused(function_of(exits)).sentence
    assert capsys.readouterr().out == ""


def test_what_returns_no_finite_number_is_not_said_to_raise() -> None:
    sentence = refused(function_of("def forward(ctx, x):\n    return x * float('nan')")).sentence
    assert "trials what forward returned is not finite, called with `" in sentence


def test_no_error_talks_it_into_huge_tensors() -> None:
    huge = f"""
        def forward(ctx, x):
            if x.shape[-1] < {2**40}:
                raise RuntimeError(f"The size of tensor a ({{x.shape[-1]}}) must match the size of tensor b ({2**40})")
            return x
    """
    error = refused(function_of(huge))
    assert str(2**40) in error.sentence
    assert all(str(2**40) not in recipe for recipe, _ in error.tried)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (
            "def forward(ctx, x):\n    return torch.from_numpy(x.detach().numpy().astype(np.float_))",
            ("removed in the NumPy 2.0 release", "whatever it is called with"),
        ),
        (
            "def forward(ctx, x, count):\n    ctx.count = count\n    return x * 1\n"
            "def backward(ctx, g):\n    assert ctx.count is not None\n"
            "    return torch.zeros(1, device=g.get_device()) + g, None",
            ("on this machine", "whatever it is given"),
        ),
    ],
    ids=("of an old NumPy", "of a GPU"),
)
def test_what_no_argument_cures_is_said(methods: str, words: tuple[str, ...]) -> None:
    sentence = refused(function_of(methods)).sentence
    assert [each for each in words if each not in sentence] == []


def test_an_error_about_a_backend_of_its_own_says_nothing_of_this_machine() -> None:
    own = """
        def forward(ctx, x, backend):
            if backend != "".join(["f", "ast"]):
                raise ValueError(f"backend {backend} is not registered")
            return x * 2
    """
    assert "on this machine" not in refused(function_of(own)).sentence


def test_what_ctx_does_not_have_is_no_matter_of_static_methods() -> None:
    sentence = refused(function_of("def forward(ctx, x):\n    return x * ctx.slope")).sentence
    assert "slope" in sentence
    assert "static" not in sentence


def test_what_is_to_be_filled_in_names_every_argument_that_has_to_be_given() -> None:
    routed = "def forward(ctx, x, router, group, last=None):\n    return router.sent(x, group)"
    recipe = refused(function_of(routed)).recipe
    assert [piece.split()[0].rstrip(":") for piece in recipe.split("; ")] == ["x", "router", "group"]


ENDLESS = {
    "forward": "def forward(ctx, x):\n    while True: x.exp()",
    "backward": "def forward(ctx, x):\n    return x * 1\ndef backward(ctx, g):\n    while True: g.exp()",
}


@pytest.mark.parametrize("where", ENDLESS)
def test_what_never_comes_back_is_said_to(where: str) -> None:
    told = refused(function_of(ENDLESS[where], "Endless"))
    sentence = told.sentence
    assert f"Endless does not come to an end: called with `x: float64[7]`, {where} did not return within" in sentence
    assert not told.sayable
    assert f".py, line {4 if where == 'forward' else 7}, in {where}: `while " in sentence
