"""Shapes that are found: those that the source says, an error hints at, or a wrong size would hide."""

import pytest
from support.written_functions import formula, function_of

from gradloupe.server.inference.infer import infer

SHAPES = {
    # Bands of a tridiagonal matrix.
    "below: float64[6]; on: float64[7]; x: float64[7]": """
        def forward(ctx, below, on, x):
            ctx.save_for_backward(below, on, x)
            y = on * x
            y[1:] += below * x[:-1]
            return y
        def backward(ctx, g):
            below, on, x = ctx.saved_tensors
            of_x = on * g
            of_x[:-1] += below * g[1:]
            return g[1:] * x[:-1], g * x, of_x
    """,
    # A sparse matrix by its rows, columns and values.
    "rows: int64[7] < 2; cols: int64[7] < 2; values: float64[7]; x: float64[5,7]; n = 2": """
        def forward(ctx, rows, cols, values, x, n):
            ctx.save_for_backward(rows, cols, values, x)
            return x.new_zeros(n, x.shape[1]).index_add_(0, rows, values.unsqueeze(1) * x[cols])
        def backward(ctx, g):
            rows, cols, values, x = ctx.saved_tensors
            of_x = torch.zeros_like(x).index_add_(0, cols, values.unsqueeze(1) * g[rows])
            return None, None, (g[rows] * x[cols]).sum(1), of_x, None
    """,
    "indices: int64[2,4] < 2; values: float64[4]; x: float64[2,4]": """
        def forward(ctx, indices, values, x):
            rows, cols = indices
            ctx.save_for_backward(indices, values, x)
            return x.new_zeros(4, x.shape[1]).index_add_(0, rows, values[:, None] * x[cols])
        def backward(ctx, g):
            (rows, cols), values, x = ctx.saved_tensors
            of_x = torch.zeros_like(x).index_add_(0, cols, values[:, None] * g[rows])
            return None, (g[rows] * x[cols]).sum(1), of_x
    """,
    "x: float64[2,4,6,6]": """
        def forward(ctx, x):
            n, c, h, w = x.shape
            ctx.size = (n, c, h, w)
            return x.reshape(n, c, h * w).sum(-1)
        def backward(ctx, g):
            return g[..., None, None].expand(ctx.size)
    """,
    "left: float64[3,4]; right: float64[5,4]": formula("left, right", "left @ right.t()", "g @ right, g.t() @ left"),
    "q: float64[2,4,6,6]; k: float64[2,4,6,6]": formula(
        "q, k",
        'torch.einsum("bhqd,bhkd->bhqk", q, k)',
        'torch.einsum("bhqk,bhkd->bhqd", g, k), torch.einsum("bhqk,bhqd->bhkd", g, q)',
    ),
    "a: float64[3,4]; b: float64[4,1]": """
        def forward(ctx, a, b):
            _, columns = a.shape
            assert b.shape == (columns, 1)
            ctx.save_for_backward(a, b)
            return a.mm(b)
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g.mm(b.t()), a.t().mm(g)
    """,
    "x: float64[3,4]; m = 2": """
        def forward(ctx, x, m):
            ctx.m = m
            return torch.cat([x[:, :m] * 2, x[:, m:]], dim=1)
        def backward(ctx, g):
            return torch.cat([g[:, : ctx.m] * 2, g[:, ctx.m :]], dim=1), None
    """,
    "q: float64[4]": formula(
        "q", "q[..., 3:4] * q[..., :3]", "torch.cat([g * q[..., 3:4], (g * q[..., :3]).sum(-1, keepdim=True)], -1)"
    ),
    # A quaternion and a point in homogeneous coordinates.
    "pose: float64[7]; p: float64[4]": """
        def forward(ctx, pose, p):
            shift, turn = pose[..., :3], pose[..., 3:]
            moved = p[..., :3] + torch.linalg.cross(turn[..., :3], p[..., :3]) * turn[..., 3:] + shift * p[..., 3:]
            ctx.save_for_backward(pose, p)
            return torch.cat((moved, p[..., 3:]), -1)
        def backward(ctx, g):
            pose, p = ctx.saved_tensors
            return pose * g.sum(-1, keepdim=True), p * g
    """,
    "x: float64[4]; sizes = (2, 2)": """
        def forward(ctx, x, sizes):
            ctx.before, count = x.shape, 1
            for each in sizes:
                count *= each
            if x.numel() != count:
                raise RuntimeError(f"requested {count} elements in total, but there are {x.numel()}")
            return x.reshape(sizes)
        def backward(ctx, g):
            return g.reshape(ctx.before), None
    """,
    "x: float64[32]": """
        def forward(ctx, x):
            if x.shape[-1] != 32:
                raise ValueError("The last dimension must be 32.")
            return x * 2
    """,
    "q: float64[2,4,6,4]; cos: float64[4,2] nograd; sin: float64[4,2] nograd": '''
        def forward(ctx, q, cos, sin):
            """q: (batch, seq, heads, dim), rotated by cos, sin of (seq, dim // 2)."""
            c, s = cos[:, None].repeat(1, 1, 2), sin[:, None].repeat(1, 1, 2)
            ctx.save_for_backward(c, s)
            return q * c + q.flip(-1) * s
        def backward(ctx, g):
            c, s = ctx.saved_tensors
            return g * c + (g * s).flip(-1), None, None
    ''',
    "mu: float64[7]; sigma: float64[7] positive; color: float64[7]": '''
        def forward(ctx, mu, sigma, color):
            """Gaussians (mu, sigma > 0, color), each (K,)."""
            ctx.save_for_backward(mu, sigma, color)
            return (mu / sigma) @ color
        def backward(ctx, g):
            mu, sigma, color = ctx.saved_tensors
            return g * color / sigma, -g * color * mu / sigma**2, g * mu / sigma
    ''',
    # One shape may be said of several names, and beside what the numbers are.
    "q: float64[2,4,6,4]; k: float64[2,4,6,4]; freqs: float64[4,2] nograd": '''
        def forward(ctx, q, k, freqs):
            """q, k: [b, s, h, d]; freqs: [s, d // 2] angles."""
            cos = freqs.cos()[:, None].repeat(1, 1, 2)
            ctx.save_for_backward(cos)
            return q * cos, k * 2
        def backward(ctx, g, h):
            return g * ctx.saved_tensors[0], h * 2, None
    ''',
    "c: float64[3,4]; a: float64[3]; b: float64[4]": '''
        def forward(ctx, c, a, b):
            """c: scores (m, n); a, b: weights (m,), (n,)."""
            ctx.save_for_backward(c, a, b)
            return c * a.unsqueeze(1) * b
        def backward(ctx, g):
            c, a, b = ctx.saved_tensors
            return g * a.unsqueeze(1) * b, (g * c * b).sum(1), (g * c * a.unsqueeze(1)).sum(0)
    ''',
    "turns: float64[3,4]": '''
        def forward(ctx, turns):
            """Normalises turns (w, x, y, z), shape (N, 4)."""
            return turns * 2
        def backward(ctx, g):
            return g * 2
    ''',
    # For "..." stands a dimension, too: that the sum over it is missing is not seen without one.
    "x: float64[3,4]; gain: float64[4]": '''
        def forward(ctx, x, gain):
            """x: (..., hidden), gain: (hidden,)"""
            ctx.save_for_backward(x, gain)
            return x * gain
        def backward(ctx, g):
            x, gain = ctx.saved_tensors
            return g * gain, (g * x).reshape(-1, x.shape[-1]).sum(0)
    ''',
    "points: float64[2,3,3]; others: float64[2,5,3]": """
        def forward(ctx, points, others):
            # points: B x N x 3, others: B x M x 3
            ctx.save_for_backward(points, others)
            return torch.cdist(points, others).square()
        def backward(ctx, g):
            points, others = ctx.saved_tensors
            apart = 2 * g.unsqueeze(-1) * (points.unsqueeze(2) - others.unsqueeze(1))
            return apart.sum(2), -apart.sum(1)
    """,
    # The index of torch is an int64, also where an error names another dtype first.
    "src: float64[3,4]; index: int64[3] < 2; nodes = 2": '''
        def forward(ctx, src, index, nodes):
            """src: (num_edges, heads), index: (num_edges,)"""
            ctx.index = index.view(-1, 1).expand_as(src)
            return src.new_zeros(nodes, src.shape[1]).scatter_add(0, ctx.index, src)
        def backward(ctx, g):
            return g.gather(0, ctx.index), None, None
    ''',
    # A matrix that is multiplied is none of the vectors that an error asks for.
    "A: float64[3,4]; x: float64[4]": """
        def forward(ctx, A, x):
            ctx.save_for_backward(A, x)
            return A @ x
        def backward(ctx, g):
            A, x = ctx.saved_tensors
            return torch.outer(g, x), A.t() @ g
    """,
    "x: float64[2,3,4]; target: float64[2,1,4] nograd": """
        def forward(ctx, x, target):
            B, _, T = x.shape
            assert target.shape == (B, 1, T) or target.shape == (1, 1, T)
            ctx.save_for_backward(target)
            return (x * target).sum(-1)
        def backward(ctx, g):
            (target,) = ctx.saved_tensors
            return g[..., None] * target, None
    """,
    # What is taken apart has equal parts.
    "x: float64[8]": """
        def forward(ctx, x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat((-b, a), -1)
        def backward(ctx, g):
            a, b = g.chunk(2, dim=-1)
            return torch.cat((b, -a), -1)
    """,
    "x: float64[3,6]; w: float64[6,9]": """
        def parts(h):
            return h.unflatten(-1, (3, -1)).unbind(-2)
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            q, k, v = Own.parts(x @ w)
            return q * 2 + k * 3 + v * 4
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            g = torch.cat((g * 2, g * 3, g * 4), -1)
            return g @ w.t(), x.t() @ g
    """,
    "x: float64[9]": (
        "def forward(ctx, x): return x[..., ::3] * x[..., 1::3]\n"
        "def backward(ctx, g): return g.repeat_interleave(3, -1)"
    ),
    # The size of complex numbers, each a pair.
    "x: float64[2]": """
        def forward(ctx, x):
            y = (x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]).sqrt()
            ctx.save_for_backward(x, y)
            return y
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return x * (g / y)[..., None] if x.dim() > 1 else x * g / y
    """,
}


