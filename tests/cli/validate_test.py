#!/usr/bin/env python3
"""weft validate, and recipes whose data must be as a schema says."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, ROOT, run  # noqa: E402

RECIPE = """
[model]
name = "mlp"
hidden = [4]
[data]
name = "csv"
schema = "{schema}"
[optimizer]
name = "sgd"
[train]
epochs = 1
"""


def table(rows: int, kinds: str = "ab", worst: int = 9) -> str:
    lines = ["kind,size,label"]
    for i in range(rows):
        lines.append(f"{kinds[i % len(kinds)]},{i % worst + 1},{i % 2}")
    return "\n".join(lines) + "\n"


class ValidateTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.monday = self.write("monday.csv", table(200))
        self.tuesday = self.write("tuesday.csv", table(210, "abc"))
        self.schema = self.folder / "schema.toml"

    def infer(self, *more: object) -> None:
        self.succeed("validate", "infer", self.monday, "-o", self.schema, *more)

    def test_stats_are_told_and_kept(self) -> None:
        kept = self.folder / "monday.stats"
        stats = self.json_of("validate", "stats", self.monday, "-o", kept)
        self.assertEqual(stats["rows"], 200)
        self.assertEqual(stats["features"][0]["top"][0],
                         {"value": "a", "count": 100})
        self.assertEqual(self.json_of("validate", "stats", kept), stats)
        self.assertIn("a 100, b 100",
                      self.succeed("validate", "stats", self.monday))

    def test_images_are_decoded_where_that_is_asked_for(self) -> None:
        pixel = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAA"
                 "AgABSK+kcQAAAABJRU5ErkJggg==")
        table = self.folder / "pictures.csv"
        table.write_text("picture\n" + 20 * f"{pixel}\n")
        stats = self.json_of("validate", "stats", table, "--images", "picture")
        self.assertEqual(stats["features"][0]["images"]["depth"],
                         {"min": 8, "max": 8})
        schema = self.folder / "pictures.toml"
        self.succeed("validate", "infer", table, "-o", schema, "--ranges",
                     "--images", "picture")
        self.assertIn("height = { min = 1, max = 1 }", schema.read_text())
        self.succeed("validate", "check", table, "--schema", schema)
        table.write_text(table.read_text() + pixel[:60] + "\n")
        done = run("validate", "check", table, "--schema", schema)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("undecoded_image", done.stdout)
        self.refuse("validate", "stats", table, "--images", "pictur",
                    parts=("did you mean 'picture'?",))

    def test_features_are_held_against_a_label(self) -> None:
        kept = self.folder / "labelled.stats"
        said = self.json_of("validate", "stats", self.monday, "--label", "kind",
                            "-o", kept)
        self.assertEqual(said["label"]["name"], "kind")
        self.assertNotIn("slices", said)
        # What is kept says it again.
        self.assertEqual(self.json_of("validate", "stats", kept), said)
        self.assertIn("what features say of kind",
                      self.succeed("validate", "stats", kept))
        self.refuse("validate", "stats", self.monday, "--label", "kond",
                    parts=("label", "did you mean 'kind'?"))

    def test_workers_count_together(self) -> None:
        parts = [self.write(f"{i}.csv", table(100 + i)) for i in range(3)]
        alone = self.json_of("validate", "stats", *parts)
        together = self.json_of("validate", "stats", *parts, "--workers", 2)
        self.assertEqual(alone, together)
        self.assertEqual(alone["rows"], 303)

    def test_any_data_set_has_statistics(self) -> None:
        digits = self.json_of("validate", "stats", "digits")
        image, label = digits["features"]
        self.assertEqual([level["max"] for level in image["lists"]],
                         [8, 8, 1])
        self.assertEqual(label["distinct"], 10)

    def test_the_exit_code_tells(self) -> None:
        self.infer()
        self.succeed("validate", "check", self.monday, "--schema", self.schema)
        done = run("validate", "check", self.tuesday, "--schema", self.schema)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("kind (unexpected_values): 70 of 210 values (33.3 %): "
                      "'c'", done.stdout)
        done = run("validate", "check", self.tuesday, "--schema", self.schema,
                   "--json")
        report = json.loads(done.stdout)
        self.assertTrue(report["has_errors"])
        self.assertEqual(report["anomalies"][0]["edit"],
                         'feature.kind.values += "c"\n')

    def test_accept_keeps_what_people_wrote(self) -> None:
        self.infer()
        text = self.schema.read_text()
        self.schema.write_text(text.replace("[feature.kind]",
                                            "# The kind.\n[feature.kind]"))
        self.succeed("validate", "accept", self.tuesday, "--schema",
                     self.schema)
        self.assertIn("# The kind.\n[feature.kind]", self.schema.read_text())
        self.succeed("validate", "check", self.tuesday, "--schema", self.schema)

    def test_accept_takes_some_features(self) -> None:
        self.infer()
        other = self.write("other.csv",
                           "kind,size,label,new\nz,big,1,1\n")
        self.succeed("validate", "accept", other, "--schema", self.schema,
                     "--feature", "kind")
        done = run("validate", "check", other, "--schema", self.schema)
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("kind", done.stdout)
        self.assertIn("size (wrong_type)", done.stdout)
        self.assertIn("new (new_column)", done.stdout)

    def test_rows_are_named(self) -> None:
        self.infer()
        self.succeed("validate", "examples", self.monday, "--schema",
                     self.schema)
        bad = self.write("bad.csv",
                         "kind,size,label\na,1,0\nz,2,1\na,,0\nz,x,0\n")
        done = run("validate", "examples", bad, "--schema", self.schema,
                   "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        struck = {(each["feature"], each["kind"]): each
                  for each in json.loads(done.stdout)["struck"]}
        self.assertEqual(set(struck), {("kind", "unexpected_values"),
                                       ("size", "missing_column"),
                                       ("size", "wrong_type")})
        self.assertEqual(struck["kind", "unexpected_values"]["first"], [2, 4])
        self.assertEqual(struck["size", "missing_column"]["first"], [3])
        self.assertEqual(
            struck["kind", "unexpected_values"]["statistics"]["rows"], 2)

    def test_drift_is_measured(self) -> None:
        self.infer()
        text = self.schema.read_text().replace(
            "[feature.kind]", "[feature.kind]\ndrift = { l_infinity = 0.2 }")
        self.schema.write_text(text)
        skewed = self.write("skewed.csv", table(200, "aaab"))
        done = run("validate", "check", skewed, "--schema", self.schema,
                   "--previous", self.monday)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("kind (drift): l_infinity is 0.25 at 'a'", done.stdout)
        diff = self.json_of("validate", "diff", skewed, self.monday)
        self.assertEqual(diff["features"][0]["distances"]["l_infinity"]["value"],
                         0.25)

    def test_what_is_there_is_not_written_over(self) -> None:
        self.infer()
        self.refuse("validate", "infer", self.monday, "-o", self.schema,
                    parts=("the file is there already",))

    def test_damaged_files_are_refused(self) -> None:
        ragged = self.write("ragged.csv", "a,b\n1,2\n3\n")
        self.refuse("validate", "stats", ragged, parts=("ragged.csv:3",))
        self.refuse("validate", "stats", self.write("x.orc", ""),
                    parts=("nothing reads this as rows", "Parquet"))
        self.refuse("validate", "stats", self.write("x.parquet", "PAR1"),
                    parts=("x.parquet: cannot be read as Parquet",))
        self.refuse("validate", "stats", self.write("x.stats", "weft"),
                    parts=("statistics are damaged",))

    def test_training_begins_only_with_such_data(self) -> None:
        self.infer()
        recipe = self.write("recipe.toml", RECIPE.format(schema=self.schema))
        out = self.folder / "run"
        self.succeed("train", recipe, "--data", self.monday, "--out", out)
        self.refuse("train", recipe, "--data", self.tuesday, "--out",
                    self.folder / "other", parts=(
                        "the data are not as", "kind (unexpected_values)",
                        "weft validate accept"))
        self.assertFalse((self.folder / "other").exists())
        # Whoever uses the model needs no schema.
        self.schema.unlink()
        self.succeed("eval", out / "best.safetensors", "--data", self.monday)

    def test_a_schema_is_of_rows(self) -> None:
        self.refuse("train", ROOT / "recipes" / "cart-pole.toml", "--set",
                    "data.schema=x.toml",
                    parts=("a schema is of a data set", "data.schema"))


if __name__ == "__main__":
    sys.exit(unittest.main())
