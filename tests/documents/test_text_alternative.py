"""The figure in words: gradients are called gradients, and where nothing was asked nothing is claimed."""

from __future__ import annotations

import pytest
from support.scenes import document

from gradloupe.server.documents.text_alternative import data_table, kink_table


@pytest.mark.parametrize(
    ("address", "rows"),
    [
        ("/ops/clipped_relu.json?grad_output=-1", [["0", "kink", "0", "−1", "0"], ["2", "kink", "−1", "0", "0"]]),
        (
            "/ops/clamp_with_grad.json?min=-0.3&max=0.7&grad_output=-3",
            [["−0.3", "kink", "0", "−3", "−3"], ["0.7", "kink", "−3", "0", "−3"]],
        ),
    ],
)
def test_beside_a_kink_stand_gradients_and_are_called_so(server: str, address: str, rows: list[list[str]]) -> None:
    table = kink_table(document(server, address))  # type: ignore[arg-type]
    assert table
    assert table.head[2:] == ["grad left", "grad right", "backward"]
    assert table.rows == rows


def test_of_no_grad_output_the_words_claim_nothing_beside_a_kink(server: str) -> None:
    found = document(server, "/ops/clamp_with_grad.json?grad_output=0")
    table = kink_table(found)  # type: ignore[arg-type]
    assert table
    assert (table.head, table.rows) == (["input", "", "backward"], [["−1", "kink", "0"], ["1", "kink", "0"]])
    rows = {row[0]: row[2:] for row in data_table(found).rows}  # type: ignore[arg-type]
    assert rows["−1.000"] == rows["1.000"] == ["0", "0", "agree"]
    assert "kink" not in found["verdict"]["sentence"]
    assert "derivative" not in found["verdict"]["headline"]
