"""Functions of complex numbers, right ones and the mistakes that people make with them, by what is wrong."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import torch
from torch.autograd import Function

from functions.basics import altered, of, saving

Value = Callable[..., torch.Tensor]
Pull = Callable[..., Any]


def written(name: str, value: Value, pull: Pull, names: str = "z") -> type[Function]:
    """A Function of these arguments: ``value(*tensors)``, and ``pull(grad_output, *tensors)``."""

    forward = saving(value)
    arguments = [Parameter(each, Parameter.POSITIONAL_ONLY) for each in ("ctx", *names.split(", "))]
    forward.__signature__ = Signature(arguments)
    return altered(Function, name, forward=forward, backward=of(pull))


def _modulus(z: torch.Tensor) -> torch.Tensor:
    return (z.real**2 + z.imag**2).sqrt()


# Each with the recipe that calls it.
RIGHT: dict[str, tuple[type[Function], str]] = {
    "square": (written("Square", lambda z: z * z, lambda g, z: 2 * z.conj() * g), "z: complex128[3]"),
    "product": (
        written("Product", lambda z, w: z * w, lambda g, z, w: (g * w.conj(), g * z.conj()), "z, w"),
        "z: complex128[3]; w: complex128[3]",
    ),
    "exponential": (written("Exp", torch.exp, lambda g, z: g * z.exp().conj()), "z: complex128[]"),
    "modulus": (written("Modulus", _modulus, lambda g, z: g * z / _modulus(z)), "z: complex128[4]"),
    "power": (written("Power", lambda z: (z * z.conj()).real, lambda g, z: 2 * g * z), "z: complex128[2,2]"),
    "power, as complex": (written("Norm", lambda z: z * z.conj(), lambda g, z: 2 * g.real * z), "z: complex64[3]"),
    "angle": (
        written("Angle", lambda z: torch.atan2(z.imag, z.real), lambda g, z: 1j * g / z.conj()),
        "z: complex128[3]",
    ),
    "conjugate": (written("Conjugate", lambda z: z.conj().resolve_conj(), lambda g, z: g.conj()), "z: complex128[3]"),
    "Fourier transform": (
        written("Fourier", torch.fft.fft, lambda g, z: torch.fft.ifft(g, norm="forward")),
        "z: complex128[4]",
    ),
    "pairs": (
        written("Pairs", lambda z: torch.view_as_real(z).clone(), lambda g, z: torch.view_as_complex(g.contiguous())),
        "z: complex128[3]",
    ),
    "polar": (
        written(
            "Polar",
            torch.polar,
            lambda g, r, phi: tuple(
                (g * y.conj()).real for y in (torch.polar(r * 0 + 1, phi), 1j * torch.polar(r, phi))
            ),
            "r, phi",
        ),
        "r: float64[3] positive; phi: float64[3]",
    ),
    "scale": (
        written("Scale", lambda z, s: s * z, lambda g, z, s: (g * s, (g * z.conj()).real), "z, s"),
        "z: complex128[3]; s: float64[3]",
    ),
    "matrix product": (
        written("Matrices", torch.matmul, lambda g, a, b: (g @ b.mH, a.mH @ g), "a, b"),
        "a: complex128[2,3]; b: complex128[3,2]",
    ),
    "real part": (written("RealPart", lambda z: z.real.clone(), lambda g, z: g), "z: complex128[3]"),
}

WRONG: dict[str, tuple[type[Function], str, str]] = {
    "a conjugate forgotten": (
        written("Square", lambda z: z * z, lambda g, z: 2 * z * g),
        "z: complex128[3]",
        "the complex conjugate of the slope",
    ),
    "one of two conjugates forgotten": (
        written("Product", lambda z, w: z * w, lambda g, z, w: (g * w.conj(), g * z), "z, w"),
        "z: complex128[3]; w: complex128[3]",
        "For w backward returns minus the complex conjugate of the slope",
    ),
    "a conjugate and a factor 2 forgotten": (
        written("Power", lambda z: (z * z.conj()).real, lambda g, z: g * z.conj()),
        "z: complex128[3]",
        "0.5 times the complex conjugate of the slope",
    ),
    "a factor 2 forgotten": (
        written("Power", lambda z: (z * z.conj()).real, lambda g, z: g * z),
        "z: complex128[3]",
        "a factor 2 is missing",
    ),
    "the real part alone": (
        written("Square", lambda z: z * z, lambda g, z: 2 * (z.conj() * g).real),
        "z: complex128[3]",
        "returns 0 everywhere",
    ),
    "a conjugate not conjugated": (
        written("Conjugate", lambda z: z.conj().resolve_conj(), lambda g, z: g),
        "z: complex128[3]",
        "the complex conjugate of the slope",
    ),
    "forward's transform in backward": (
        written("Fourier", torch.fft.fft, lambda g, z: torch.fft.fft(g)),
        "z: complex128[5]",
        "the complex conjugate of the slope",
    ),
    "the sign of i in an angle": (
        written("Angle", lambda z: torch.atan2(z.imag, z.real), lambda g, z: -1j * g / z),
        "z: complex128[3]",
        "the complex conjugate of the slope",
    ),
    "None for one of two": (
        written("Product", lambda z, w: z * w, lambda g, z, w: (g * w.conj(), None), "z, w"),
        "z: complex128[3]; w: complex128[3]",
        "backward returns None",
    ),
}
