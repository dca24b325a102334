"""Functions of complex numbers, right ones and the mistakes that people make with them, by what is wrong."""

from typing import Any

from support.written_functions import formula, function_of


def _written(recipe: str, value: str, gradients: str, *said: str) -> tuple[Any, ...]:
    """The Function of the arguments of a recipe, with that and what is said of it."""
    names = ", ".join(each.partition(":")[0].strip() for each in recipe.split(";"))
    return function_of(formula(names, value, gradients)), recipe, *said


ONE, TWO = "z: complex128[3]", "z: complex128[3]; w: complex128[3]"
MODULUS = "(z.real**2 + z.imag**2).sqrt()"
# What forward and backward return, and the recipe that calls it.
RIGHT = {
    "square": _written(ONE, "z * z", "2 * z.conj() * g"),
    "product": _written(TWO, "z * w", "g * w.conj(), g * z.conj()"),
    "exponential": _written("z: complex128[]", "z.exp()", "g * z.exp().conj()"),
    "modulus": _written("z: complex128[4]", MODULUS, f"g * z / {MODULUS}"),
    "power": _written("z: complex128[2,2]", "(z * z.conj()).real", "2 * g * z"),
    "power, as complex": _written("z: complex64[3]", "z * z.conj()", "2 * g.real * z"),
    "angle": _written(ONE, "torch.atan2(z.imag, z.real)", "1j * g / z.conj()"),
    "conjugate": _written(ONE, "z.conj().resolve_conj()", "g.conj()"),
    "Fourier transform": _written("z: complex128[4]", "torch.fft.fft(z)", "torch.fft.ifft(g, norm='forward')"),
    "pairs": _written(ONE, "torch.view_as_real(z).clone()", "torch.view_as_complex(g.contiguous())"),
    "polar": _written(
        "r: float64[3] positive; phi: float64[3]",
        "torch.polar(r, phi)",
        "(g * torch.polar(r * 0 + 1, phi).conj()).real, (g * (1j * torch.polar(r, phi)).conj()).real",
    ),
    "scale": _written("z: complex128[3]; s: float64[3]", "s * z", "g * s, (g * z.conj()).real"),
    "matrix product": _written("a: complex128[2,3]; b: complex128[3,2]", "a @ b", "g @ b.mH, a.mH @ g"),
    "real part": _written(ONE, "z.real.clone()", "g + 0j"),
}
# And a part of what is said of it.
CONJUGATE = "the complex conjugate of the slope"
WRONG = {
    "a conjugate forgotten": _written(ONE, "z * z", "2 * z * g", CONJUGATE),
    "one of two conjugates forgotten": _written(
        *(TWO, "z * w", "g * w.conj(), g * z"),
        "For w backward returns the complex conjugate of the slope, times grad_output",
    ),
    "a conjugate and a factor 2 forgotten": _written(
        ONE, "(z * z.conj()).real", "g * z.conj()", f"0.5 times {CONJUGATE}"
    ),
    "a factor 2 forgotten": _written(ONE, "(z * z.conj()).real", "g * z", "a factor 2 is missing"),
    "the real part alone": _written(ONE, "z * z", "2 * (z.conj() * g).real", "returns 0 everywhere"),
    "a conjugate not conjugated": _written(ONE, "z.conj().resolve_conj()", "g", CONJUGATE),
    "forward's transform in backward": _written("z: complex128[5]", "torch.fft.fft(z)", "torch.fft.fft(g)", CONJUGATE),
    "the sign of i in an angle": _written(ONE, "torch.atan2(z.imag, z.real)", "-1j * g / z", CONJUGATE),
    "None for one of two": _written(TWO, "z * w", "g * w.conj(), None", "backward returns None"),
}
