"""Bodies of responses as they were sent, ready to be sent again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

SHARE = 1 / 8  # of the room, for one body


@dataclass(frozen=True)
class Body:
    """The bytes of a response, and the coding they are in; empty for none."""

    data: bytes
    coding: str


class Bodies:
    """The bodies sent last, by their mark and the coding that was asked for, in ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[tuple[str, str], Body] = OrderedDict()
        self.size = 0
        self.hits = 0

    def find(self, mark: str, coding: str) -> Body | None:
        """What was sent under this mark to a client that asked for this coding."""
        found = self._kept.get((mark, coding))
        if found is not None:
            self._kept.move_to_end((mark, coding))
            self.hits += 1
        return found

    def keep(self, mark: str, coding: str, body: Body) -> None:
        """Keep this one, unless it would drive out too many, and the newest others as far as there is room."""
        if len(body.data) > self._room * SHARE:
            return
        before = self._kept.pop((mark, coding), None)
        self._kept[mark, coding] = body
        self.size += len(body.data) - (len(before.data) if before else 0)
        while self.size > self._room:
            _, oldest = self._kept.popitem(last=False)
            self.size -= len(oldest.data)
