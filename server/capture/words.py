"""Shares of a sample in words."""


def share_words(share: float) -> str:
    """A share of a sample in percent: more digits would say what a sample does not know."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    if 99.9 < percent < 100:
        return "more than 99.9 %"
    return f"{percent:.1f} %" if percent < 10 and percent != round(percent) else f"{percent:.0f} %"
