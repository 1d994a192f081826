#!/usr/bin/env python3
"""Pages, README and the rows that are kept as JSON hold together."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import suites  # noqa: E402
from lib.machine import line_of  # noqa: E402
from lib.pages import pages, refill, suite_of  # noqa: E402
from lib.results import PROVENANCE, key  # noqa: E402
from lib.row import Row  # noqa: E402
from lib.tables import shown  # noqa: E402

MEASURED = [field for field in PROVENANCE if field != "cap"]


class ResultsTest(unittest.TestCase):
    def rows(self) -> list[dict]:
        return [row for suite in suites.names()
                for row in suite_of(suite).rows]

    def test_pages_are_what_the_rows_make_of_them(self):
        changed = [page.name for page in refill(write=False)]
        self.assertEqual(changed, [], "run bench/tables")

    def test_every_row_has_its_provenance(self):
        for row in self.rows():
            made = row["provenance"]
            self.assertEqual(sorted(made), sorted(PROVENANCE), row["name"])
            unknown = [name for name in MEASURED if made[name] is None]
            self.assertTrue(made["origin"] or not unknown,
                            f"{row['name']}: {unknown} unknown, and no word "
                            "of where the row is from")
            if made["commit"]:
                self.assertRegex(made["commit"], r"^[0-9a-f]{40}$")

    def test_a_row_stands_once_and_is_one_of_its_suites(self):
        rows = self.rows()
        keys = [key(row) for row in rows]
        self.assertEqual(len(keys), len(set(keys)))
        for suite in suites.names():
            names = suite_of(suite).names
            self.assertEqual(len(names), len(set(names)), suite)
            for row in suite_of(suite).rows:
                self.assertEqual(row["suite"], suite)
                self.assertIn(row["name"], names)

    def test_a_verdict_is_that_of_the_figures(self):
        for row in self.rows():
            fields = {name: value for name, value in row.items()
                      if name not in ("holds", "provenance")}
            self.assertEqual(Row(**fields).holds, row["holds"], row["name"])

    def test_every_row_of_every_suite_is_on_a_page(self):
        on_pages: set = set()
        for page in pages():
            on_pages |= shown(page.read_text(), suite_of)
        of_suites = {(suite, name) for suite in suites.names()
                     for name in suite_of(suite).names}
        self.assertEqual(of_suites - on_pages, set())

    def test_what_fell_short_is_said(self):
        text = "".join(page.read_text() for page in pages())
        for row in self.rows():
            if not row["holds"]:
                name = re.escape(row["name"].replace("|", "\\|"))
                self.assertRegex(text, rf"\| {name} \|.*\*\*(missed|error)",
                                 line_of(row["provenance"]))


if __name__ == "__main__":
    unittest.main()
