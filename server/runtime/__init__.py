"""Calling a Function: arguments, sections and planes, batching, vector-Jacobian products, isolation, time limits, RNG.

What the numbers mean is decided in ``numerics``, ``contract`` and ``inference``; HTTP is not known here.
"""

from .arguments import BoundFunction
from .arrays import EPSILON
from .batching import batched_copies, batched_plane, batched_section, structure_name
from .failure import Failure, FunctionFailed
from .graph import declares_once
from .plane import Plane
from .reference import reference_of
from .rejected_points import find_rejected
from .rng import SEED, GeneratorStates, preserve_rng, seed_all_generators
from .section import BackwardResult, Section
from .stacked_inputs import InputCopies
from .timeouts import TookTooLong, time_limit
from .vjp import dense, expanded, strided, transposed

__all__ = [
    "EPSILON",
    "SEED",
    "BackwardResult",
    "BoundFunction",
    "Failure",
    "FunctionFailed",
    "GeneratorStates",
    "InputCopies",
    "Plane",
    "Section",
    "TookTooLong",
    "batched_copies",
    "batched_plane",
    "batched_section",
    "declares_once",
    "dense",
    "expanded",
    "find_rejected",
    "preserve_rng",
    "reference_of",
    "seed_all_generators",
    "strided",
    "structure_name",
    "time_limit",
    "transposed",
]
