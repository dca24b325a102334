"""Numbers, words, and the values of tensors that are found: what a Function does with them says what they are."""

from typing import Any

import pytest
from functions.basics import SquaredError
from support.written_functions import formula, function_of

from gradloupe.server.inference.infer import InferredRecipe, infer

VALUES = {
    "first: float64[7]; second = 0.5": """
        def forward(ctx, first, second):
            ctx.second = second
            return first * second
    """,
    # Forward hands on what it is given, and that is how it is meant.
    "x: float64[7]; alpha = 0.5": """
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.view_as(x)
        def backward(ctx, g):
            return -ctx.alpha * g, None
    """,
    "x: float64[7]; flip = False; power = 2; mode = 'plain'": """
        def forward(ctx, x: torch.Tensor, flip: bool, power: int, mode: str):
            if mode not in ("plain", "other"):
                raise ValueError(mode)
            return (-x if flip else x) ** power
    """,
    "args0: float64[7]; args1: float64[7]; args2 = 0.5": """
        def forward(ctx, *args):
            a, b, k = args
            ctx.save_for_backward(a, b)
            ctx.k = k
            return a * b * k
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b * ctx.k, g * a * ctx.k, None
    """,
    "x: float64[7]; which: int64[7] < 2": formula(
        "x, which", "x.gather(0, which)", "torch.zeros_like(x).scatter_add(0, which, g), None"
    ),
    "x: float64[7]; keep: bool[7]": "def forward(ctx, x, keep): return x.masked_fill(~keep, 0.0)",
    "x: float64[7]; how = 'hard'": """
        modes = {"soft": 1.0, "hard": 2.0}
        def forward(ctx, x, how):
            return x * Own.modes[how]
    """,
    "x: float64[7]; pads = (1, 1)": """
        def forward(ctx, x, pads):
            left, right = pads
            ctx.pads = pads
            return torch.nn.functional.pad(x, (left, right))
        def backward(ctx, g):
            left, right = ctx.pads
            return g[..., left : g.shape[-1] - right], None
    """,
    "x: float64[7]; bits = 4": """
        def forward(ctx, x, bits):
            levels = 2**bits - 1
            return torch.round(x * levels) / levels
    """,
    # Between bounds beyond which only large numbers lie.
    "u: float64[7]; bits = 4": "def forward(ctx, u, bits): return u.clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)",
    "x: float64[7] positive": "def forward(ctx, x): return x.log()",
    "a: float64[4,4] spd": """
        def forward(ctx, a):
            inverse = torch.inverse(a)
            ctx.save_for_backward(inverse)
            return inverse
        def backward(ctx, g):
            (inverse,) = ctx.saved_tensors
            return -inverse.t() @ g @ inverse.t()
    """,
    # Broadened where two eigenvalues are the same, by a tensor.
    "A: float64[4,4] spd; decomp_reg: float64[] tiny nograd": """
        def forward(ctx, A, decomp_reg):
            values, vectors = torch.linalg.eigh(A)
            ctx.save_for_backward(values, vectors, decomp_reg)
            return values, vectors
        def backward(ctx, dvalues, dvectors):
            values, vectors, decomp_reg = ctx.saved_tensors
            gaps = values - values[:, None]
            gaps = gaps / (gaps**2 + decomp_reg)
            return vectors @ (torch.diag(dvalues) + gaps * (vectors.T @ dvectors)) @ vectors.T, None
    """,
    # What has one number may be a vector of one: its gradient says so.
    "w: float64[7]; alpha: float64[1] positive; low = -1.0; high = 1.0": """
        def forward(ctx, w, alpha, low, high):
            ctx.save_for_backward(w, alpha)
            ctx.bounds = low, high
            return (w / alpha).clamp(low, high) * alpha
        def backward(ctx, g):
            w, alpha = ctx.saved_tensors
            low, high = ctx.bounds
            inside = (w > low * alpha) & (w < high * alpha)
            ends = torch.where(w < 0, low, high) * ~inside
            return g * inside, (g * ends).sum().unsqueeze(0), None, None
    """,
    # A loop that goes on with what a matrix makes of its state comes to an end where that contracts …
    "W: float64[4,4] stable; x: float64[4,4]": """
        def forward(ctx, W, x):
            z = torch.zeros_like(x)
            for _ in range(50):
                z = torch.tanh(z @ W.T + x)
            ctx.save_for_backward(W, z)
            return z
        def backward(ctx, g):
            W, z = ctx.saved_tensors
            slope = 1 - z * z
            system = torch.eye(W.shape[0], dtype=W.dtype) - slope.unsqueeze(-1) * W
            v = torch.linalg.solve(system.mT, g.unsqueeze(-1)).squeeze(-1) * slope
            return v.T @ z, v
    """,
    # … of a vector, too, which only backward tells from a matrix …
    "A: float64[4,4] stable; b: float64[4]": """
        def forward(ctx, A, b):
            y = b.clone()
            for _ in range(200):
                y = A @ y + b
            ctx.save_for_backward(A, y)
            return y
        def backward(ctx, g):
            A, y = ctx.saved_tensors
            u = torch.linalg.solve(torch.eye(len(y), dtype=y.dtype) - A.T, g)
            return torch.outer(u, y), u
    """,
    # … and one that divides by an inner product of it is a solver's.
    "A: float64[4,4] spd; b: float64[4]": """
        def forward(ctx, A, b):
            x, r = torch.zeros_like(b), b.clone()
            p = r
            for _ in range(2 * len(b)):
                if float(r @ r) < 1e-28:
                    break
                alpha = (r @ r) / (p @ A @ p)
                x, new = x + alpha * p, r - alpha * (A @ p)
                p, r = new + (new @ new) / (r @ r) * p, new
            ctx.save_for_backward(A, x)
            return x
        def backward(ctx, g):
            A, x = ctx.saved_tensors
            u = torch.linalg.solve(A.T, g)
            return -torch.outer(u, x), u
    """,
    "A: float64[4,4] stable; Q: float64[4,4] stable": """
        def forward(ctx, A, Q):
            if torch.linalg.eigvals(A).real.max() >= 0:
                raise ValueError("A is not stable")
            same = torch.eye(len(A), dtype=A.dtype)
            X = torch.linalg.solve(torch.kron(A, same) + torch.kron(same, A), -Q.reshape(-1)).reshape(A.shape)
            ctx.save_for_backward(A, X)
            return X
        def backward(ctx, g):
            A, X = ctx.saved_tensors
            same, B = torch.eye(len(A), dtype=A.dtype), A.T.contiguous()
            S = torch.linalg.solve(torch.kron(B, same) + torch.kron(same, B), -g.reshape(-1)).reshape(A.shape)
            return S @ X.T + S.T @ X, S
    """,
    # The same by a number that forward makes a tensor of.
    "x: float64[7]; cutoff = 1e-12": """
        def forward(ctx, x, cutoff):
            cutoff = torch.as_tensor(cutoff, dtype=x.dtype, device=x.device)
            ctx.save_for_backward(x, cutoff)
            return x.abs().log()
        def backward(ctx, g):
            x, cutoff = ctx.saved_tensors
            return g * x / (x * x + cutoff), None
    """,
    # Rows are added up where an index says.
    "src: float64[3,4]; index: int64[3] < 2; dim_size = 2": """
        def forward(ctx, src, index, dim_size):
            ctx.save_for_backward(index)
            out = src.new_zeros(dim_size, src.size(1))
            return out.scatter_add_(0, index.unsqueeze(-1).expand_as(src), src)
        def backward(ctx, g):
            (index,) = ctx.saved_tensors
            return g[index], None, None
    """,
    # The means of padded sequences.
    "x: float64[2,3,4]; lengths: int64[2] lengths": """
        def forward(ctx, x, lengths):
            B, T, D = x.shape
            mask = (torch.arange(T)[None, :] < lengths[:, None]).to(x.dtype)
            ctx.save_for_backward(mask, lengths)
            return (x * mask[..., None]).sum(1) / lengths[:, None]
        def backward(ctx, g):
            mask, lengths = ctx.saved_tensors
            return (g / lengths[:, None])[:, None, :] * mask[..., None], None
    """,
    # Of sequences one behind the other.
    "values: float64[3,4]; cu_seqlens: int64[4] offsets": """
        def forward(ctx, values, cu_seqlens):
            count = cu_seqlens[1:] - cu_seqlens[:-1]
            row = torch.repeat_interleave(torch.arange(len(count)), count)
            ctx.save_for_backward(row)
            return values.new_zeros(len(count), values.shape[1]).index_add_(0, row, values)
        def backward(ctx, g):
            (row,) = ctx.saved_tensors
            return g[row], None
    """,
    # What the neighbours of each node of a graph send it.
    "x: float64[3,4]; edge_index: int64[2,7] < 2; edge_weight: float64[7]": """
        def forward(ctx, x, edge_index, edge_weight):
            start, end = edge_index
            ctx.save_for_backward(x, edge_index, edge_weight)
            return torch.zeros_like(x).index_add_(0, end, edge_weight[:, None] * x[start])
        def backward(ctx, g):
            x, (start, end), edge_weight = ctx.saved_tensors
            to_x = torch.zeros_like(x).index_add_(0, start, edge_weight[:, None] * g[end])
            return to_x, None, (g[end] * x[start]).sum(1)
    """,
    # Right for a permutation, and for nothing else.
    "x: float64[7]; p: int64[7] shuffled": """
        def forward(ctx, x, p):
            ctx.save_for_backward(p)
            return x[..., p]
        def backward(ctx, g):
            (p,) = ctx.saved_tensors
            out = torch.empty_like(g)
            out[..., p] = g
            return out, None
    """,
    # Wrong for every permutation that is not its own inverse.
    "x: float64[7]; permutation: int64[7] shuffled": formula(
        "x, permutation", "x[..., permutation]", "g[..., permutation], None", saved="permutation"
    ),
    # Between two bounds in one tensor, straight through.
    "x: float64[7]; clip_val: float64[2] rising; bits = 4": """
        def forward(ctx, x, clip_val, bits):
            ctx.save_for_backward(x, clip_val)
            x = torch.where(x < clip_val[1], x, clip_val[1])
            x = torch.where(x > clip_val[0], x, clip_val[0])
            s = (2**bits - 1) / (x.max() - x.min() + 1e-8)
            return torch.round(x * s) / s
        def backward(ctx, g):
            x, clip_val = ctx.saved_tensors
            return g * ~(x.ge(clip_val[1]) | x.le(clip_val[0])), None, None
    """,
    "x: float64[7]; target: float64[7] signs nograd": """
        def forward(ctx, x, target):
            if not bool((target.abs() == 1).all()):
                raise ValueError("target must contain only -1 and 1")
            ctx.save_for_backward(x, target)
            return (1 - x * target).clamp(min=0).sum()
        def backward(ctx, g):
            x, target = ctx.saved_tensors
            return g * torch.where(x * target < 1, -target, 0 * target), None
    """,
    "x: float64[7]; fast = 1.0; slow = 0.5": """
        def forward(ctx, x, fast, slow):
            if fast == slow:
                raise ValueError("fast and slow must be different")
            return x * (fast - slow) / (fast + slow)
    """,
    "x: bfloat16[7]": """
        def forward(ctx, x):
            if x.dtype not in (torch.float16, torch.bfloat16):
                raise TypeError("Only fp16 and bf16 are supported")
            return x * 2
    """,
    "x: float64[7]; backend = 'fast'": """
        known = ("fast", "slow")
        def forward(ctx, x, backend):
            assert backend in Own.known, f"backend {backend} is not known"
            return x * 2
    """,
    "x: float64[7]; version = 'v1.large'": """
        def forward(ctx, x, version: "Literal['v1.large', 'v2.small']"):
            return x * {"v1.large": 2, "v2.small": 3}[version]
    """,
    # Gradients that are added to a tuple.
    "x: float64[7]; w: float64[7]; k = 2": """
        def forward(ctx, x, w, k):
            ctx.save_for_backward(x, w)
            return x * w * k
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            grads = (g * w, g * x)
            grads += (None,)
            return grads
    """,
    # A dtype that is asked for without a word, and what undoes another argument by its name.
    "x: float32[3,4]; w: float32[5,4]": """
        def forward(ctx, x, w):
            if x.dtype != torch.float32 or w.dtype not in (torch.float16, torch.float32):
                raise ValueError
            ctx.save_for_backward(x, w)
            return x @ w.t()
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w, g.t() @ x
    """,
    "x: float64[7]; order: int64[7] shuffled; undo_order: int64[7] inverse": formula(
        "x, order, undo_order", "x[order]", "g[undo_order], None, None", saved="undo_order"
    ),
    "x: float64[7]; scale: float64[] positive; inv_scale: float64[] positive": formula(
        "x, scale, inv_scale",
        "x * scale * inv_scale",
        "g * scale * inv_scale, (g * x * inv_scale).sum(), (g * x * scale).sum()",
    ),
    "x: float64[7]; keep_it = True": """
        def forward(ctx, x, keep_it):
            torch.empty(1, requires_grad=keep_it)
            return x * 2
    """,
    # With what is tried first, these would do nothing.
    "input: float64[7]; k = 2": """
        def forward(ctx, input, k):
            if k == 32:
                out = input
            elif k == 1:
                out = torch.sign(input)
            else:
                n = float(2**k - 1)
                out = torch.round(input * n) / n
            return out
    """,
    "x: float64[7]; mode = 'double'": """
        def forward(ctx, x, mode):
            if mode == "none":
                return x
            if mode == "double":
                return x * 2
            raise ValueError(mode)
    """,
    "x: float64[7]; p = 0.5": "def forward(ctx, x, p): return x if p == 0.0 else x * (1 - p)",
    "x: float64[7]; power = 3": """
        def forward(ctx, x, power):
            if power == 2:
                raise ValueError("not 2")
            elif power == 3:
                return x**3
            else:
                raise ValueError("only 3")
    """,
}


