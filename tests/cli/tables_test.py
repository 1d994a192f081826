#!/usr/bin/env python3
"""Tables from a file to a prediction: training, measuring, rows of a person."""

import json
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402

RECIPE = """
[model]
name = "mlp"
hidden = [16]
embedding = 4
[task]
name = "{task}"
[data]
name = "csv"
{data}
[optimizer]
name = "adam"
lr = 0.01
[train]
epochs = 10
batch = 32
"""


class TablesTest(CliTest):
    def train(self, task: str, data: str) -> str:
        """Cakes cost 2 a kilogram, and twice that if of cream; what weighs more
        than 5 is heavy, what costs more than 15 is dear."""
        chance = random.Random(1)
        lines = ["kilograms,kind,price,dear,heavy"]
        for _ in range(1000):
            weight = round(chance.uniform(1, 9), 3)
            kind = chance.choice(["cream", "fruit", ""])
            price = weight * (4 if kind == "cream" else 2)
            lines.append(f"{'?' if chance.random() < 0.05 else weight},{kind},"
                         f"{price:.3f},{int(price > 15)},"
                         f"{'yes' if weight > 5 else 'no'}")
        self.write("cakes.csv", "\n".join(lines) + "\n")
        recipe = self.write("recipe.toml", RECIPE.format(task=task, data=data))
        self.table = self.folder / "cakes.csv"
        return self.json_of("train", recipe, "--data", self.table, "--out",
                            self.folder / "run", "--threads", 1)["checkpoint"]

    def predict(self, checkpoint: str, row: object) -> dict:
        return self.json_of("predict", checkpoint, row, "--data", self.table)

    def test_a_number_is_told_in_its_unit(self) -> None:
        checkpoint = self.train("regression",
                                'label = "price"\nignore = "heavy,dear"')
        for kind, price in (("cream", 16), ("fruit", 8)):
            told = self.predict(checkpoint, f"kilograms=4,kind={kind}")
            self.assertAlmostEqual(told["price"], price, delta=2)
            self.assertEqual(told["missing"], [])
        text = self.succeed("predict", checkpoint, "kind=cream", "--data",
                            self.table)
        self.assertRegex(text, r"price \d+")
        self.assertIn("taken as missing: kilograms", text)

    def test_a_file_of_the_model_needs_no_table(self) -> None:
        checkpoint = self.train("regression",
                                'label = "price"\nignore = "heavy,dear"')
        model = self.folder / "cakes.weft"
        self.succeed("export", checkpoint, "-o", model, "--data", self.table)
        row = "kilograms=4,kind=cream"
        told = self.predict(checkpoint, row)
        self.table.unlink()
        self.assertEqual(self.json_of("predict", model, row), told)
        self.refuse("predict", model, "kilogram=4",
                    parts=("'kilogram'", "did you mean 'kilograms'"))

    def test_other_data_than_in_training_are_refused(self) -> None:
        checkpoint = self.train("binary", 'ignore = "price,dear"')
        model = self.folder / "cakes.weft"
        self.succeed("export", checkpoint, "-o", model, "--data", self.table)
        text = self.table.read_text()
        self.table.write_text(text.replace(",yes", ",aye"))
        for call in (("predict", checkpoint, "kilograms=4,kind=cream"),
                     ("eval", checkpoint), ("eval", model)):
            self.refuse(*call, "--data", self.table,
                        parts=("other data than", "classes"))
        self.table.write_text(text)
        self.predict(checkpoint, "kilograms=4,kind=cream")

    def test_a_file_has_a_line_for_each_row(self) -> None:
        checkpoint = self.train("binary", 'ignore = "price,dear"')
        rows = self.write("rows.csv", "kind,kilograms\ncream,2\nnut,8\n")
        told = self.predict(checkpoint, rows)["rows"]
        self.assertEqual([row["class"] for row in told], ["no", "yes"])
        for row in told:
            self.assertAlmostEqual(sum(row["classes"].values()), 1, 5)
        text = self.succeed("predict", checkpoint, rows, "--data", self.table)
        self.assertRegex(text, r"1  no   probability \S+\n2  yes")

    def test_several_labels_and_classes(self) -> None:
        checkpoint = self.train("multi-label", 'label = "heavy,dear=0"')
        labels = self.predict(checkpoint, "kilograms=8,price=32")["labels"]
        self.assertEqual(list(labels), ["heavy=yes", "dear=0"])
        self.assertGreater(labels["heavy=yes"], 0.5)
        self.assertLess(labels["dear=0"], 0.5)
        checkpoint = self.train("classification", 'label = "heavy"')
        self.assertEqual(self.predict(checkpoint, "kilograms=2")["class"], "no")

    def test_what_is_no_row_is_refused(self) -> None:
        checkpoint = self.train("binary", "")
        for row, parts in (
                ("kilogram=2", ("'kilogram'", "'kilograms'")),
                ("kilograms=heavy", ("'kilograms'", "not a number")),
                ("nowhere.csv", ("neither a file nor COLUMN=VALUE",)),
                ("kilograms=1,kilograms=2", ("two columns",))):
            self.refuse("predict", checkpoint, row, "--data", self.table,
                        parts=parts)

    def test_records_are_trained_on_as_they_arrive(self) -> None:
        self.train("binary", 'ignore = "price,dear"')  # writes the table
        out = self.folder / "streamed"
        arguments = ["train", self.folder / "recipe.toml", "--data",
                     "/dev/stdin", "--out", out, "--threads", 1]
        for setting in ("source=stream", "name=csv-stream", "first=200",
                        "batches=15"):
            arguments += ["--set", f"data.{setting}"]
        piped = self.table.read_text()
        told = json.loads(self.succeed(*arguments, "--set", "train.epochs=2",
                                       "--json", input=piped))
        self.assertEqual(told["epochs"], 2)
        # A person's row is read by the beginning of the stream.
        told = self.predict(out, "kilograms=8,kind=nut")
        self.assertEqual(told["class"], "yes")
        # 960 records to train on are 30 batches of 32.
        done = run(*arguments, "--set", "train.epochs=3", input=piped)
        self.assertEqual(done.returncode, 2, done.stderr)
        for part in ("batch source 'stream'", "ran dry",
                     "batch 1 of epoch 3", "train.max_steps"):
            self.assertIn(part, done.stderr)

    def test_options_belong_to_their_data(self) -> None:
        recipe = self.write("recipe.toml", RECIPE.format(
            task="binary", data='lable = "price"'))
        self.refuse("train", recipe, parts=("data.lable", "label"))
        self.refuse("train", recipe, "--set", "data.name=mnist",
                    parts=("data.lable",))


if __name__ == "__main__":
    sys.exit(unittest.main())
