"""The samples of a capture as numbers, and their shares in words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .record import ArrayRecord, Capture, Role, SiteRecord, SlotRecord

_DTYPES = {"f8": "<f8", "f4": "<f4", "i8": "<i8"}


@dataclass(frozen=True)
class FunctionData:
    """What a capture has of one Function: its call sites, the busiest first."""

    capture: Capture
    sites: tuple[SiteRecord, ...]

    def index(self, site: SiteRecord, name: str, place: int) -> int:
        """Which argument of a call is the input of this name, which is at this ``place`` among the tensors."""
        names = [each["name"] for each in site["arguments"]]
        tensors = sorted(
            each["index"] for each in site["slots"] if each["role"] == "input" and each["values"]["length"]
        )
        return names.index(name) if name in names else tensors[place] if place < len(tensors) else -1

    def slots(self, name: str, place: int) -> list[SlotRecord]:
        """What passed as an input, at each site."""
        found = (slot_of(each, "input", self.index(each, name, place)) for each in self.sites)
        return [each for each in found if each]

    def inputs(self, name: str, place: int) -> NDArray[np.float64]:
        """The sample of an input, of all sites."""
        return np.concatenate(
            [sample_of(self.capture, [each], "input", self.index(each, name, place)) for each in self.sites]
        )


def attach_data(op: object, data: FunctionData) -> None:
    """Keep what was seen of an op with it."""
    vars(op)["_data"] = data


def data_of(op: object) -> FunctionData | None:
    """What was seen of an op in a step; None where nothing was."""
    return getattr(op, "_data", None)


def numbers(capture: Capture, where: ArrayRecord) -> NDArray[np.float64]:
    """An array of a capture in float64."""
    return np.frombuffer(capture.array(where), _DTYPES[where["kind"]]).astype(np.float64)


def slot_of(site: SiteRecord, role: Role, index: int = 0) -> SlotRecord | None:
    """What passed in one place of the calls of a site; None where nothing did."""
    return next((each for each in site["slots"] if (each["role"], each["index"]) == (role, index)), None)


def sample_of(capture: Capture, sites: list[SiteRecord], role: Role, index: int = 0) -> NDArray[np.float64]:
    """The samples of some sites in one place, one after the other."""
    slots = [slot_of(site, role, index) for site in sites]
    found = [numbers(capture, each["values"]) for each in slots if each]
    return np.concatenate(found) if found else np.empty(0)


def share_words(share: float) -> str:
    """A share of a sample in percent: more digits would say what a sample does not know."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    if 99.9 < percent < 100:
        return "more than 99.9 %"
    return f"{percent:.1f} %" if percent < 10 and percent != round(percent) else f"{percent:.0f} %"
