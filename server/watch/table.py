"""What was seen, as a table: one row for each Function and call site, those with the most harm first."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..capture.record import Capture, SiteRecord
from ..capture.samples import sample_of, share_words
from ..documents.typography import typeset_number
from ..report.terminal import plain_text
from ..schema.section import SeenRecord, SeenSiteRecord

_WIDTH = 120  # columns
_COLUMNS = ("Function", "where", "calls", "inputs", "grad_outputs", "differs", "on a kink", "returns 0")
_NOTHING = "No custom Function was called."


@dataclass(frozen=True)
class SeenTable:
    """The rows of a capture; ``seen`` is what was judged of each Function, by its name."""

    capture: Capture
    seen: Mapping[str, SeenRecord]

    def text(self) -> str:
        """As text, with a sentence on each Function that differs, and the notes below."""
        return plain_text(self._write, _WIDTH).strip("\n")

    def _write(self, console: Console) -> None:
        rows = self._rows()
        if rows:
            table = Table(*_COLUMNS, box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
            for row in rows:
                table.add_row(*row)
            console.print(table)
        told = [each["sentences"][0] for each in self.seen.values() if each["differs"]]
        for said in (*([] if rows else [_NOTHING]), *told, *self.capture.record["notes"]):
            console.print(said.replace("`", ""), markup=False)

    def _rows(self) -> list[tuple[str, ...]]:
        judged = [(self._judged(each), each) for each in self.capture.record["sites"]]
        judged.sort(key=lambda pair: _harm(pair[0]), reverse=True)
        return [self._row(site, found) for found, site in judged]

    def _judged(self, site: SiteRecord) -> SeenSiteRecord | None:
        of = self.seen.get(site["function"])
        places = of["sites"] if of else []
        return next((each for each in places if (each["path"], each["line"]) == (site["path"], site["line"])), None)

    def _row(self, site: SiteRecord, found: SeenSiteRecord | None) -> tuple[str, ...]:
        shares = [found["differs"], found["kinks"], found["stopped"]] if found else [None] * 3
        return (
            site["function"],
            site["path"] or site["line"],
            f"{site['calls']} + {site['backwards']}",
            _range_words(sample_of(self.capture, [site], "input")),
            _range_words(sample_of(self.capture, [site], "grad_output")),
            *("" if each is None else share_words(each) for each in shares),
        )


def _harm(found: SeenSiteRecord | None) -> tuple[float, ...]:
    """First what differs, then what lies on a kink, whose slope another torch may choose, then what gets nothing."""
    return tuple(each or 0.0 for each in (found["differs"], found["kinks"], found["stopped"])) if found else ()


def _range_words(sample: NDArray[np.float64]) -> str:
    """From where to where a sample lies, and what of it is no number."""
    finite = sample[np.isfinite(sample)]
    words = (
        [f"{typeset_number(float(finite.min()), 2)} … {typeset_number(float(finite.max()), 2)}"] if finite.size else []
    )
    shares = {"NaN": np.isnan(sample), "inf": np.isinf(sample)}
    return ", ".join(
        [*words, *(f"{share_words(float(each.mean()))} {name}" for name, each in shares.items() if each.any())]
    )