@pytest.mark.parametrize("recipe", SHAPES)
def test_shapes_are_found_that_a_function_works_with(recipe: str) -> None:
    assert infer(function_of(SHAPES[recipe])).recipe.text() == recipe


def test_a_shape_that_an_assert_writes_out_is_taken() -> None:
    banded = """
        def forward(ctx, main, upper, x):
            rows, size = main.shape
            if upper.shape != (rows, size - 1):
                raise ValueError("argument 'upper' must have shape (B, N-1)")
            if x.dim() != 3 or x.shape[:2] != (rows, size):
                raise ValueError("argument 'x' must have shape (B, N, K)")
            ctx.save_for_backward(main, upper, x)
            y = main[..., None] * x
            return torch.cat((y[:, :-1] + upper[..., None] * x[:, 1:], y[:, -1:]), 1)
        def backward(ctx, g):
            main, upper, x = ctx.saved_tensors
            back = main[..., None] * g
            return (g * x).sum(-1), (g[:, :-1] * x[:, 1:]).sum(-1), back
    """
    main, upper, x = (each.shape for each in infer(function_of(banded)).recipe.inputs)
    assert upper == (main[0], main[1] - 1)
    assert x[:2] == main


def test_no_usual_shape_hides_what_is_done_along_a_dimension() -> None:
    voxels = """
        def forward(ctx, x):
            torch.nn.functional.avg_pool3d(x, 2)
            return x.cumsum(0)
        def backward(ctx, g):
            return g
    """
    (x,) = infer(function_of(voxels)).recipe.inputs
    assert len(x.shape) == 5
    assert min(x.shape) > 1


