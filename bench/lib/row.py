"""One line of the result: a bar, and whether it holds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Row:
    """`ratio` is how many times better than the peer we are, or, without a
    peer, our own figure. `low` and `high` bound it; `bar` is what it must
    reach: at least, or at most where `at_most` is set. A row without a bar is
    only shown, and fails nothing.
    """
    suite: str
    name: str
    unit: str
    bar: float | None
    ours: float | None = None
    peer: float | None = None
    peer_name: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    at_most: bool = False
    note: str = ""
    error: str = ""

    @property
    def holds(self) -> bool:
        if self.error or self.ratio is None:
            return False
        if self.bar is None:
            return True
        if self.at_most:
            return self.ratio <= self.bar
        return self.ratio >= self.bar

    def as_json(self) -> dict:
        return {**asdict(self), "holds": self.holds}


def number(value: float | None) -> str:
    """Four digits that matter, thousands apart."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text; notes and errors follow it."""
    lines = [("name", "unit", "weft", "peer", "", "ratio", "(low - high)",
              "bar", "holds")]
    remarks = []
    for row in rows:
        bar = ("at most " if row.at_most else "") + number(row.bar)
        spread = ("-" if row.low is None
                  else f"({number(row.low)} - {number(row.high)})")
        verdict = ("error" if row.error else "-" if row.bar is None
                   else "yes" if row.holds else "NO")
        lines.append((row.name, row.unit, number(row.ours), number(row.peer),
                      row.peer_name, number(row.ratio), spread, bar, verdict))
        for label, text in (("error", row.error), ("note", row.note)):
            if text:
                remarks.append(f"{row.name}: {label}: {text}")
    widths = [max(len(line[i]) for line in lines) for i in range(9)]
    text = ["  ".join(cell.ljust(width) for cell, width
                      in zip(line, widths)).rstrip() for line in lines]
    return "\n".join(text + ([""] + remarks if remarks else []))
