#!/usr/bin/env python3
"""The recipes on their data; those whose data are not here are skipped."""

import json
import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import ROOT, CliTest, run  # noqa: E402


def has_data(name: str) -> bool:
    found = json.loads(run("doctor", "--json").stdout)["data"]
    return bool(found.get(name))


class RecipesTest(CliTest):
    def train(self, recipe: str, data: str, *overrides: str) -> dict:
        if not has_data(data):
            self.skipTest(f"no {data} here; name its folder with WEFT_DATA")
        options = [word for each in overrides for word in ("--set", each)]
        return self.json_of("train", ROOT / "recipes" / recipe, "--out",
                            self.folder / "run", *options)

    def test_mnist_reaches_99_percent_in_three_epochs(self) -> None:
        result = self.train("mnist.toml", "mnist", "train.epochs=3")
        self.assertGreaterEqual(result["test_accuracy"], 0.99)

    def test_resnet20_learns(self) -> None:
        for dtype in ("f32", "bf16"):
            result = self.train("cifar10-resnet20.toml", "cifar10",
                                "train.max_steps=150", f"train.dtype={dtype}")
            self.assertLess(result["train_loss"], 2.1, dtype)
            self.assertGreater(result["test_accuracy"], 0.2, dtype)

    def test_lstm_learns(self) -> None:
        result = self.train("ptb-lstm.toml", "ptb", "train.max_steps=300")
        self.assertLess(result["train_loss"], math.log(2000))


if __name__ == "__main__":
    sys.exit(unittest.main())