def test_what_a_sparse_tensor_is_made_of_fits_together() -> None:
    sparse = """
        def forward(ctx, indices, values, shape, b):
            a = torch.sparse_coo_tensor(indices, values, shape)
            ctx.save_for_backward(indices, a, b)
            return torch.matmul(a, b)
        def backward(ctx, g):
            indices, a, b = ctx.saved_tensors
            dense = g @ b.t()
            return None, dense[indices[0], indices[1]], None, a.t() @ g
    """
    indices, values, shape, b = infer(function_of(sparse)).recipe.arguments
    assert indices.shape == (2, *values.shape)
    assert (len(shape.value), len(b.shape)) == (2, 2)
    assert shape.value[1] == b.shape[0]


def test_many_arguments_do_not_hide_the_ones_that_matter() -> None:
    """Numbers that nobody knows, and sizes that are found only after all of them are given."""
    many = """
        def forward(ctx, x, y, a, b, c, d, e, f, g, *, h=1):
            first, second = x.split((3, 4), -1)
            ctx.save_for_backward(x, y)
            return (first * y[..., :3]).sum() + (second * y[..., 1:]).sum() + a * b * c + d * e * f * g
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return (grad * torch.cat((y[..., :3], y[..., 1:]), -1), grad * y, *[None] * 7)
    """
    guess = infer(function_of(many))
    x, y = guess.recipe.inputs
    assert (x.shape[-1], y.shape[-1]) == (7, 5)
    assert not guess.trouble
    assert guess.tried < 400


