#!/usr/bin/env python3
"""What people give to a model that is served becomes what `weft predict` makes
of it."""

import json
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from running import ServeTest  # noqa: E402
from weft import DIGITS, ROOT, SAMPLE, run  # noqa: E402

CAKES = """
[model]
name = "mlp"
hidden = [16]
embedding = 4
[task]
name = "regression"
[data]
name = "csv"
label = "price"
[optimizer]
name = "adam"
lr = 0.01
[train]
epochs = 10
batch = 32
"""


class PredictTest(ServeTest):
    def succeed(self, *arguments: object) -> str:
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def export(self, recipe: Path, *options: object) -> None:
        self.succeed("train", recipe, "--out", self.folder / "run", *options)
        self.succeed("export", self.folder / "run", "-o", self.model,
                     *options[:2])

    def test_a_picture(self) -> None:
        self.export(DIGITS, "--data", ROOT / "data" / "digits", "--set",
                    "train.epochs=2")
        expected = json.loads(self.succeed("predict", self.model, SAMPLE,
                                           "--json"))
        with self.serving("--no-grpc") as server:
            parameters = server.ask("GET", "/v2/models/scale")[1]["parameters"]
            self.assertEqual((parameters["input"], parameters["image"]),
                             ("image", [8, 8, 1]))
            self.assertEqual(parameters["classes"], list("0123456789"))
            path = "/v2/models/scale/predict"
            status, told = server.ask("POST", path, SAMPLE.read_bytes())
            self.assertEqual(status, 200, told)
            self.assertEqual(told["prediction"]["class"], expected["class"])
            for name, share in expected["classes"].items():
                self.assertAlmostEqual(told["prediction"]["classes"][name],
                                       share, delta=1e-5)
            # A name is no file of the server's.
            for body, kind in ((b"no picture", "image/png"),
                               (str(SAMPLE).encode(), "text/plain"),
                               (SAMPLE.read_bytes()[:40], "image/png")):
                status, told = server.ask("POST", path, body,
                                          **{"Content-Type": kind})
                self.assertEqual(status, 400, told)

    def test_a_row(self) -> None:
        chance = random.Random(1)
        lines = ["kilograms,kind,price"]
        for _ in range(400):
            weight, kind = chance.uniform(1, 9), chance.choice(["cream", "nut"])
            price = weight * (4 if kind == "cream" else 2)
            lines.append(f"{weight:.3f},{kind},{price:.3f}")
        table, recipe = self.folder / "cakes.csv", self.folder / "cakes.toml"
        table.write_text("\n".join(lines) + "\n")
        recipe.write_text(CAKES)
        self.export(recipe, "--data", table)
        row = "kilograms=4,kind=cream"
        expected = json.loads(self.succeed("predict", self.model, row,
                                           "--json"))
        with self.serving("--no-grpc") as server:
            parameters = server.ask("GET", "/v2/models/scale")[1]["parameters"]
            self.assertEqual((parameters["input"], parameters["columns"]),
                             ("row", ["kilograms", "kind"]))
            for kind in ("text/plain", "Text/Plain; charset=utf-8"):
                status, told = server.ask(
                    "POST", "/v2/models/scale/predict", row.encode(),
                    **{"Content-Type": kind})
                self.assertEqual(status, 200, told)
                self.assertAlmostEqual(told["prediction"]["price"],
                                       expected["price"], delta=1e-3)

    def test_a_function_alone_takes_tensors(self) -> None:
        with self.serving("--no-grpc") as server:
            status, told = server.ask("POST", "/v2/models/scale/predict", b"x")
            self.assertEqual(status, 400)
            self.assertIn("it takes tensors", told["error"])


if __name__ == "__main__":
    unittest.main()
