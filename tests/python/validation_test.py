"""weft.validation: statistics, schemas, checks and the tester of programs."""

import math
import tempfile
import unittest
from pathlib import Path

import weft
from weft import validation

ROWS = [{"age": 20 + i % 30, "kind": "ab"[i % 2], "score": i / 7} for i in range(90)]


class Validation(unittest.TestCase):
    def test_rows_and_files_hold_the_same(self):
        of_rows = validation.statistics(ROWS, slices=["kind"])
        self.assertEqual(of_rows["rows"], 90)
        self.assertEqual(of_rows["slices"]["kind=a"]["rows"], 45)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            path.write_text(
                "age,kind,score\n"
                + "".join(f"{r['age']},{r['kind']},{r['score']}\n" for r in ROWS)
            )
            of_file = validation.statistics(path)
        for ours, theirs in zip(of_rows["features"], of_file["features"]):
            self.assertEqual(ours["numbers" if "numbers" in ours else "top"],
                             theirs["numbers" if "numbers" in theirs else "top"])

    def test_features_are_held_against_a_label(self):
        rows = [{**row, "old": int(row["age"] >= 35)} for row in ROWS]
        label = validation.statistics(rows, label="old")["label"]
        self.assertEqual(label["name"], "old")
        age = label["features"][0]
        self.assertEqual(age["name"], "age")
        self.assertAlmostEqual(age["share"], 1)

    def test_images_are_decoded_where_that_is_asked_for(self):
        # A grey pixel, and one whose file is cut.
        pixel = (
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+k"
            "cQAAAABJRU5ErkJggg=="
        )
        rows = [{"x": pixel} for _ in range(30)]
        images = validation.statistics(rows, images=["x"])["features"][0]["images"]
        self.assertEqual((images["decoded"], images["undecoded"]), (30, 0))
        self.assertEqual(images["width"], {"min": 1, "max": 1})
        schema = validation.infer(rows, ranges=True, images=["x"])
        self.assertIn("width = { min = 1, max = 1 }", schema)
        self.assertEqual(validation.check(rows, schema).anomalies, [])
        report = validation.check([*rows, {"x": pixel[:60]}], schema)
        self.assertEqual([a["kind"] for a in report.anomalies], ["undecoded_image"])

    def test_values_have_forms(self):
        rows = [{"day": f"2024-05-{1 + i % 28:02}", "x": 1.5} for i in range(30)]
        schema = validation.infer(rows)
        self.assertIn('domain = "time"\nformat = "%Y-%m-%d"\n', schema)
        schema += "max_mean = 1.0\n"
        report = validation.check([*rows, {"day": "2024-02-30", "x": 1.5}], schema)
        self.assertEqual([each["kind"] for each in report.anomalies],
                         ["not_a_time", "high_mean"])

    def test_a_schema_allows_what_it_was_made_of(self):
        schema = validation.infer(ROWS, ranges=True)
        self.assertFalse(validation.check(ROWS, schema).has_errors)
        other = ROWS + [{"age": 200, "kind": "c", "score": 0.5}]
        report = validation.check(other, "# Ours.\n" + schema)
        self.assertEqual(
            [each["kind"] for each in report.anomalies],
            ["above_max", "unexpected_values"],
        )
        self.assertTrue(report.accepted.startswith("# Ours.\n"))
        self.assertFalse(validation.check(other, report.accepted).has_errors)

    def test_drift_is_measured(self):
        schema = "[feature.kind]\ndrift = { l_infinity = 0.1 }\n"
        skewed = [{**row, "kind": "a"} for row in ROWS]
        report = validation.check(
            skewed, schema + "[feature.age]\n[feature.score]\n", previous=ROWS
        )
        self.assertEqual(report.anomalies[0]["kind"], "drift")
        self.assertAlmostEqual(report.measurements[0]["value"], 0.5)

    def test_examples_are_as_the_schema_says(self):
        schema = validation.infer(ROWS, ranges=True)
        made = validation.examples(schema, 50, seed=3)
        finite = [row for row in made if math.isfinite(row.get("score", 0))]
        self.assertFalse(validation.check(finite, schema).has_errors)
        self.assertIn(20, [row["age"] for row in made])

    def test_examples_may_hold_numbers_that_are_none(self):
        schema = '[feature.x]\ntype = "float"\nmin_fraction = 1\nshape = [1]\n'
        made = validation.examples(schema, 200)
        self.assertTrue(any(math.isnan(row["x"]) for row in made))
        self.assertTrue(any(math.isinf(row["x"]) for row in made))
        self.assertEqual(validation.check(made, schema).anomalies, [])
        strict = schema + "disallow_nan = true\n"
        found = validation.check(made, strict).anomalies
        self.assertEqual([each["kind"] for each in found], ["nan"])

    def test_mistakes_of_a_step_are_found(self):
        schema = (
            '[feature.x]\ntype = "float"\nmin_fraction = 1\nshape = [1]\n'
            "disallow_nan = true\ndisallow_inf = true\n"
            '[feature.n]\ntype = "int"\nmin_count = 1\nmin = 0\nmax = 9\n'
        )

        def step(rows):
            for row in rows:
                math.log(row["x"] + 1e-9)
                row["n"]

        found = validation.fuzz(schema, step)
        edits = "".join(each.edit for each in found)
        self.assertIn("feature.x.min = 0", edits)
        self.assertIn("feature.n.min_fraction = 1", edits)
        self.assertEqual(len(found), 2, found)
        self.assertEqual(validation.fuzz(schema, lambda rows: None), [])

    def test_a_step_that_dies_or_hangs_is_told(self):
        import os
        import signal

        schema = '[feature.n]\ntype = "int"\nmin = 0\nmax = 3\n'

        def hang(rows):
            if any(row.get("n") == 3 for row in rows):
                signal.pause()

        died = validation.fuzz(schema, lambda rows: os._exit(3), findings=1)
        self.assertEqual(died[0].message, "it ended with code 3")
        hung = validation.fuzz(schema, hang, count=40, findings=1, seconds=0.5)
        self.assertEqual(hung[0].message, "out of time")

    def test_errors_have_their_place(self):
        with self.assertRaisesRegex(weft.Error, "there is no such key"):
            validation.check(ROWS, "[feature.age]\ntypo = 1\n")


if __name__ == "__main__":
    unittest.main()
