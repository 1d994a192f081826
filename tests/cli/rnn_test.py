#!/usr/bin/env python3
"""Recurrent layers that are served: narrow weights, and weft rnn."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import write_ptb  # noqa: E402
from weft import CliTest, run  # noqa: E402

RECIPE = """
[model]
name = "lstm-lm"
hidden = 48
layers = 2

[data]
name = "ptb"

[optimizer]
name = "sgd"
lr = 1.0
clip_norm = 5.0

[train]
epochs = 1
batch = 4
steps = 12
"""


class NarrowWeightsTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.folder / "ptb"
        self.data.mkdir()
        write_ptb(self.data)
        recipe = self.write("lm.toml", RECIPE)
        self.succeed("train", recipe, "--data", self.folder, "--out",
                     self.folder / "run", "--threads", 1)

    def perplexity(self, *more: str) -> float:
        said = self.json_of("eval", self.folder / "run", "--data", self.folder,
                            "--threads", 1, *more)
        return said["test_perplexity"]

    def test_perplexity_stays_within_three_thousandths(self) -> None:
        exact = self.perplexity()
        self.assertGreater(exact, 1)
        for weights in ("bf16", "i8"):
            narrow = self.perplexity("--recurrent-weights", weights)
            self.assertNotEqual(narrow, exact)
            self.assertLess(abs(narrow / exact - 1), 0.003, weights)

    def test_an_exported_model_says_its_weights(self) -> None:
        net = self.folder / "lm.weft"
        self.succeed("export", self.folder / "run", "-o", net, "--data",
                     self.folder, "--recurrent-weights", "i8")
        shown = self.succeed("inspect", net, "--graph")
        self.assertIn("weights = i8", shown)


class RnnTest(CliTest):
    def said(self, *arguments: object) -> list:
        env = {**os.environ, "WEFT_KERNELS": "ranked"}
        return json.loads(self.succeed("rnn", *arguments, "--json", env=env))

    def test_a_layer_here_and_on_two_chips(self) -> None:
        layer, = self.said("gru", "--hidden", 64, "--steps", 3,
                           "--recurrent-weights", "i8")
        self.assertEqual((layer["cell"], layer["hidden"], layer["inputs"],
                          layer["steps"]), ("gru", 64, 64, 3))
        self.assertGreater(layer["here"]["seconds"], 0)
        self.assertRegex(layer["here"]["parameters"], r"^\d+ units, ")
        self.assertLessEqual(layer["loop_chip"]["utilization"], 1)
        self.assertAlmostEqual(layer["matrix_chip"]["utilization"],
                               64 * 128 / (400 * 240))

    def test_people_get_a_table(self) -> None:
        done = run("rnn", "lstm", "--hidden", 32)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(re.search(r"^lstm 32, 25 steps", done.stdout, re.M),
                        done.stdout)

    def test_refusals(self) -> None:
        self.refuse("rnn", "lstm", parts=("--hidden",))
        self.refuse("rnn", "--hidden", 4, parts=("cell",))
        self.refuse("rnn", "elman", "--hidden", 4, parts=("elman",))
        self.refuse("rnn", "lstm", "--hidden", 0, parts=("--hidden",))


if __name__ == "__main__":
    unittest.main()
