"""What a measurement says: tables, and the targets that were met or not."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """One number of the performance study: what was wanted, what was found."""

    number: str
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

<!-- Written by `make bench`, which measures everything again. Do not edit by hand. -->
"""


def page(machine: str, tables: list[Table], seconds: float) -> str:
    """The page of the documentation that holds these tables."""
    body = "\n".join(table.markdown().replace("###", "##", 1) for table in tables)
    return f"{HEADER}\n{machine}\n\n{body}\nMeasured in {seconds:.0f} s.\n"


def summary(targets: list[Target]) -> Table:
    """Every target, in one table."""
    rows = [(each.number, each.wanted, each.measured, "yes" if each.met else "**no**") for each in targets]
    return Table("Targets", ("", "target", "measured", "met"), rows)


def in_brackets(names: list[str]) -> str:
    """The names in brackets, or nothing where there are none."""
    return f"({', '.join(names)})" if names else ""


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
