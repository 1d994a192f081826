#!/usr/bin/env python3
"""A trained model made faster: weft optimize, then weft run and inspect."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import digits  # noqa: E402
from weft import CliTest  # noqa: E402


class OptimizeTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.succeed(*self.train_command("run", "--set", "train.epochs=1",
                                         "--threads", 1))
        self.net = self.folder / "net.weft"
        self.fast = self.folder / "fast.weft"

    def answer(self, net: Path) -> list[float]:
        image = digits()[0][0]
        rows = [[[value / 16] for value in image[at:at + 8]]
                for at in range(0, 64, 8)]
        run = json.loads(self.succeed("run", net, "--input",
                                      f"image={json.dumps([rows, rows])}"))
        return run["results"][0]["value"][1]

    def test_computes_the_same_and_says_what_happened(self) -> None:
        self.json_of("export", self.folder / "run", "-o", self.net)
        picture = self.folder / "steps.svg"
        said = self.json_of("optimize", self.net, "-o", self.fast, "--threads",
                            1, "--seconds", 5, "--picture", picture)
        self.assertIn(said["taken"], ("unchanged", "greedy", "relaxed"))
        self.assertGreater(said["predicted_before"], 0)
        self.assertLessEqual(said["predicted_after"],
                             said["predicted_before"])
        self.assertLessEqual(said["measured_after"], said["measured_before"])
        self.assertGreater(said["tried"], 0)
        self.assertIn("<svg", picture.read_text())
        for ours, theirs in zip(self.answer(self.fast), self.answer(self.net)):
            self.assertAlmostEqual(ours, theirs, delta=1e-5)
        shown = self.succeed("inspect", self.fast)
        self.assertIn(f"{said['taken']}: ", shown)
        self.assertIn("functions looked into", shown)
        # A second time nothing is timed: the machine's file has it.
        again = self.json_of("optimize", self.net, "-o", self.fast,
                             "--threads", 1, "--greedy")
        self.assertEqual(again["timed"], 0)

    def test_takes_a_checkpoint(self) -> None:
        self.fast = self.folder / "my fast.weft"
        text = self.succeed("optimize", self.folder / "run", "-o", self.fast,
                            "--threads", 1, "--whole", "--budget", 20)
        self.assertIn("predicted: ", text)
        self.assertIn(f"next: weft run '{self.fast}', weft", text)
        self.assertEqual(len(self.answer(self.fast)), 10)

    def test_refusals(self) -> None:
        run = self.folder / "run"
        self.refuse("optimize", run, parts=("--output",))
        self.refuse("optimize", run, "-o", self.fast, "--alpha", 0.5,
                    parts=("alpha",))
        self.refuse("optimize", run, "-o", self.fast, "--without",
                    "merge_product", parts=("merge_products",))
        self.refuse("optimize", self.folder / "none", "-o", self.fast,
                    parts=("none",))
        # Nothing is left behind, not even what is made on the way.
        self.assertEqual([each.name for each in self.folder.iterdir()
                          if "fast" in each.name], [])


if __name__ == "__main__":
    unittest.main()
