"""Fills pages with the rows that are kept as JSON. A page says where by
comments, which do not show:

<!-- table SUITE: PATTERN; PATTERN -->        a table per processor; what stands
<!-- end -->                                  between is replaced
<!-- table SUITE, notes: PATTERN -->          the same, and the rows' notes
<!-- matrix SUITE: PATTERN -->                of rows "DOWN: ACROSS", our figures
<!-- row SUITE FIELD: PATTERN -->1.4<!-- --> one figure in a sentence

A figure is that of the rows that match: "1.4 to 1.9" where processors or rows
differ. FIELD is ratio, ours, peer, low or high; "ratio %" gives a percentage.
Patterns are globs, or whole names.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from lib.machine import identity, line_of
from lib.row import number

Rows = list[dict]
TABLE = re.compile(r"(<!-- (table|matrix) (\w+)(, notes)?: (.*?) -->\n).*?"
                   r"(<!-- end -->)", re.DOTALL)
FIGURE = re.compile(r"(<!-- row (\w+) (\w+)( %)?: (.*?) -->)[^<]*(<!-- -->)",
                    re.DOTALL)


class TableError(ValueError):
    """A page that asks for what is not there."""


@dataclass(frozen=True)
class Kept:
    """A suite: the rows that are kept, and the names of all that it has."""
    rows: Rows
    names: list[str]

    def chosen(self, patterns: str) -> tuple[Rows, list[str]]:
        """In the order of the patterns, each row once; and the names of those
        that were not measured yet."""
        names: list[str] = []
        for pattern in patterns.split("; "):
            matching = [name for name in self.names if name == pattern] or [
                name for name in self.names if fnmatchcase(name, pattern)]
            if not matching:
                raise TableError(f"no row matches {pattern!r}")
            names += [name for name in matching if name not in names]
        rows = [row for name in names for row in self.rows
                if row["name"] == name]
        measured = {row["name"] for row in rows}
        return rows, [name for name in names if name not in measured]


def filled(page: str, suite_of: Callable[[str], Kept]) -> str:
    """The page with its tables and figures; `suite_of` finds one by name."""
    def table_of(match: re.Match) -> str:
        start, kind, suite, notes, patterns, end = match.groups()
        rows, missing = suite_of(suite).chosen(patterns)
        one = matrix if kind == "matrix" else partial(table, notes=bool(notes))
        return start + tables(rows, missing, one) + end

    def figure_of(match: re.Match) -> str:
        start, suite, field, percent, pattern, end = match.groups()
        rows, _ = suite_of(suite).chosen(" ".join(pattern.split()))
        return start + figure(rows, field, bool(percent)) + end

    return FIGURE.sub(figure_of, TABLE.sub(table_of, page))


def shown(page: str, suite_of: Callable[[str], Kept]) -> set[tuple[str, str]]:
    """The suites and names of what stands in a page's tables."""
    found = set()
    for _, _, suite, _, patterns, _ in TABLE.findall(page):
        rows, missing = suite_of(suite).chosen(patterns)
        found |= {(suite, row["name"]) for row in rows}
        found |= {(suite, name) for name in missing}
    return found


# --- Tables --------------------------------------------------------------------

def tables(rows: Rows, missing: list[str],
           one: Callable[[Rows], str]) -> str:
    text = "".join(one(each) for each in by_processor(rows))
    if missing:
        text += f"\nNot measured yet: {'; '.join(missing)}.\n"
    return text + "\n"


def by_processor(rows: Iterable[dict]) -> list[Rows]:
    groups: dict[tuple, Rows] = {}
    for row in rows:
        groups.setdefault(identity(row["provenance"]), []).append(row)
    return list(groups.values())


def head(rows: Rows) -> str:
    return f"\n**On {line_of(rows[0]['provenance'])}**\n"


def table(rows: Rows, notes: bool) -> str:
    lines = [head(rows),
             "| | unit | Weft | peer | ratio (low – high) | bar | |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [line(row) for row in rows]
    lines += ["", *origins(rows)]
    if notes and any(row["note"] for row in rows):
        lines += ["", "Notes:", ""]
        lines += [f"- {row['name']}: {row['note']}" for row in rows
                  if row["note"]]
    return "\n".join(lines) + "\n"


def matrix(rows: Rows) -> str:
    cells = {tuple(row["name"].rsplit(": ", 1)): row for row in rows}
    across = list(dict.fromkeys(name for _, name in cells))
    lines = [head(rows), f"| {rows[0]['unit']} | {' | '.join(across)} |",
             "| --- " * (len(across) + 1) + "|"]
    for down in dict.fromkeys(name for name, _ in cells):
        line = [cells.get((down, name)) for name in across]
        figures = ["" if row is None else row["error"] or number(row["ours"])
                   for row in line]
        lines.append(f"| {down} | {' | '.join(figures)} |")
    return "\n".join([*lines, "", *origins(rows)]) + "\n"


def line(row: dict) -> str:
    peer = number(row["peer"]) if row["peer"] is not None else ""
    if row["peer_name"]:
        peer = f"{peer} ({row['peer_name']})".strip()
    spread = ("" if row["low"] is None
              else f" ({number(row['low'])} – {number(row['high'])})")
    ratio = "" if row["ratio"] is None else number(row["ratio"]) + spread
    if row["ours"] is not None and row["ours"] == row["ratio"]:
        ratio = spread.strip()  # no peer: our own figure is what has a bar
    bar = "" if row["bar"] is None else (
        "at most " * row["at_most"] + number(row["bar"]))
    ours = "" if row["ours"] is None else number(row["ours"])
    cells = (row["name"], row["unit"], ours, peer, ratio, bar, verdict(row))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def verdict(row: dict) -> str:
    words = [f"**error: {row['error']}**" if row["error"] else
             "" if row["bar"] is None else
             "holds" if row["holds"] else "**missed**"]
    if row["provenance"]["quick"]:
        words.append("quick")
    return ", ".join(word for word in words if word)


def origins(rows: Rows) -> list[str]:
    """Which commits, days and numbers of threads the rows are of."""
    groups: dict[str, int] = {}
    for row in rows:
        text = origin(row["provenance"])
        groups[text] = groups.get(text, 0) + 1
    if len(groups) == 1:
        return [f"All rows: {text}." for text in groups]
    return [f"- {count} row{'s' * (count > 1)}: {text}."
            for text, count in groups.items()]


def origin(made: dict) -> str:
    parts = []
    if made["commit"]:
        changed = " and changes that were not committed" if made["dirty"] else ""
        parts.append(f"commit {made['commit'][:12]}{changed}")
    if made["date"]:
        parts.append(made["date"][:10])
    parts += [f"{made[name]} {name}" for name in ("threads", "pairs")
              if made[name]]
    if made["origin"]:
        parts.append(made["origin"])
    return ", ".join(parts) or "nothing is known of when and how"


# --- Figures -------------------------------------------------------------------

def figure(rows: Rows, field: str, percent: bool) -> str:
    values = [row[field] for row in rows if row[field] is not None]
    if not values:
        return "(not measured yet)"
    ends = [rounded(100 * value if percent else value)
            for value in (min(values), max(values))]
    text = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    return text + " %" * percent


def rounded(value: float) -> str:
    """Two digits that matter: what a reader keeps."""
    if value == 0:
        return "0"
    if 0.995 <= abs(value) < 9.95:
        return f"{value:.1f}"
    short = float(f"{value:.2g}")
    return f"{short:,.0f}" if abs(short) >= 10 else f"{short:.2g}"
