"""What a measurement says: tables, and the targets that were met or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """What was wanted, what was found."""

    wanted: str
    measured: str
    met: bool


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, and a sentence on how they were measured."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"### {self.title}", ""] + [self.note, ""] * bool(self.note)
        lines += [_row(self.headings), _row(("---",) * len(self.headings))]
        return "\n".join(lines + [_row(row) for row in self.rows]) + "\n"


@dataclass(frozen=True)
class Report:
    """The tables of one subject, and its targets."""

    tables: list[Table]
    targets: list[Target] = field(default_factory=list)


HEADER = """# Measured

<!-- Written by `make bench`, a section as soon as it is measured; by hand the last two, which need a reader. -->

One thread. Everything is a ratio of medians or a median of ratios, measured in turns in one run; absolute times are for
orientation only.
"""


def section(title: str, measured: str, report: Report) -> str:
    """The part of the page about one subject; ``measured`` says when, on what machine and in how many seconds."""
    tables = [*report.tables, _summary(report.targets)] if report.targets else report.tables
    return "\n".join([f"## {title}\n\n{measured}\n", *(table.markdown() for table in tables)])


def with_section(page: str, section: str, titles: Sequence[str]) -> str:
    """The page with this section in the place of an older one, in the order of the titles; others come last."""
    _, *parts = re.split(r"^(?=## )", page.rstrip() + "\n", flags=re.MULTILINE)
    sections = {_title(each): each for each in [*parts, section]}
    order = [title for title in [*titles, *(each for each in sections if each not in titles)] if title in sections]
    return "\n".join([HEADER, *(sections[title].rstrip() + "\n" for title in order)])


def _title(section: str) -> str:
    return section.splitlines()[0].removeprefix("## ")


def _summary(targets: list[Target]) -> Table:
    """Every target, in one table."""
    rows = [(each.wanted, each.measured, "yes" if each.met else "**no**") for each in targets]
    return Table("Targets", ("target", "measured", "met"), rows)


def in_brackets(names: list[str]) -> str:
    """The names in brackets, or nothing where there are none."""
    return f"({', '.join(names)})" if names else ""


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
