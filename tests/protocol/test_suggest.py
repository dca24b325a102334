"""What somebody may have meant: one word of those that there are, or none."""

import pytest

from gradloupe.server.protocol.suggest import closest_match

NAMES = ("ClampWithGrad", "Sigmoid", "exp")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("ClampWithGard", "ClampWithGrad"),
        ("clampwithgrad", "ClampWithGrad"),
        ("SIGMOD", "Sigmoid"),
        ("nothing like it", ""),
        ("", ""),
        ("x" * 10**6, ""),
    ],
)
def test_the_word_that_is_most_like_it_is_meant_however_it_is_capitalised(word: str, found: str) -> None:
    assert closest_match(word, NAMES) == found


def test_how_much_alike_they_have_to_be_can_be_said() -> None:
    assert closest_match("expo", NAMES) == "exp"
    assert closest_match("expo", NAMES, 0.9) == ""
