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
from gradloupe.server.notebook.verify import main as verify
from gradloupe.server.proof import prove
from gradloupe.server.proof.certificate import BadCertificate, certify, fault_of, read, section_of, written
from gradloupe.server.user_code.load import load_targets
from gradloupe.server.user_code.user_functions import UserFunctions


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


def certified_file(folder: Path) -> str:
    """A file of one's own in the folder, where we are, and the certificate of its Function."""
    (folder / "my_ops.py").write_text(CUBE)
    op = UserFunctions(load_targets(("my_ops.py",))).op("MyCube", "")
    cut = section(op)
    proof = prove(cut, None, -2.0, 2.0)
    assert proof is not None
    (folder / "certificate.json").write_bytes(written(certify(proof, cut, 1.0, op.recipe.text())))
    return "certificate.json"


def test_the_command_verifies_a_file_of_ones_own_and_refuses_one_that_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = certified_file(tmp_path)
    command = [sys.executable, "-m", "gradloupe", "--verify", name]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.split(".")[0]) == (
        0,
        "It holds: backward of MyCube is its derivative for every real x, to 0 of the slope",
    )
    (tmp_path / "my_ops.py").write_text(CUBE.replace("3 * x", "4 * x"))
    assert verify(name) == 2
    assert "it has been changed since" in capsys.readouterr().err
