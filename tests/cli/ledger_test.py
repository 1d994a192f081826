#!/usr/bin/env python3
"""weft ledger and weft budget: books that are looked at, checked and mended."""

import json
import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402


class LedgerTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.books = self.folder / "books.db"
        self.succeed("budget", "add", self.books, "mon", "tue", "--epsilon", 10,
                     "--delta", 1e-7)
        self.succeed("budget", "grant", self.books, "survey", "--blocks", "mon",
                     "--mechanism", "gaussian(noise=2)", "--job", "a survey")

    def test_shows_records(self) -> None:
        rows = self.succeed("ledger", "show", self.books).splitlines()
        self.assertEqual(rows[0].split(),
                         ["record", "when", "book", "what", "key", "says"])
        self.assertEqual(len(rows), 5)
        rows = self.succeed("ledger", "show", self.books, "--kind", "block",
                            "--json").splitlines()
        self.assertEqual([json.loads(row)["sequence"] for row in rows], [1, 2])
        rows = self.succeed("ledger", "show", self.books, "--last", 1)
        self.assertIn("grant", rows)

    def test_verifies_and_restores(self) -> None:
        copy = self.folder / "copy.jsonl"
        self.succeed("ledger", "export", self.books, "-o", copy)
        head = self.json_of("ledger", "verify", self.books)["head"]
        database = sqlite3.connect(self.books)
        database.execute("DROP TRIGGER record_change")
        database.execute("UPDATE record SET body = '{}' WHERE sequence = 3")
        database.commit()
        database.close()
        done = run("ledger", "verify", self.books)
        self.assertEqual(done.returncode, 2)
        self.assertIn("record 3 is not what was written", done.stdout)
        # Nothing is decided on books that do not hold.
        done = run("budget", "grant", self.books, "more", "--blocks", "mon",
                   "--mechanism", "gaussian(noise=9)")
        self.assertEqual(done.returncode, 2)
        self.assertIn("record 3", done.stderr)
        new = self.folder / "new.db"
        self.succeed("ledger", "restore", self.books, copy, "-o", new)
        self.assertEqual(self.json_of("ledger", "verify", new, "--head",
                                      head)["head"], head)

    def test_budgets_end(self) -> None:
        found = self.json_of("budget", "show", self.books)
        self.assertEqual([each["block"] for each in found["blocks"]],
                         ["mon", "tue"])
        self.assertEqual(found["claims"][0]["standing"], "granted")
        self.assertEqual(found["blocks"][1]["consumed_epsilon"], 0)
        # What has not begun can be given back, once.
        self.succeed("budget", "release", self.books, "survey")
        done = run("budget", "release", self.books, "survey")
        self.assertEqual(done.returncode, 2)
        done = run("budget", "grant", self.books, "much", "--blocks", "*",
                   "--mechanism", "gaussian(noise=0.3)")
        self.assertEqual(done.returncode, 1)
        self.assertIn("refused, since block 'mon' would come to epsilon",
                      done.stdout)
        page = self.folder / "budget.html"
        self.succeed("budget", "show", self.books, "--page", page)
        self.assertIn("refused", page.read_text())

    def test_refuses_what_is_no_ledger(self) -> None:
        for name in ("nowhere.db", "mysql://host/books"):
            done = run("ledger", "verify", self.folder / name if "." in name
                       else name)
            self.assertEqual(done.returncode, 2)
        done = run("budget", "add", self.books, "mon")
        self.assertIn("its budget is given once", done.stderr)


if __name__ == "__main__":
    unittest.main()
