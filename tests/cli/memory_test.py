#!/usr/bin/env python3
"""What a run takes of memory: told before it, and refused where there is too
little."""

import resource
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_sets import write_mnist  # noqa: E402
from weft import ROOT, CliTest, run  # noqa: E402


class MemoryTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        write_mnist(self.folder)
        self.command = ("train", ROOT / "recipes" / "mnist.toml", "--data",
                        self.folder, "--out", self.folder / "run",
                        "--threads", 1)

    def test_a_run_takes_what_was_told(self) -> None:
        told = self.json_of(*self.command, "--dry-run", "--set",
                            "train.batch=1000")
        self.assertFalse((self.folder / "run").exists())
        parts = told["bytes"]
        self.assertEqual(told["batch"], 1000)
        # Steps of images are activations first of all.
        self.assertGreater(parts["training step"], parts["in all"] / 2)
        done = self.json_of(*self.command, "--set", "train.batch=1000",
                            "--set", "train.epochs=1")
        self.assertAlmostEqual(done["peak_rss_bytes"] / parts["in all"], 1,
                               delta=0.1)
        # Half of the batch takes about half of what grows with it.
        half = self.json_of(*self.command, "--dry-run", "--set",
                            "train.batch=500")["bytes"]
        self.assertAlmostEqual(half["training step"] / parts["training step"],
                               0.5, delta=0.05)
        text = self.succeed(*self.command, "--dry-run")
        self.assertIn("training step", text)
        self.assertIn("1 worker in this process", text)

    def test_gradients_that_are_shown_are_told(self) -> None:
        shown = ("--set", "train.batch=1000", "--set",
                 "tensorboard.folder=board")
        told = self.json_of(*self.command, "--dry-run", *shown)["bytes"]
        self.assertGreater(told["shown gradients"], told["training step"] / 3)
        done = self.json_of(*self.command, *shown, "--set", "train.epochs=1")
        self.assertAlmostEqual(done["peak_rss_bytes"] / told["in all"], 1,
                               delta=0.1)
        self.assertTrue((self.folder / "run" / "board").exists())

    def test_workers_take_as_much_each(self) -> None:
        one = self.json_of(*self.command, "--dry-run")["bytes"]
        two = self.json_of(*self.command, "--dry-run", "--workers", 2)["bytes"]
        self.assertEqual(two["parameters"], 2 * one["parameters"])
        self.assertEqual(one["network"], 0)
        self.assertGreater(two["network"], 0)

    def test_what_a_step_sends_is_told(self) -> None:
        one = self.json_of(*self.command, "--dry-run")
        self.assertNotIn("traffic", one)
        both = ("--workers", 2, "--set", "sync.collective=ring")
        told = self.json_of(*self.command, "--dry-run", *both)
        self.assertFalse((self.folder / "run").exists())
        ranks = told["traffic"]["ranks"]
        # With two ranks each sends the gradients of all parameters once.
        for rank in ranks:
            self.assertAlmostEqual(
                rank["bytes_sent"] / (told["bytes"]["parameters"] / 2), 1,
                delta=0.01)
        done = self.json_of(*self.command, *both, "--set", "train.epochs=1")
        self.assertAlmostEqual(done["bytes_sent_per_step"],
                               ranks[0]["bytes_sent"], delta=64)
        text = self.succeed(*self.command, "--dry-run", *both)
        self.assertIn("traffic of a step", text)
        self.assertIn("ring", text)

    def test_too_little_is_refused(self) -> None:
        def limit() -> None:
            most = 700 << 20
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

        done = run(*self.command, "--set", "train.batch=1500",
                   preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a smaller train.batch takes less", done.stderr)
        self.assertFalse((self.folder / "run" / "run.json").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
