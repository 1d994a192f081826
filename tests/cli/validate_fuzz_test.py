#!/usr/bin/env python3
"""weft validate fuzz: planted mistakes are found, and named by the edit that
would exclude them."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, ROOT, run  # noqa: E402

PLANTED = ROOT / "tests" / "validation" / "planted_bugs.py"
SCHEMA = PLANTED.with_suffix(".toml")
# The mistakes, and a part of the first edit that excludes each.
BUGS = {
    "log_of_a_negative": "feature.amount.min = 0",
    "division_by_valency": "feature.clicks.value_count",
    "unknown_word": "feature.colour.min_domain_mass is dropped",
    "assumed_presence": "feature.note.min_fraction = 1",
    "overflow_of_32_bits": "feature.visits.m",
    "rank_of_two": "feature.clicks.value_count",
    "nan_in_loss": "feature.score.disallow_nan = true",
    "empty_batch": "dataset.min_rows = ",
    "deviation_of_one": "dataset.min_rows = ",
    "index_of_minus_one": "feature.bucket.min = -1",
    "square_of_a_large_number": "feature.amount.m",
    "long_text": "",  # no rule of a schema bounds the length of texts
    "division_by_zero": "feature.visits.min = ",
}
RECIPE = """
[model]
name = "mlp"
hidden = [4]
[data]
name = "csv"
label = "label"
[optimizer]
name = "sgd"
"""
TABLE = """[feature.x]
type = "float"
min_fraction = 1.0
shape = [1]
{bounds}
[feature.label]
type = "int"
min_fraction = 1.0
shape = [1]
domain = "bool"
"""


class FuzzTest(CliTest):
    def fuzz(self, *arguments: object) -> tuple[int, dict]:
        done = run("validate", "fuzz", "--json", *arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def test_planted_mistakes_are_found(self) -> None:
        for bug, edit in BUGS.items():
            with self.subTest(bug):
                code, report = self.fuzz(
                    "--schema", SCHEMA, "--findings", 1, "--",
                    sys.executable, "-S", "-E", PLANTED, bug)
                self.assertEqual(code, 1)
                finding, = report["findings"]
                self.assertIn(edit, finding["edit"], finding)
                self.assertLessEqual(finding["rows"], 2, finding)

    def test_what_takes_anything_has_no_finding(self) -> None:
        code, report = self.fuzz("--schema", SCHEMA, "--", sys.executable,
                                 "-S", "-E", PLANTED, "none")
        self.assertEqual((code, report["findings"]), (0, []))

    def test_an_edit_leads_to_the_next_mistake(self) -> None:
        code, report = self.fuzz("--schema", SCHEMA, "--", sys.executable,
                                 "-S", "-E", PLANTED, "overflow_of_32_bits")
        self.assertEqual(code, 1)
        edits = "".join(each["edit"] for each in report["findings"])
        self.assertIn("feature.visits.min = ", edits)
        self.assertIn("feature.visits.max = ", edits)

    def test_recipes_take_what_their_schema_allows(self) -> None:
        recipe = self.write("recipe.toml", RECIPE)
        tame = self.write("tame.toml", TABLE.format(
            bounds="min = -10\nmax = 10\ndisallow_nan = true\n"
                   "disallow_inf = true"))
        code, report = self.fuzz("--schema", tame, "--examples", 50, recipe)
        edits = "".join(each["edit"] for each in report["findings"])
        # A single row has one class alone, of which nothing can be learned.
        self.assertNotIn("feature.x", edits, report["findings"])
        wild = self.write("wild.toml", TABLE.format(bounds=""))
        code, report = self.fuzz("--schema", wild, "--examples", 50, recipe)
        self.assertEqual(code, 1)
        edits = "".join(each["edit"] for each in report["findings"])
        self.assertIn("feature.x", edits, report["findings"])

    def test_what_hangs_is_ended(self) -> None:
        schema = self.write("schema.toml", "[feature.x]\ntype = \"int\"\n"
                            "min = -1\nmax = 1\nmin_fraction = 1.0\n")
        loop = self.write("loop.py", """import json, signal, sys
for line in open(sys.argv[1]):
    if json.loads(line)["x"] < 0:
        signal.pause()
""")
        code, report = self.fuzz("--schema", schema, "--examples", 20,
                                 "--findings", 1, "--seconds", 1, "--",
                                 sys.executable, "-S", "-E", loop)
        self.assertEqual(code, 1)
        self.assertEqual(report["findings"][0]["message"], "out of time")
        self.assertEqual(report["findings"][0]["edit"],
                         "feature.x.min = -1 → 0\n")

    def test_what_cannot_be_made_is_refused(self) -> None:
        self.refuse("validate", "fuzz", "--schema", SCHEMA, "--format", "csv",
                    "--", "true", parts=("a table has one value",))
        self.refuse("validate", "fuzz", "--schema", SCHEMA, "--",
                    "no-such-program", parts=("there is no such program",))
        lists = self.write("lists.toml", "[feature.x]\ntype = \"int\"\n"
                           "min = 1\nmax = 1\nmin_distinct = 2\n")
        self.refuse("validate", "fuzz", "--schema", lists, "--", "true",
                    parts=("examples at random are as it says",
                           "few_distinct"))


if __name__ == "__main__":
    sys.exit(unittest.main())
