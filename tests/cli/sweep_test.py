#!/usr/bin/env python3
"""Several values for a key: a run for each, side by side."""

import json
import os
import signal
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from interruption_test import RenameWatch, weights  # noqa: E402
from weft import BIN, DIGITS, ROOT, CliTest, run  # noqa: E402


class SweepTest(CliTest):
    def test_tells_the_best_first(self) -> None:
        command = self.train_command("sweep", "--set",
                                     "optimizer.lr=1e30,1e-5,0.01",
                                     "--cores", 2, "--threads", 1)
        done = run(*command)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("3 runs  2 at a time, 1 thread each", done.stderr)
        self.assertNotIn("\033", done.stderr)
        rows = done.stdout.splitlines()
        self.assertEqual([row.split()[0] for row in rows],
                         ["run", "optimizer.lr=0.01", "optimizer.lr=1e-5",
                          "optimizer.lr=1e30"])
        self.assertRegex(rows[1], r"accuracy 0\.\d{4} +2/2 +\d+\.\d s$")
        self.assertRegex(rows[3], r"failed +train: the loss is")
        # Each has a folder of its own, with its recipe.
        for rate, state in (("0.01", "done"), ("1e30", "failed")):
            folder = self.folder / "sweep" / f"optimizer.lr={rate}"
            record = json.loads((folder / "run.json").read_text())
            self.assertEqual(record["state"], state)
            with (folder / "recipe.toml").open("rb") as file:
                recipe = tomllib.load(file)
            self.assertIn(f"from={float(rate):g},", recipe["optimizer"]["lr"])
        # They are what they would be alone, with as many threads.
        self.succeed(*self.train_command("alone", "--threads", 1, "--set",
                                         "optimizer.lr=0.01"))
        self.assertEqual(
            weights(self.folder / "alone"),
            weights(self.folder / "sweep" / "optimizer.lr=0.01"))

        # What is done stays as it is.
        before = weights(self.folder / "sweep" / "optimizer.lr=1e-5")
        done = run(*command, "--resume", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        runs = json.loads(done.stdout)["runs"]
        self.assertEqual([each["state"] for each in runs],
                         ["done", "done", "failed"])
        self.assertEqual(runs[0]["metric"], "accuracy")
        self.assertGreater(runs[0]["test_accuracy"],
                           runs[1]["test_accuracy"])
        self.assertEqual(before, weights(self.folder / "sweep" /
                                         "optimizer.lr=1e-5"))

    def test_interrupted_it_goes_on(self) -> None:
        command = self.train_command("sweep", "--set", "train.seed=1,2,3",
                                     "--set", "train.epochs=4",
                                     "--cores", 1)
        first = self.folder / "sweep" / "train.seed=1"
        watch = RenameWatch(first)
        process = subprocess.Popen([BIN, *command], cwd=ROOT, text=True,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        watch.wait("last.safetensors", 1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=300)
        watch.close()
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("--resume", errors)
        self.assertRegex(output, r"train.seed=1 +interrupted")
        self.assertRegex(output, r"train.seed=3 +interrupted +not begun")
        self.assertTrue((first / "last.safetensors").is_file())

        self.assertIn("next: weft eval", self.succeed(*command, "--resume"))
        self.succeed(*self.train_command("alone", "--threads", 1, "--set",
                                         "train.epochs=4"))
        self.assertEqual(weights(first), weights(self.folder / "alone"))

    def test_shows_all_runs_in_a_terminal(self) -> None:
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [BIN, *self.train_command("sweep", "--set", "train.seed=1,2",
                                      "--set", "train.epochs=8")],
            cwd=ROOT, stderr=theirs, stdout=subprocess.PIPE)
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # how a pty ends
            pass
        os.close(ours)
        output, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertIn("1 of 2 runs ended, 1 running", shown.decode())
        self.assertEqual(output.count(b"accuracy"), 2)
        # Whatever was drawn over is cleared in the end.
        self.assertTrue(shown.rstrip().endswith(b"\033[J"), shown[-200:])

    def test_workers_share_the_cores_of_a_run(self) -> None:
        done = run(*self.train_command("sweep", "--set", "sync.codec=none,bf16",
                                       "--workers", 2, "--cores", 2))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 at a time, 2 threads each", done.stderr)

    def test_refusals_come_before_training(self) -> None:
        def refuse(*more: object, parts: tuple) -> None:
            self.refuse(*self.train_command("none", *more), parts=parts)
            self.assertFalse((self.folder / "none").exists())

        refuse("--set", "optimizer.momentun=1,2", parts=("momentun",))
        refuse("--set", "optimizer.lr=0.1,-1", parts=("lr=-1", "above 0"))
        refuse("--set", "optimizer.lr=0.1,", parts=("due here",))
        refuse("--cores", 2, parts=("--cores", "--threads"))
        refuse("--set", "train.seed=1,2", "--cores", 1, "--threads", 2,
               parts=("2 threads", "than the 1"))
        refuse("--set", "train.seed=1,2", "--dry-run",
               parts=("--dry-run", "one value"))
        self.refuse("train", DIGITS, "--cores", 0, parts=("--cores",))


if __name__ == "__main__":
    sys.exit(unittest.main())
