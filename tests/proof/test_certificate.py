"""Certificates: what was proved can be checked again by anybody, and nothing else passes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.sections import section
from support.written_functions import CUBE

from gradloupe.ops import OPS
from gradloupe.server.proof import prove
from gradloupe.server.proof.certificate import BadCertificate, certify, fault_of, read, section_of, written


def certificate_of(name: str) -> dict[str, Any]:
    """The certificate of an op on its own range, as plain JSON."""
    op, cut = OPS[name], section(name)
    proof = prove(cut, op.surrogate_for(cut.wrt, 1.0), *op.inputs[0].domain)
    assert proof is not None
    plain: dict[str, Any] = json.loads(written(certify(proof, cut, 1.0)))
    return plain


def fault(plain: dict[str, Any]) -> str:
    certificate = read(json.dumps(plain).encode())
    op = OPS[certificate.op]
    return fault_of(certificate, section_of(certificate, op), op.surrogate_for(certificate.wrt[0], 1.0))


@pytest.mark.parametrize(
    "name", ["exp", "clipped_relu", "clamp_with_grad", "swapped_gradients", "incorrect_clipped_relu"]
)
def test_a_certificate_holds_when_it_is_checked_again(name: str) -> None:
    assert fault(certificate_of(name)) == ""


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "another range": ({"stop": 9.0, "proved": [[-5.0, 9.0]]}, "its boxes are not what it says is proved"),
    "a smaller difference": ({"epsilon": 1e-15}, "a box is not as it says"),
    "wider boxes": ({"proved": [[-5.0, 5.0]], "pieces": [[-5.0, 5.0, 0]]}, "a box is not as it says"),
    "less effort": ({"pieces": [[-5.0, 5.0, 99]]}, "its boxes are not what it says is proved"),
    "a difference": ({"refuted": [[-1.0, 0.0]], "word": "refuted"}, "do not differ where it says"),
    "a wide kink": ({"points": [[-5.0, 5.0]], "proved": [], "pieces": []}, "it leaves out a part of the range"),
    "every number": ({"everywhere": True}, "it does not hold outside of the range"),
    "nothing": ({"word": "nothing"}, "it says nothing that could be checked"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_certificate_that_was_changed_to_claim(change: str) -> None:
    plain, (claims, sentence) = certificate_of("swish"), CHANGES[change]
    plain["proof"] |= claims
    assert sentence in fault(plain)


def test_a_refutation_that_lies_elsewhere_is_none() -> None:
    plain = certificate_of("incorrect_clipped_relu")
    plain["proof"]["witness"] |= {"start": 7.0, "stop": 7.5}
    assert fault(plain) == "what refutes it lies elsewhere"


def test_what_is_no_certificate_is_refused_with_its_place() -> None:
    with pytest.raises(BadCertificate, match=r"proof\.pieces"):
        read(json.dumps(certificate_of("exp") | {"proof": certificate_of("exp")["proof"] | {"pieces": "all"}}).encode())
    with pytest.raises(BadCertificate, match="it is no certificate"):
        read(b"{")


def verified(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of ``gradloupe --verify`` in a folder, and what it says."""
    command = [sys.executable, "-m", "gradloupe", "--verify", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def certified_file(folder: Path) -> str:
    """A file of one's own in the folder, and the certificate of its Function."""
    (folder / "my_ops.py").write_text(CUBE)
    program = (
        "from gradloupe.server.user_code.load import load_targets\n"
        "from gradloupe.server.user_code.user_functions import UserFunctions\n"
        "from support.sections import section\n"
        "from gradloupe.server.proof import prove\n"
        "from gradloupe.server.proof.certificate import certify, written\n"
        "op = UserFunctions(load_targets(('my_ops.py',))).op('MyCube', '')\n"
        "cut = section(op)\n"
        "print(written(certify(prove(cut, None, -2.0, 2.0), cut, 1.0, op.recipe.text())).decode())\n"
    )
    tests = str(Path(__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "certificate.json").write_text(ran.stdout)
    return "certificate.json"


def test_the_command_verifies_a_file_of_ones_own_and_refuses_one_that_was_changed(tmp_path: Path) -> None:
    name = certified_file(tmp_path)
    code, said = verified(tmp_path, name)
    assert (code, said.split(".")[0]) == (
        0,
        "It holds: backward of MyCube is its derivative for every real x, to 0 of the slope",
    )
    (tmp_path / "my_ops.py").write_text(CUBE.replace("3 * x", "4 * x"))
    code, said = verified(tmp_path, name)
    assert code == 2
    assert "it has been changed since" in said