def found(methods: str) -> dict[str, Any]:
    """The arguments of a call that is found, by name."""
    return {each.name: each for each in infer(function_of(methods)).recipe.arguments}


@pytest.mark.parametrize("recipe", VALUES)
def test_values_are_found_with_which_a_function_shows_what_it_does(recipe: str) -> None:
    assert infer(function_of(VALUES[recipe])).recipe.text() == recipe


@pytest.mark.parametrize("name", ["scale", "strength", "c"])
def test_a_number_that_nobody_knows_is_a_half_for_a_factor_of_one_is_not_seen(name: str) -> None:
    assert found(f"def forward(ctx, x, {name}):\n    return x * {name}")[name].value == 0.5


def test_what_does_nothing_is_not_taken_where_something_else_works() -> None:
    sparse = """
        def forward(ctx, weight, N, M):
            grouped = weight.detach().abs().reshape(weight.numel() // M, M)
            index = torch.argsort(grouped, dim=1)[:, : int(M - N)]
            mask = torch.ones_like(grouped).scatter_(1, index, 0).reshape(weight.shape)
            return weight * mask
    """
    shifted = """
        def forward(ctx, x, fold):
            ctx.fold = fold
            n, t, _ = x.size()
            buffer = x.new_zeros(n, t, fold)
            buffer[:, :-1] = x[:, 1:, :fold]
            return torch.cat((buffer, x[:, :, fold:]), 2)
        def backward(ctx, g):
            buffer = torch.zeros_like(g[:, :, : ctx.fold])
            buffer[:, 1:] = g[:, :-1, : ctx.fold]
            return torch.cat((buffer, g[:, :, ctx.fold :]), 2), None
    """
    kept = found(sparse)
    assert kept["N"].value < kept["M"].value
    assert found(shifted)["fold"].value > 0


