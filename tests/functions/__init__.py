"""Functions that tests put to the judge: right, wrong and unusual ones. What runs tests lies in tests/support."""
