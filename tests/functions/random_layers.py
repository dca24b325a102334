"""Random layers as source text: computed in float32, in half or as they come, right, or wrong by a factor or a sign."""

from dataclasses import dataclass
from random import Random

HEAD = "import torch\n\nF = torch.nn.functional\n"
# None of them overflows in half where its value is finite: the gradient of such a one is NaN there, and so wrong.
FORMULAS = {
    "softmax": "F.softmax(x * w, -1)",
    "log softmax": "F.log_softmax(x + w, -1)",
    "layer norm": "F.layer_norm(x, x.shape[-1:], w)",
    "RMS norm": "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-3) * w",
    "linear": "x @ torch.diag(w) + x.sum(-1, keepdim=True)",
    "SwiGLU": "F.silu(x) * w",
    "GELU": "F.gelu(x + w)",
    "GELU by tanh": "F.gelu(x * w, approximate='tanh')",
    "cosine similarity": "F.cosine_similarity(x, w.expand_as(x), -1)",
    "logsumexp": "torch.logsumexp(x + w, -1)",
    "variance": "(x * w).var(-1)",
    "distance": "(x - w).norm(dim=-1)",
    "cumulative sum": "(x * w).cumsum(-1)",
    "focal loss": "-((1 - torch.sigmoid(x)) ** 2 * F.logsigmoid(x) * w).sum()",
    "Huber loss": "F.huber_loss(x, w.expand_as(x))",
    "product": "(1 + 0.1 * x * w).prod(-1)",
    "squared error": "F.mse_loss(x, w.expand_as(x))",
    "softplus": "F.softplus(x * w)",
    "ELU": "F.elu(x - w)",
    "outer product": "torch.einsum('...i,j->...ij', x, w)",
    "cross entropy of two": "F.binary_cross_entropy_with_logits(x, torch.sigmoid(w).expand_as(x))",
    "centred": "(x - x.mean(-1, keepdim=True)) * w",
    "soft maximum": "(x * torch.softmax(x, -1) * w).sum(-1)",
    "pairs": "(x[..., :, None] - x[..., None, :] + w).abs().sum(-1)",
}
INSIDE = ("torch.float32", "torch.float32", "x.dtype", "torch.float16", "torch.bfloat16")
SHAPES = ("rows, N", "batch, rows, N", "N,")
WRONG = ("", "", "1.05 * ", "-")
_TEXT = '''

class {name}(torch.autograd.Function):
    """x: ({shape}), w: (N,)"""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return {name}.value(x.to({inside}), w.to({inside})).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        x, w = (each.detach().requires_grad_() for each in ctx.saved_tensors)
        with torch.enable_grad():
            y = {name}.value(x.to({inside}), w.to({inside})).to(x.dtype)
        grad_x, grad_w = torch.autograd.grad(y, (x, w), grad_output)
        return {factor}grad_x, grad_w

    @staticmethod
    def value(x, w):
        return {formula}
'''


@dataclass(frozen=True)
class RandomLayer:
    """A layer: its formula, the dtype it is computed in, and the factor before the gradient of ``x``."""

    name: str
    formula: str
    inside: str
    factor: str
    text: str


def random_layer(seed: int) -> RandomLayer:
    """The layer of this number."""
    random = Random(seed)
    formula, inside, factor = random.choice(sorted(FORMULAS)), random.choice(INSIDE), random.choice(WRONG)
    name = f"Layer{seed}"
    text = _TEXT.format(name=name, shape=random.choice(SHAPES), inside=inside, factor=factor, formula=FORMULAS[formula])
    return RandomLayer(name, formula, inside, factor, text)
