"""The pages that quote rows, and the rows that they quote."""

from functools import cache
from pathlib import Path

import suites
from lib import curve_table
from lib.bench import Setting
from lib.curve_store import read
from lib.peers import Peers
from lib.results import load
from lib.tables import Kept, TableError, filled

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
CURVES = RESULTS / "comm" / "curves.json"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(RESULTS.glob("*.md"))]


def listed(suite: str) -> list[str]:
    """The names of a suite's rows; measures nothing."""
    where = Setting(ROOT, ROOT / "build", None, Peers(ROOT / "build/peers"))
    return [bar.name for bench in suites.load(suite).benches(where)
            for bar in bench.bars]


@cache
def suite_of(suite: str) -> Kept:
    if suite not in suites.names():
        raise TableError(f"no suite {suite!r}")
    return Kept(load(RESULTS / f"{suite}.json"), listed(suite))


def refill(write: bool = True) -> list[Path]:
    """Fills the pages; those that were, or would be, changed by it."""
    changed = []
    for page in pages():
        before = page.read_text()
        after = curve_table.filled(filled(before, suite_of), read(CURVES))
        if after != before:
            changed.append(page)
            if write:
                page.write_text(after)
    return changed