def test_pairs_that_are_read_as_complex_numbers_are_of_single_precision() -> None:
    product = """
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            y = a.detach().numpy().view("complex64") * b.detach().numpy().view("complex64")
            return torch.from_numpy(np.ascontiguousarray(y).view("float32"))
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a
    """
    found = infer(function_of(product)).recipe
    assert {(each.dtype, each.shape[-1]) for each in found.inputs} == {("float32", 2)}


def test_what_only_backward_reads_is_as_large_as_backward_needs_it() -> None:
    patterned = formula(
        "x, weight, pattern",
        "torch.nn.functional.linear(x, weight)",
        "torch.nn.functional.linear(g, pattern.t()), None, None",
    )
    guess = infer(function_of(patterned))
    assert not guess.trouble
    found = {each.name: each for each in guess.recipe.arguments}
    assert found["pattern"].shape == found["weight"].shape


SQUARE = {
    # An identity of its size stands beside it.
    "X: float64[4,4]": """
        def forward(ctx, X):
            n = X.size(-1)
            A = X - X.transpose(-1, -2)
            return torch.eye(n, dtype=X.dtype) + A
    """,
    # Newton's iteration for the root, which diverges but for matrices with positive eigenvalues.
    "mat: float64[4,4] spd; count = 20": """
        def forward(ctx, mat, count=20):
            eye = torch.eye(mat.shape[0], dtype=mat.dtype)
            y, z = mat / mat.norm(), eye
            for _ in range(count):
                t = (3 * eye - z @ y) / 2
                y, z = y @ t, t @ z
            return y
    """,
    # Of a vector it is an outer product, and no matrix.
    "v: float64[7]": """
        def forward(ctx, v):
            (n,) = v.shape
            return torch.eye(n, dtype=v.dtype) @ v
    """,
}


@pytest.mark.parametrize("recipe", SQUARE)
def test_what_has_an_identity_beside_it_is_square(recipe):
    assert infer(function_of(SQUARE[recipe])).recipe.text() == recipe


def test_a_call_of_single_elements_hides_no_backward_that_raises():
    found = infer(
        function_of("""
            def forward(ctx, a):
                if a.shape[0] != a.shape[-1]:
                    raise ValueError("a square matrix is wanted")
                ctx.size = a.shape
                return a @ a
            def backward(ctx, g):
                return g.reshape(1, 1)
        """)
    )
    assert found.passed_over[0] or found.trouble


# Makes each row add up to 1, along the dimension that it was given last.
NORMALIZED = """
    def forward(ctx, x, dim=-1):
        total = x.exp().sum(dim, keepdim=True)
        ctx.save_for_backward(x.exp() / total)
        ctx.dim = dim
        return x.exp() / total
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(ctx.dim, keepdim=True)), None
"""


def test_a_batch_hides_no_backward_that_raises_for_an_element_alone():
    found = infer(function_of(NORMALIZED.replace("y * (g - ", "y * (g - 0 * y.sum(1, keepdim=True) - ")))
    assert found.recipe.text() == "x: float64[3,4]; dim = -1"
    assert found.passed_over[0] == "x: float64[7]; dim = -1"
    assert "IndexError" in found.passed_over[1]
    assert infer(function_of(NORMALIZED)).passed_over == ("", "")


def test_other_sizes_that_forward_takes_otherwise_are_no_likelier_call():
    products = "def forward(ctx, x):\n    return x @ x.T\ndef backward(ctx, g):\n    ctx.rows, ctx.columns = g.shape"
    found = infer(function_of(f"{products}\n    return g.new_zeros(3, 4)"))
    assert found.recipe.text() == "x: float64[3,4]"
    assert found.passed_over == ("", "")
