"""One more call of a Function, and how its gradient is to be compared."""

from collections.abc import Callable
from dataclasses import dataclass

from ..contract.examination.call import Call
from .directional_check import DirectionalResult


@dataclass(frozen=True)
class OtherCall:
    """What is ``changed``, in words; how the ``call`` is made, and how it is ``compare``d: either may raise anything.

    ``recipe`` is the text by which it can be called so, empty where there is none. ``likely`` tells whether others call
    it so, too: a backward that raises in it is told.
    """

    changed: str
    call: Callable[[], Call]
    compare: Callable[[Call], DirectionalResult]
    recipe: str = ""
    likely: Callable[[], bool] = lambda: True
    declared: bool = False
