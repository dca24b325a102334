"""What people call things that the titles of Functions call otherwise: the synonyms that the search knows."""

from __future__ import annotations

from typing import NamedTuple


class Concept(NamedTuple):
    """What is meant by any of ``names``, and the Functions of the gallery that show it, best first."""

    names: tuple[str, ...]
    ops: tuple[str, ...]


_STRAIGHT_THROUGH = (
    *("round_straight_through", "sign_straight_through", "sign_straight_through_clipped", "one_hot_argmax"),
    *("top_k_mask", "sparse_straight_through", "bernoulli_straight_through", "replace_grad"),
)
_SPIKES = ("heaviside_sigmoid", "superspike", "heaviside_atan", "heaviside_triangle", "heaviside_gaussian")
_SIGNS = ("sign_straight_through_clipped", "sign_straight_through", "sign_quadratic", "sign_swish")
_QUANTISERS = (
    *("fake_quantize", "dorefa", "learned_step_size", "pact", "round_straight_through", "stochastic_round"),
    *("ternary", "sign_straight_through_clipped", "sparse_straight_through"),
)
_INTO_NUMPY = ("numpy_cube", "bessel_j0", "lambert_w", "fixed_point_tanh")
_NO_SECOND = ("sinh_on_ctx", "sinh", "tanh_once_differentiable", "cube", "cube_wrong_double_backward", "square")
_IN_PLACE = ("gradient_changed_in_place", "input_changed_in_place", "changes_what_it_saved")

CONCEPTS = (
    Concept(("STE", "straight through", "straight through estimator"), _STRAIGHT_THROUGH),
    Concept(("quantization", "quantize", "quantizer", "quantized", "QAT", "int4", "int8", "low bit"), _QUANTISERS),
    Concept(
        ("dead zone", "dead gradient", "zero gradient", "stuck"),
        ("clamp_with_grad", "lower_bound", "leaky_relu", "relu", "clipped_relu", "sparse_straight_through", "ternary"),
    ),
    Concept(("dying relu", "dead relu", "dead neuron"), ("leaky_relu", "relu", "elu", "clipped_relu")),
    Concept(
        ("vanishing gradient", "vanishing gradients", "saturation"),
        ("leaky_relu", "clamp_with_grad", "relu", "elu", "heaviside_sigmoid", "round_straight_through", "clipped_relu"),
    ),
    Concept(("exploding gradient", "exploding gradients"), ("gradient_clip", "truncated_exp", "gradient_scale")),
    Concept(
        ("clipping", "clip", "clamp"),
        ("gradient_clip", "clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu", "pact", "truncated_exp"),
    ),
    Concept(("spike", "spiking", "SNN", "spiking neuron", "neuromorphic", "surrogate gradient"), _SPIKES),
    Concept(("binarize", "binarization", "binary", "BNN", "one bit", "1 bit"), _SIGNS),
    Concept(("pruning", "prune", "sparsity"), ("sparse_straight_through", "top_k_mask", "kill_head")),
    Concept(("dropout",), ("bernoulli_straight_through", "kill_head", "top_k_mask", "stochastic_round")),
    Concept(("ablation", "attention head"), ("kill_head",)),
    Concept(("random", "stochastic", "noise"), ("bernoulli_straight_through", "stochastic_round", "noisy_backward")),
    Concept(("softmax", "probabilities", "attention"), ("softmax", "sparsemax", "cross_entropy", "logsumexp")),
    Concept(("argmax", "hard attention", "gumbel"), ("one_hot_argmax", "top_k_mask", "sparsemax", "logsumexp")),
    Concept(
        ("reversal", "domain adaptation", "domain adversarial", "DANN", "adversarial", "GRL"), ("gradient_reversal",)
    ),
    Concept(("focal", "focal loss", "loss", "classifier", "NLL"), ("cross_entropy",)),
    Concept(("detach", "no grad", "freeze"), ("stop_gradient", "gradient_scale", "replace_grad")),
    Concept(("VQ-VAE", "VQVAE", "codebook", "VQGAN", "vector quantization"), ("replace_grad", "clamp_with_grad")),
    Concept(("saliency", "explain", "interpretability"), ("guided_relu", "deconvolution_relu")),
    Concept(("bias", "broadcast", "broadcasting", "batch"), ("functional_linear", "pact", "replace_grad")),
    Concept(("matmul", "GEMM", "transpose", "linear layer"), ("matrix_product", "functional_linear")),
    Concept(("cumsum", "prefix sum"), ("cumulative_sum",)),
    Concept(("normalization", "norm", "layernorm"), ("layer_norm", "l2_norm", "norm_with_a_hole", "smooth_magnitude")),
    Concept(("nan", "division by zero", "0/0"), ("norm_with_a_hole", "l2_norm", "smooth_magnitude")),
    Concept(("overflow", "infinity", "log sum exp"), ("logsumexp", "exp", "softplus_with_threshold", "truncated_exp")),
    Concept(("SiLU",), ("swish", "hard_swish")),
    Concept(("implicit", "DEQ", "equilibrium"), ("fixed_point_tanh", "lambert_w")),
    Concept(("double backward", "second derivative", "gradgradcheck", "Hessian", "create_graph"), _NO_SECOND),
    Concept(("gradient penalty",), ("square", "sinh_on_ctx", "cube")),
    Concept(("in place", "inplace", "mutation"), _IN_PLACE),
    Concept(("memory leak", "leak"), ("output_kept_on_ctx",)),
    Concept(("forward mode", "jvp", "jacfwd"), ("wrong_jvp",)),
    Concept(("C++", "CUDA", "custom kernel", "scipy", "external code"), _INTO_NUMPY),
    Concept(("gradcheck",), ("incorrect_clipped_relu", "clamp_with_grad", "cube_wrong_double_backward")),
    Concept(("forgotten mask", "missing mask"), ("incorrect_clipped_relu",)),
    Concept(("kink", "subgradient"), ("relu", "clipped_relu", "abs_product", "leaky_relu", "hard_swish")),
)

EXAMPLES = ("straight through", "dead zone", "quantization", "spike", "in place")  # where nothing is found
