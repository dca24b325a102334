import pytest
from support import http

REFUSED = {
    "lr=0": "lr=0 is out of bounds",
    "lr=-1": "above 0",
    "lr=nan": "lr=nan is not finite",
    "lr=1e301": "out of bounds",
    "lr=1e39&dtype=float32": "too large for float32",
    "steps=0": "from 1 to 500",
    "steps=501": "from 1 to 500",
    "steps=2.5": "not a whole number",
    "goal=1,2": "needs 1",
    "goal=x": "goal=x is not a number",
    "goal=1e5&dtype=float16": "at most 65504",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_is_refused_by_name(server: str, query: str) -> None:
    response = http.get(f"{server}/ops/clamp_with_grad.json?view=descent&{query}")
    assert response.status_code == 422
    assert REFUSED[query] in response.json()["detail"]


def test_a_goal_is_one_number_or_one_for_each_element(server: str) -> None:
    kill = f"{server}/ops/kill_head.json?view=descent&goal="
    assert http.get(kill + "0").json()["goal"] == [0]
    assert len(http.get(kill + ",".join("0" * 24)).json()["goal"]) == 24
    assert "needs 1, or 24" in http.get(kill + "1,2").json()["detail"]


def test_the_table_has_one_row_a_step(server: str) -> None:
    rows = http.get(f"{server}/ops/clamp_with_grad.csv?view=descent&steps=3").text.split()
    assert rows[0] == "step,loss,true_loss,position,gradient,true_position,true_gradient"
    assert rows[1:3] == ["0.0,1.0,1.0,3.0,2.0,3.0,0.0", "1.0,1.0,1.0,2.5,2.0,3.0,0.0"]
    assert len(rows) == 5
