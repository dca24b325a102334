"""``gradloupe --verify``: the certificate of a proof is checked again, by the very Function that it is about.

Nothing in the certificate is executed: the Function is imported from your own file, or is that of the gallery, and only
where the file is the same to the last byte.
"""

import os
import sys
from pathlib import Path

from ...ops import OPS, Op, op
from ..numerics.sentences.proof_sentence import named
from ..proof import AVAILABLE
from ..proof.certificate import MOST_BYTES, BadCertificate, Certificate, digest_of, fault_of, read, section_of
from ..protocol.errors import LoadFailed, Unsolved
from ..user_code.load import load_targets
from ..user_code.user_functions import UserFunctions

_HOLDS, _DOES_NOT, _NOT_ASKED = range(3)  # unit: exit codes


def main(certificate: str, *targets: str) -> int:
    """Say in a sentence whether a certificate holds, and return the exit code: 0 if so, 1 if not, 2 if not asked."""
    if not AVAILABLE:
        return _told("Proofs need python-flint: pip install 'gradloupe[proof]'.", _NOT_ASKED)
    try:
        known = _read(Path(certificate))
        found = _op(known, targets[0] if targets else known.file)
        section = section_of(known, found)
    except BadCertificate as problem:
        return _told(f"{certificate}: {problem}.", _NOT_ASKED)
    fault = fault_of(known, section, found.surrogate_for(section.wrt, known.grad_output))
    if fault:
        return _told(f"{certificate} does not hold: {fault}.", _DOES_NOT)
    return _told(_sentence(known), _HOLDS)


def _read(path: Path) -> Certificate:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadCertificate(f"it is larger than the {MOST_BYTES >> 20} MiB that a certificate may be")
        return read(path.read_bytes())
    except OSError as problem:
        raise BadCertificate(f"it cannot be read: {problem.strerror}") from None


def _op(certificate: Certificate, target: str) -> Op:
    """The op of the certificate, of a file that is the same. Raises ``BadCertificate``."""
    if certificate.gallery:
        if certificate.op not in OPS:
            raise BadCertificate(f"there is no {certificate.op!r} in this gallery")
        _compare(Path(str(op.__file__)).with_name(f"{certificate.op}.py"), certificate)
        return OPS[certificate.op]
    path = Path(target.partition(":")[0])
    _compare(path, certificate)
    try:
        functions = UserFunctions(load_targets((str(path),)))
        if certificate.op not in {each["name"] for each in functions.catalogue}:
            raise BadCertificate(f"there is no {certificate.op!r} in {path}")
        return functions.op(certificate.op, certificate.recipe)
    except (LoadFailed, Unsolved) as problem:
        raise BadCertificate(f"{path} cannot be looked at: {problem}".rstrip(".")) from None


def _compare(path: Path, certificate: Certificate) -> None:
    if not path.is_file():
        raise BadCertificate(f"there is no {path} here; name the file: gradloupe path/to/{path.name} --verify FILE")
    if digest_of(path) != certificate.digest:
        raise BadCertificate(f"{path} is not the file that was proved: it has been changed since")


def _sentence(certificate: Certificate) -> str:
    proof = certificate.proof
    points = len(proof.points)
    but = f", but at {points} point{'s' * (points != 1)}" if points else ""
    where = f"for all {certificate.wrt[0]} from {proof.start:g} to {proof.stop:g}"
    where = f"for every real {certificate.wrt[0]}" if proof.everywhere else where
    held = f" and all {named(proof.held)} from {proof.held.low:g} to {proof.held.high:g}" if proof.held else ""
    said = {
        "proved": f"is its derivative {where}{held}{but}, to {proof.epsilon:g} of the slope",
        "refuted": "is not its derivative",
        "in part": f"is its derivative in {proof.share:.1%} of the range{held}",
    }[proof.word]
    return f"It holds: backward of {certificate.op} {said}. {len(proof.pieces)} boxes were checked again."


def _told(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr if code == _NOT_ASKED else sys.stdout)
    return code


if __name__ == "__main__":
    sys.path.insert(0, os.curdir)
    raise SystemExit(main(*sys.argv[1:]))
