#!/usr/bin/env python3
"""A trained model in a file by itself: weft export, then weft run."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import digits  # noqa: E402
from weft import ROOT, CliTest  # noqa: E402


class ExportTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.succeed(*self.train_command("run", "--set", "train.epochs=1",
                                         "--threads", 1))
        self.net = self.folder / "net.weft"

    def test_the_file_is_run_and_shown(self) -> None:
        said = self.json_of("export", self.folder / "run", "-o", self.net)
        self.assertEqual(said, {
            "file": str(self.net),
            "arguments": [{"name": "image", "type": "f32[N, 8, 8, 1]"}],
            "results": ["f32[N, 10]"]})
        image = digits()[0][0]
        rows = [[[value / 16] for value in image[at:at + 8]]
                for at in range(0, 64, 8)]
        run = json.loads(self.succeed("run", self.net, "--input",
                                      f"image={json.dumps([rows, rows])}"))
        first, second = run["results"][0]["value"]
        self.assertEqual(first, second)
        self.assertAlmostEqual(sum(first), 1, delta=1e-5)
        shown = self.succeed("inspect", self.net, "--graph")
        for part in ("a trained model", '"checkpoint":"best.safetensors"',
                     "classes: 0, 1, 2, 3", "best_accuracy", 'name = "digits',
                     "@predict"):
            self.assertIn(part, shown)
        # Again, which replaces it, and for people.
        text = self.succeed("export", self.folder / "run", "--output",
                            self.net)
        self.assertIn("(image: f32[N, 8, 8, 1]) -> f32[N, 10]", text)
        self.assertIn(f"next: weft predict {self.net}", text)

    def test_the_file_stands_alone(self) -> None:
        checkpoint = self.folder / "run" / "best.safetensors"
        self.succeed("export", checkpoint, "-o", self.net)
        picture = ROOT / "data" / "digits" / "sample.png"
        told = self.json_of("predict", checkpoint, picture)
        measured = self.json_of("eval", checkpoint, "--threads", 1)
        checkpoint.unlink()
        self.assertEqual(self.json_of("predict", self.net, picture), told)
        again = self.json_of("eval", self.net, "--threads", 1)
        for timed in ("seconds", "samples_per_s", "checkpoint",
                      "peak_rss_bytes"):
            again.pop(timed), measured.pop(timed)
        self.assertEqual(again, measured)
        self.assertEqual(again["examples"], 360)
        # What is known of the data is in the file: to predict needs no more.
        self.assertEqual(
            self.json_of("predict", self.net, picture, "--data",
                         self.folder / "nowhere"), told)
        self.refuse("predict", self.net, "eight.png", parts=("no such file",))
        self.refuse("eval", self.net, "--data", self.folder / "nowhere",
                    parts=("nowhere",))

    def test_damage_is_found(self) -> None:
        self.succeed("export", self.folder / "run", "-o", self.net)
        content = bytearray(self.net.read_bytes())
        content[-5] ^= 4
        self.net.write_bytes(content)
        for verb in (("predict", self.net, "x.png"), ("eval", self.net),
                     ("run", self.net), ("inspect", self.net, "--graph")):
            self.refuse(*verb, parts=("checksum", "export the model anew"))

    def test_what_is_optimized_predicts_and_measures(self) -> None:
        self.succeed("export", self.folder / "run", "-o", self.net)
        self.succeed("optimize", self.net, "-o", self.folder / "fast.weft",
                     "--budget", 1)
        fast = self.folder / "fast.weft"
        picture = ROOT / "data" / "digits" / "sample.png"
        self.assertEqual(self.json_of("predict", fast, picture)["class"],
                         self.json_of("predict", self.net, picture)["class"])
        told, expected = (self.json_of("eval", file)
                          for file in (fast, self.net))
        self.assertEqual(told["test_accuracy"], expected["test_accuracy"])
        self.assertAlmostEqual(told["test_loss"], expected["test_loss"], 5)
        # The functions of a file share their weights.
        self.assertLess(fast.stat().st_size, 1.1 * self.net.stat().st_size)

    def test_refusals(self) -> None:
        best = self.folder / "run" / "best.safetensors"
        before = best.read_bytes()
        self.refuse("export", best, "-o", best,
                    parts=("no exported function", "another name"))
        self.assertEqual(best.read_bytes(), before)
        self.refuse("export", best, parts=("--output",))
        self.refuse("export", self.folder / "none.safetensors", "-o", self.net,
                    parts=("none.safetensors",))
        text = self.write("text.safetensors", "no weights at all")
        self.refuse("export", text, "-o", self.net,
                    parts=("text.safetensors",))
        self.refuse("export", best, "-o", self.folder / "none" / "net.weft",
                    parts=("none",))
        self.assertFalse(self.net.exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
