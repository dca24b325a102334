"""Which cards a search finds, and in which order.

A search has terms: the names of concepts that it speaks of, else single words. Every term has to be found on a card. It
counts most as a word of the title (the shorter the title, the more), then as the beginning of one, then as what the
concept shows or a keyword (group, name, verdict), then as a word of the text. The sum is the rank; among equals the
order is that of the gallery.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import NamedTuple

LONGEST = 100  # characters of a search that are read

_TITLE_WORD, _TITLE_PREFIX, _KEYWORD, _TEXT = 1000, 300, 100, 10
_UNFINISHED = 4  # letters from which a word of the text may be one that is still being typed
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_Words = frozenset[str]


class SearchedCard(NamedTuple):
    """What a search reads of a card."""

    name: str
    title: str
    keywords: str
    text: str


def ranked(query: str, cards: Iterable[SearchedCard]) -> list[str]:
    """The names of the cards that have every term of ``query``, best first; none for a query without words."""
    terms = _terms(query[:LONGEST])
    scores = {card.name: _score(terms, card) for card in cards} if terms else {}
    return sorted((name for name, score in scores.items() if score > 0), key=lambda name: -scores[name])


def suggestions(query: str, cards: Iterable[SearchedCard]) -> tuple[str, ...]:
    """Searches like ``query`` that find something; examples where nothing is alike."""
    known = {name.lower(): name for concept in CONCEPTS for name in concept.names}
    known |= {word.lower(): word for card in cards for word in _WORD.findall(card.title) if len(word) > 3}
    close = get_close_matches(query[:LONGEST].strip().lower(), known, n=3, cutoff=0.7)
    return tuple(known[each] for each in close) or EXAMPLES


def _score(terms: Sequence[str], card: SearchedCard) -> int:
    found = [_worth(term, card) for term in terms]
    return sum(found) if all(found) else 0


def _worth(term: str, card: SearchedCard) -> int:
    """What ``term`` counts for a card; more than one word only as the name of a concept or side by side."""
    title, keywords, text = _words_of(card.title), _words_of(card.keywords), _words_of(card.text)
    wanted = term.split()
    concept = _places().get(term, ())
    shown = 2 * _KEYWORD - concept.index(card.name) if card.name in concept else 0
    if all(word in title for word in wanted):
        return _TITLE_WORD + shown - len(title)  # the shorter title is nearer
    if not concept and any(word.startswith(term) for word in title):
        return _TITLE_PREFIX  # the name of a concept is a whole word
    if shown:
        return shown
    if all(word in keywords for word in wanted):
        return _KEYWORD
    begins = len(term) >= _UNFINISHED and any(word.startswith(term) for word in keywords | text)
    return _TEXT if len(wanted) == 1 and (term in text or begins) else 0


def _terms(query: str) -> list[str]:
    """The names of concepts in a query, the longest first, and the words that are left."""
    words = _ordered(query)
    terms: list[str] = []
    while words:
        length = next((n for n in range(min(len(words), 3), 1, -1) if " ".join(words[:n]) in _places()), 1)
        terms.append(" ".join(words[:length]))
        words = words[length:]
    return terms


@cache
def _places() -> dict[str, tuple[str, ...]]:
    """The ops of each concept by any of its names, as :func:`_ordered` writes them."""
    found: dict[str, tuple[str, ...]] = {}
    for concept in CONCEPTS:
        for name in concept.names:
            key = " ".join(_ordered(name))
            found[key] = (*found.get(key, ()), *concept.ops)
    return found


def _ordered(text: str) -> list[str]:
    """The words of a text as they are compared: without case, plural, and the choice between -ise and -ize."""
    return [_stem(word) for word in _WORD.findall(text.lower())]


@lru_cache(4096)
def _words_of(text: str) -> _Words:
    """The words of a text; of a class name also its parts."""
    return frozenset(_ordered(f"{text} {_CAMEL.sub(' ', text)}"))


def _stem(word: str) -> str:
    spelled = re.sub(r"iz(?=[eai])", "is", word)
    return spelled[:-1] if len(spelled) > 3 and spelled.endswith("s") and not spelled.endswith("ss") else spelled


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
    Concept(("huber", "smooth l1"), ("smooth_magnitude",)),
    Concept(("C++", "CUDA", "custom kernel", "scipy", "external code"), _INTO_NUMPY),
    Concept(("gradcheck",), ("incorrect_clipped_relu", "clamp_with_grad", "cube_wrong_double_backward")),
    Concept(("forgotten mask", "missing mask"), ("incorrect_clipped_relu",)),
    Concept(("kink", "subgradient"), ("relu", "clipped_relu", "abs_product", "leaky_relu", "hard_swish")),
)

EXAMPLES = ("straight through", "dead zone", "quantization", "spike", "in place")  # where nothing is found