def test_a_share_of_a_size_is_so_large_that_something_is_seen_of_it() -> None:
    largest = """
        def forward(ctx, scores, k):
            count = scores.numel()
            out, order = torch.ones_like(scores), scores.abs().flatten().argsort()
            out.flatten()[order[: int((1 - k) * count)]] = 0
            return out * scores
    """
    assert found(largest)["k"].value == 0.5


def test_a_number_beside_a_step_of_rounding_keeps_from_dividing_by_zero_or_is_the_step() -> None:
    def rounding(step: str) -> dict[str, Any]:
        return found(f"def forward(ctx, x, size, eps):\n    return torch.round(x / ({step})) * size")

    assert rounding("size + eps")["eps"].value < 1e-3
    assert rounding("eps")["eps"].value == 0.5


def test_an_inverse_permutation_undoes_the_other() -> None:
    taken = formula(
        "x, order, order_inv", "x.gather(-1, order)", "g.gather(-1, order_inv), None, None", saved="order, order_inv"
    )
    guess = infer(function_of(taken))
    assert [each.fill for each in guess.recipe.arguments] == ["normal", "shuffled", "inverse"]
    assert "undoes the other" in dict(guess.because)["order_inv"]


def test_what_forward_reads_is_no_regulariser() -> None:
    assert found("def forward(ctx, x, cutoff):\n    return torch.exp(-x * x / cutoff)")["cutoff"].value > 0.1


