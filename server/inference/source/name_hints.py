"""Naming conventions: regular expressions for what the name of an argument suggests, and default numbers by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Literal

TENSOR_NAME = re.compile(
    r"^(x\w?|y\w?|z|u|v|w|h|i|q|k|inp(ut)?s?_?\w?|input_?(tensor|img)?_?|\w*tensor\w?|data|\w*feat(ure)?s?|\w*logits?|scores?|"
    r"\w*weights?|[A-Z]\w?|img|\w*images?|activations?|values?|theta|a|b|re|im|pred(iction)?s?|v_mem|grad(_\w+)?|bias|"
    r"probs?|\w*emb\w*|quer(y|ies)|keys?|t|mat(rix)?\w?|vec(tor)?\w?|points?|xyz\w?|mu|mean|log_?var|running_\w+|hidden|"
    r"state|cell|source|src|(co)?sines?\d?|cos\d?|sin\d?|freqs?(_\w+)?|filt|taps?|[hg][01](_\w+)?|output|real|imag|coords?|positions?|signal|audio|residual)$"
)
INDEX_NAME = re.compile(
    r"(^|_)(targets?|labels?|idx|ind(ices|ex)?|tgt|assign\w*|segments?|batch|ids?|neighbou?rs?|classes)(_\w+)?$"
)
# Whole numbers by convention: places, where the parts of a packed batch begin, and how long each is.
PLACES_NAME = re.compile(r"(^|_)(idx|ind(ices|ex)|(edge|segment|batch)_(index|ids?))(_\w+)?$")
OFFSETS_NAME = re.compile(r"(^|_)(offsets|cu_?seq_?lens?|cu_?lens|(ind|row_?|col_?)ptr)(_\w+)?$")
LENGTHS_NAME = re.compile(r"(^|_)(lengths|(seq_?)?lens)(_\w+)?$")
PARTS_NAMES: tuple[tuple[re.Pattern[str], Literal["offsets", "lengths"]], ...] = (
    (OFFSETS_NAME, "offsets"),
    (LENGTHS_NAME, "lengths"),
)
# The two ends of each edge of a graph.
EDGES_NAME = re.compile(r"(^|_)edge_?(index|list)$")
# How many there are of something: as many as a dimension of a tensor is long, where the two are equal.
COUNT_NAME = re.compile(r"(^|_)(num|n|size|count|vocab\w*)(_|$)|class(es)?$")
# What is not differentiated by convention: targets and weights of a loss, masks, running statistics, random noise,
# tables of angles that are computed beforehand, as those of a rotary embedding, taps of a filter, and frozen ones.
DATA_NAME = re.compile(
    r"(^|_)(targets?|tgt|labels?|y_?true|ground_?truths?|gts?|(sample|class|pos)_?weights?|masks?|valid|noises?|rand\w*|"
    r"running_\w+|cos|sin|(co)?sines?|freqs?|frequenc(y|ies)|rope|rotary|twiddles?|taps?|filts?|wavelets?|window|frozen)(_|\d|$)"
)
# Taps of a low and of a high pass: one alone may be the first state of a recurrent network.
TAPS_NAME = re.compile(r"^[hg][01]([a-z]|_\w+)?$")
# The label that a loss leaves out.
IGNORED_NAME = re.compile(r"(^|_)ignored?_?(ind(ex|ices)?|idx|labels?|id|token|value|class)$")
LABEL_NAME = re.compile(r"(^|_)(targets?|tgt|labels?|y_?true|ground_?truths?|gts?)(_|\d|$)")
# A permutation that undoes another one, which has the rest of its name.
INVERSE_NAMES = (
    re.compile(r"(^|_)(inv(erse)?|undo|revert|restore|back)(?=_|$)"),
    re.compile(r"(^|(?<=_))(un|inv)(?=[a-z]{3})"),
)
# Matrices that are symmetric.
SYMMETRIC_NAME = re.compile(r"(^|_)(cov(ariance)?|precision|gram|spd|psd|sym(metric)?|hessian|laplacian)(_|\d|$)")
# Probabilities of alternatives, which add up to 1, and numbers in ascending order.
PROBABILITY_NAME = re.compile(r"(^|_)(probs?|probabilit(y|ies)|simplex|pmf|posteriors?|priors?)\d*$")
SORTED_NAME = re.compile(r"(^|_)(sorted|ascending|knots?|break_?points?|boundaries|bin_?edges|quantiles?|cdf)\d*$")
MASK_NAME = re.compile(r"(^|_)(mask|cond(ition)?|valid)s?(_|$)")
POSITIVE_NAME = re.compile(
    r"(scale|sigma|std|var(iance)?|temp(erature)?|tau|step_?size|lengthscale|gamma|delta|probs?|weight_sum)$"
)
CHANNEL_NAME = re.compile(r"(^|_)(bias|gamma|beta|running_\w+|mean|var|scale|zero_?point|step_?size|alpha)s?(_|$)")
SCALAR_NAME = re.compile(
    r"(^|_)(scale|alpha|step_?size|threshold|temp\w*|tau|beta|lamb\w*|slope|delta|sigma|gamma|n?bits?|cut_?off|eps\w*|reg)"
    r"(_|$)"
)
CALLABLE_NAME = re.compile(r"(^|_)(fn|func|function|callback|hook|callable)$", re.IGNORECASE)
# Lower and upper bounds, which have to be in order.
LOWER_BOUND_NAME = re.compile(r"(^|_)(min(imum)?|low(er)?|lb)(_?(val(ue)?s?|bounds?|lim(it)?))?$")
UPPER_BOUND_NAME = re.compile(r"(^|_)(max(imum)?|high|upper|ub|clip)(_?(val(ue)?s?|bounds?|lim(it)?))?$|^alpha$")
# Small constants that keep a division from 0; and permutations.
TINY_NAME = re.compile(r"(^|_)(eps\w*|cut_?off|reg(ulari[sz]\w*)?|jitter|broaden\w*|tol(erance)?)(_|$)")
PERMUTATION_NAME = re.compile(r"(^|_)(perm|perms|permut\w*)(_|$)")
WEIGHT_NAME = re.compile(r"(weights?|kernel|filters?)$|^[wW]$")
IMAGE_NAME = re.compile(r"(^|_)(img|images?|rgb|pixels?)\d*(_|$)")

# The numbers to try for each pattern, the likeliest first.
_SUGGESTED: tuple[tuple[str, Sequence[Any]], ...] = (
    (r"dtype", ()),
    (r"(^|_)seed(_|$)", (0, 1)),
    (r"(^|_)device", ("cpu",)),
    (r"(?<!t)eps|tiny|jitter", (1e-5,)),
    (r"bits?(_|$)|nbit|precision|numbits|bit_?width", (4, 8)),
    (r"q_?min|qn$|n_val|min_?int|neg(ative)?_?(bound|lim\w*)", (-4, -1.0)),
    (r"q_?max|qp$|p_val|max_?int|pos(itive)?_?(bound|lim\w*)", (3, 1.0)),
    (r"(^|_)(min|low(er)?|lb|left|lo|minimum|a_?min)(_|$|val|bound)", (-1.0, 0, -1)),
    (r"(^|_)(max|high|upper|ub|clip\w*|hi|right|bound|maximum|a_?max)(_|$|val|bound|norm)", (1.0, 2, 1)),
    (r"(^|_)(dims?|axis|axes)(_(?!size)|$)", (-1, 1, 0)),
    (r"n_?iters?|num_?iter\w*|max_?iter\w*|n_?steps?$|num_?steps", (10, 3)),
    (r"thre?s?h?(old)?|vth|v_th", (0.5, 1.0)),
    (r"slope|leak|negative", (0.2, 0.1)),
    (r"kernel(_?size)?|ks(ize)?$|window", (3, 2)),
    (r"pad(ding)?", (1, 0)),
    (r"stride|dilation|groups?$|(^|_)(up|down)\w*", (1, 2)),
    (r"num_?class\w*|n_?class\w*|num_?embed\w*|vocab\w*|num_?segments?|num_?experts", (3, 5)),
    (
        r"(^|_)(k|top_?k|n|m|num|count|size|rank|levels?|idx|index|len(gth)?|chunks?|heads?|groups?|n_\w+|num_\w+)(_|$)",
        (2, 3, 1),
    ),
    (r"zero_?point|zp|offset|shift|start|begin", (0, 0.0, 1)),
    (r"^p$|prob|drop|rate|momentum|decay|keep", (0.5, 0.1)),
    (r"width|height", (1.0, 0.5, 2)),
    # A factor of 1 would show nothing, so 0.5 comes first.
    (
        r"scale|alpha|beta|gamma|lamb|coeff|temp|tau|sigma|std|factor|weight|strength|lr|delta|mu|const|ratio",
        (0.5, 1.0, 2),
    ),
    (r"shape|size", ((4,), (2, 3), 2)),
)


def is_tiny_constant(name: str, used: Collection[str]) -> bool:
    """Whether a constant should be tiny: one that backward alone uses, to keep a division from 0."""
    return "forward" not in used and bool(TINY_NAME.search(name.lower()))


def is_whole(name: str) -> bool:
    """Whether a tensor of this name holds whole numbers by convention."""
    return any(each.search(name) for each in (PLACES_NAME, OFFSETS_NAME, LENGTHS_NAME))


def suggested_values(name: str) -> Sequence[Any]:
    """The numbers to try for an argument of this name, the likeliest first; none if no pattern fits."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return next((values for pattern, values in _SUGGESTED if re.search(pattern, plain)), ())
