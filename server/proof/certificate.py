"""A certificate: what was proved, of which text, and the boxes by which anybody can check it again."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast

import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ... import __version__
from ..runtime.arrays import dtype_name
from ..runtime.section import Section
from .record import Dtype, Proof

FORMAT: Literal[1] = 1
MOST_BYTES = 8 << 20  # bound: of a file that is read
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


class BadCertificate(Exception):
    """A file that is no certificate, or not of this Function; the message says so in a sentence."""


@dataclass(frozen=True)
class Certificate:
    """What is claimed of a Function, and how it is called: with ``inputs`` and ``parameters`` where they are held.

    ``digest`` is the SHA-256 of the whole ``file``, of which ``text`` is the part that is shown. The file of an op of
    the gallery is known by the name of the op; ``recipe`` is how one of your own is called, empty where it says so.
    """

    __pydantic_config__ = _STRICT

    format: Literal[1]
    op: str
    file: str
    gallery: bool
    recipe: str
    digest: str
    text: str
    wrt: tuple[str, tuple[int, ...]]
    of: tuple[str, tuple[int, ...]]
    inputs: tuple[tuple[str, tuple[float, ...]], ...]
    parameters: tuple[tuple[str, bool | int | float | str], ...]
    grad_output: float
    proof: Proof
    versions: dict[str, str]
    dtype: Dtype = "float64"


_ADAPTER = TypeAdapter(Certificate)


def certify(proof: Proof, section: Section, grad_output: float, recipe: str = "") -> Certificate:
    """The certificate of a proof of this section; ``recipe`` is the text by which an own Function is called.

    Raises ``BadCertificate`` where there is no file to say what was proved.
    """
    op, path = section.op, _file_of(section.op.function)
    gallery = op.function.__module__.startswith("gradloupe.ops.")
    versions = {"gradloupe": __version__, "torch": str(torch.__version__), "python-flint": version("python-flint")}
    return Certificate(
        FORMAT,
        op.name,
        path.name,
        gallery,
        recipe,
        digest_of(path),
        op.source,
        (section.wrt, section.wrt_index),
        (section.of, section.of_index),
        section.inputs,
        section.parameters,
        grad_output,
        proof,
        versions,
        cast(Dtype, dtype_name(section.dtype)),
    )


def written(certificate: Certificate) -> bytes:
    """The certificate as JSON."""
    return _ADAPTER.dump_json(certificate, indent=1)


def read(data: bytes) -> Certificate:
    """The certificate in some JSON. Raises ``BadCertificate``; nothing in it is executed."""
    try:
        return _ADAPTER.validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise BadCertificate(f"it is no certificate: {place}: {first['msg']}") from None


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def section_of(certificate: Certificate, op: Any) -> Section:
    """The section that a certificate is about, of an op. Raises ``BadCertificate`` where it has no such inputs."""
    inputs = {each.name: len(each.values) for each in op.inputs}
    known = {name: len(values) for name, values in certificate.inputs} == inputs
    if not known or [name for name, _ in certificate.parameters] != [each.name for each in op.parameters]:
        raise BadCertificate("the Function has other inputs now")
    (wrt, wrt_index), (of, of_index) = certificate.wrt, certificate.of
    held = certificate.proof.held
    others = {each.name: each.shape for each in op.inputs} | {
        each.name: () for each in op.parameters if each.kind == "float"
    }
    if wrt not in inputs or of not in op.outputs or (held and not held.is_in(others, (wrt, wrt_index))):
        raise BadCertificate("the Function has other inputs now")
    given = (certificate.inputs, certificate.parameters)
    return Section(op, op, wrt, wrt_index, of, of_index, *given, getattr(torch, certificate.dtype))


def fault_of(certificate: Certificate, section: Section, surrogate: Callable[..., Any] | None) -> str:
    """What does not hold of a certificate: empty where each box is found again to be as it says."""
    from .prove import confirmed

    proof = certificate.proof
    return confirmed(proof, section, None if proof.of_forward else surrogate, certificate.grad_output)


def _file_of(function: type) -> Path:
    try:
        found = inspect.getsourcefile(function)
    except TypeError:
        found = None
    if found is None or not Path(found).is_file():
        raise BadCertificate("the Function is in no file")
    return Path(found)