def test_an_index_may_pick_a_place_twice_where_backward_bears_zeros() -> None:
    gathered = """
        def forward(ctx, x, index):
            ctx.save_for_backward(index)
            ctx.like = x
            return x[..., index]
        def backward(ctx, g):
            out = torch.zeros_like(ctx.like)
            out[..., ctx.saved_tensors[0]] = g
            return out, None
    """
    assert found(gathered)["index"].fill == "index"


def test_the_lower_bound_is_below_the_upper_and_a_switch_in_a_tensor_is_on() -> None:
    clipped = formula(
        "x, lower, upper, enabled: torch.Tensor",
        "torch.minimum(torch.maximum(x, lower), upper) if enabled[0] == 1 else x",
        "g * 1, (g * (x < lower)).sum_to_size(lower.shape), (g * (x > upper)).sum_to_size(upper.shape), None",
        saved="x, lower, upper",
    )
    tensors = infer(function_of(clipped)).recipe.tensors()
    assert bool((tensors["lower"] < tensors["upper"]).all())
    assert bool(tensors["enabled"][0])


ROOT = "def forward(ctx, x):\n    {}\n    ctx.save_for_backward(x)\n    return x.abs().sqrt()"


@pytest.mark.parametrize(
    ("line", "fill"),
    [
        ("assert torch.all(x >= 0) and torch.all(x <= 1)", "positive"),
        ("if not torch.all(x <= 0) or (x < -1).any(): raise ValueError('a debt')", "negative"),
    ],
)
def test_numbers_keep_the_bounds_that_are_asked_for(line: str, fill: str) -> None:
    assert found(ROOT.format(line))["x"].fill == fill


