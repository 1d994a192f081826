#!/usr/bin/env python3
"""Runs that an older Weft began, gone on with: tests/data/checkpoints."""

import json
import os
import shutil
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import write_set  # noqa: E402
from weft import ROOT, SAMPLE, CliTest, run  # noqa: E402

RUNS = ROOT / "tests" / "data" / "checkpoints"


def info_of(checkpoint: Path) -> dict:
    with checkpoint.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(size))["__metadata__"]["weft"])


class OlderCheckpointsTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.folder / "data"
        shutil.copytree(ROOT / "data" / "digits", self.data / "digits")

    def weft(self, *arguments: object) -> dict:
        done = run(*arguments, "--json", cwd=self.folder,
                   env={**os.environ, "WEFT_DATA": str(self.data)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return json.loads(done.stdout)

    def folder_of(self, name: str) -> Path:
        """The run where its recipe has it. What was best is what was last."""
        folder = self.folder / "runs" / name
        shutil.copytree(RUNS / name, folder)
        shutil.copy(folder / "last.safetensors", folder / "best.safetensors")
        return folder

    def go_on(self, name: str, *flags: object, loss: float,
              within: float = 1e-4) -> str:
        """To the end, which the older Weft reached with that loss. What it
        says on the way."""
        folder = self.folder_of(name)
        info = info_of(folder / "last.safetensors")
        self.assertEqual(info["step"], 9)
        has_valid = name in ("text", "trees")
        measured = self.weft("eval", folder, "--split",
                             "valid" if has_valid else "test")
        self.assertAlmostEqual(measured["test_loss"],
                               info["metrics"]["best_loss"], delta=1e-4)
        recipe = self.write(f"{name}.toml", info["recipe"])
        done = self.weft("train", recipe, "--resume", "--threads", 1, *flags)
        said = self.said
        self.assertIn("continues after step 9", said)
        self.assertNotIn("recipe has changed", said)
        self.assertEqual(done["epochs"], 2)
        self.assertAlmostEqual(done["test_loss"], loss, delta=within * loss)
        # The first epoch was measured where the run was stopped, too.
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["epoch"] for line in lines],
                         [1, 1, 2])
        self.weft("export", folder, "-o", folder / "model.weft")
        return said

    def test_moments_and_named_augmentations(self) -> None:
        self.go_on("digits", loss=2.3090572)
        self.weft("predict", self.folder / "runs" / "digits", SAMPLE)

    def test_what_a_language_model_carries(self) -> None:
        write_set("ptb", self.data)
        self.go_on("text", loss=2.1156754, within=1e-3)

    def test_trees(self) -> None:
        write_set("sst", self.data)
        self.go_on("trees", loss=4.9520470)

    def test_what_workers_had_not_sent(self) -> None:
        self.go_on("workers", "--workers", 2, loss=2.1555550, within=1e-3)

    def test_a_collective_in_the_words_of_before(self) -> None:
        said = self.go_on("connected", "--workers", 4, loss=2.2323668)
        self.assertIn("factors=[2, 2]", said)

    def test_parts_of_the_model_of_each_worker(self) -> None:
        self.go_on("served", "--workers", 2, loss=1.5956686)


if __name__ == "__main__":
    sys.exit(unittest.main())
