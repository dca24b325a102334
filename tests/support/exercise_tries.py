"""Wrong tries at the exercises, each a change of the solution, with the answer note that it has to get."""

# By exercise: what is replaced in its solution, by what, and the note.
TRIES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "mask": (
        ("& (x < ctx.clip)", "& (x < 9)", "mask-forgotten"),
        ("& (x < ctx.clip)", "& (x < 2.0)", "right-in-one-call"),
        ("((x > 0) & (x < ctx.clip))", "((x < 0) | (x > ctx.clip))", "mask-reversed"),
        ("grad_output * ((x > 0) & (x < ctx.clip))", "((x > 0) & (x < ctx.clip)).double()", "forgets-grad_output"),
        ("x.clamp(0, clip)", "x.clamp(0, clip + 1)", "forward-changed"),
    ),
    "factor": (
        ("* 3 * x**2", "* 2 * x**2", "factor-constant"),
        ("* 3 * x**2", "* 3 * x", "factor-missing"),
        ("* 3 * x**2", "* 3 * x**3", "factor-extra"),
        ("* 3 * x**2", "* -3 * x**2", "sign"),
    ),
    "sign": (
        ("grad_output * torch", "torch", "forgets-grad_output"),
        ("grad_output * torch", "grad_output.square() * torch", "power-of-grad_output"),
        ("grad_output * torch", "-grad_output * torch", "sign"),
        ("grad_output * torch", "grad_output.clamp(min=0) * torch", "sign-of-grad_output"),
    ),
    "sum": (
        (".sum((0, 2))", ".sum(0)", "sum-missing"),
        (".sum((0, 2))", ".mean((0, 2))", "factor-constant"),
        (".sum((0, 2))", ".sum()", "gradient-shape"),
        (", (grad_output * x).sum((0, 2))", "", "gradient-count"),
    ),
    "straight_through": (
        ("return grad_output\n", "return 2 * grad_output\n", "factor-constant"),
        ("return grad_output\n", "return torch.ones_like(grad_output)\n", "forgets-grad_output"),
        ("return grad_output\n", "return None\n", "no-surrogate"),
        ("return x.round()", "return x.clone()", "forward-changed"),
    ),
    "needs_input_grad": (
        ("[0]:\n            grad_a = grad_output * b", "[0]:\n            grad_b = grad_output * b", "blocked"),
        ("grad_b = grad_output * a", "grad_b = grad_output", "factor-constant"),
        ("return grad_a, grad_b", "return grad_b, grad_a", "gradients-swapped"),
    ),
    "in_place": (
        ("grad_output * torch.cos(x)", "grad_output.copy_(grad_output * torch.cos(x))", "in-place"),
        ("grad_output * torch.cos(x)", "grad_output * torch.sin(x)", "unexplained"),
        ("grad_output * torch.cos(x)", "torch.cos(x)", "forgets-grad_output"),
    ),
    "saved": (
        ("ctx.save_for_backward(y)", "ctx.save_for_backward(y, x)", "backward-fails"),
        ("(y,) = ctx", "y = ctx", "backward-fails"),
        ("(y)\n", "(x)\n", "unexplained"),
        ("grad_output * y", "grad_output", "factor-missing"),
    ),
    "second_derivative": (
        ("torch.cosh(x)", "torch.cosh(x).detach()", "no-history"),
        ("torch.cosh(x)", "torch.cosh(x.detach())", "no-history"),
        ("grad_output * torch.cosh(x)", "grad_output * torch.sinh(x)", "unexplained"),
        ("torch.cosh(x)", "torch.cosh(x) * 2", "factor-constant"),
    ),
    "write_the_test": (
        ("(1.0, -2.0)", "(1.0,)", "misses-forgets-grad_output"),
        ("        assert torch.equal(grad_output, torch.full_like(x, size))\n", "", "misses-in-place"),
        ("[0.0, 1.0, 1.0, 0.0]", "[0.0, 1.0, 1.0, 1.0]", "right-accused"),
        ("def check", "def checked", "broken"),
    ),
}