LABELS = {
    "-(target * p.log() + (1 - target) * (1 - p).log()).sum()": ("binary", "1 - target"),
    "(1 - x * target).clamp(min=0).sum()": ("signs", "1 - x * target"),
}


@pytest.mark.parametrize("loss", LABELS)
def test_labels_are_what_the_loss_takes_them_for(loss: str) -> None:
    guess = infer(
        function_of(f"""
            def forward(ctx, x, target):
                p = torch.sigmoid(x)
                ctx.save_for_backward(p, target)
                return {loss}
            def backward(ctx, g):
                p, target = ctx.saved_tensors
                return g * (p - target), None
        """)
    )
    fill, reason = LABELS[loss]
    label = guess.recipe.arguments[1]
    assert (label.fill, label.grad, label.held) == (fill, False, "data")
    assert f"`{reason}`" in dict(guess.because)["target"]


def test_a_kernel_that_does_not_compile_with_floats_is_given_integers() -> None:
    kernel = function_of(
        """
        def forward(ctx, logits, target):
            if target.is_floating_point():  # as Triton says it, which runs on no CPU
                said = "IncompatibleTypeErrorImpl('invalid operands of type pointer<fp64> and triton.language.float64')"
                raise type("CompilationError", (Exception,), {"error_message": said})("at 5:39: def kernel(x, t):")
            ctx.save_for_backward(logits, target)
            return logits.gather(1, target[:, None]).squeeze(1)
        def backward(ctx, g):
            logits, target = ctx.saved_tensors
            return torch.zeros_like(logits).scatter_(1, target[:, None], g[:, None]), None
    """,
        doc="logits: (rows, classes), target: (rows,)",
    )
    assert infer(kernel).recipe.text() == "logits: float64[3,4]; target: int64[3] < 2"


def test_the_target_of_a_squared_error_is_any_number_that_does_not_learn() -> None:
    label = infer(SquaredError).recipe.arguments[1]
    assert (label.fill, label.grad, label.held) == ("normal", False, "data")


# How many of them are data.
NAMED_DATA = {"x, cos, sin": 2, "z, freqs_cis": 1, "x, h0_row, h1_row": 2, "x, frozen_weight": 1, "x, h0": 0, "x, w": 0}


@pytest.mark.parametrize("arguments", NAMED_DATA)
def test_tables_of_angles_taps_and_what_is_frozen_are_data_by_their_names(arguments: str) -> None:
    product = f"ctx.save_for_backward({arguments})\n    return {arguments.replace(', ', ' * ')}"
    found = infer(function_of(f"def forward(ctx, {arguments}):\n    {product}")).recipe.arguments
    assert sum(each.held == "data" for each in found) == NAMED_DATA[arguments]


def of_one_argument(name: str, value: str) -> InferredRecipe:
    return infer(
        function_of(f"""
            def forward(ctx, x, {name}):
                ctx.save_for_backward(x, {name})
                return {value.replace("NAME", name)}
            def backward(ctx, g):
                x, held = ctx.saved_tensors
                return x * 1, held * 1
        """)
    )


@pytest.mark.parametrize(
    ("name", "value", "fill"),
    [("probs", "x.sum() * NAME.log()", "simplex"), ("bin_edges", "x.sum() * NAME", "rising")],
)
def test_a_name_may_say_what_the_values_are_to_each_other(name: str, value: str, fill: str) -> None:
    guess = of_one_argument(name, value)
    assert {each.name: each.fill for each in guess.recipe.inputs}[name] == fill
    assert "as its name says" in dict(guess.because)[name]


@pytest.mark.parametrize(
    ("demand", "message"), [("(x > 0) & (x < 1)", "x lies between 0 and 1"), ("x.abs() < 1", "|x| < 1")]
)
def test_what_has_to_lie_between_0_and_1_does(demand, message):
    bounded = f"""
        def forward(ctx, x):
            if not ({demand}).all():
                raise ValueError("{message}")
            return torch.atanh(x)
    """
    assert infer(function_of(bounded)).recipe.text() == "x: float64[7] simplex"
