#!/usr/bin/env python3
"""The first thing a stranger does: train on the digits, then use the model."""

import fcntl
import os
import struct
import subprocess
import sys
import termios
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, DIGITS, ROOT, SAMPLE, CliTest, run  # noqa: E402

KEYS = {"recipe", "steps", "epochs", "seconds", "train_loss", "test_loss",
        "test_accuracy", "samples_per_s", "peak_rss_bytes", "checkpoint"}


class DigitsTest(CliTest):
    def test_reaches_98_percent_and_serves(self) -> None:
        out = self.folder / "run"
        result = self.json_of("train", DIGITS, "--out", out)
        self.assertLessEqual(KEYS, set(result))
        self.assertEqual(result["recipe"], "digits")
        self.assertGreaterEqual(result["test_accuracy"], 0.98)
        self.assertGreater(result["samples_per_s"], 0)
        checkpoint = result["checkpoint"]

        again = self.json_of("eval", checkpoint)
        self.assertLessEqual(KEYS, set(again))
        self.assertAlmostEqual(again["test_accuracy"],
                               result["test_accuracy"])
        self.assertAlmostEqual(again["test_loss"], result["test_loss"], 5)

        text = self.succeed("predict", checkpoint, SAMPLE)
        self.assertRegex(text, r"digit \d   probability [01]\.\d+")
        self.assertIn("@", text)  # the picture
        guess = self.json_of("predict", checkpoint, SAMPLE)
        self.assertGreater(guess["probability"], 0.5)
        self.assertAlmostEqual(sum(guess["classes"].values()), 1, 4)

        text = self.succeed("inspect", checkpoint, "--graph")
        self.assertIn("conv1.weight", text)
        self.assertIn("kernel ", text)
        for name in ("metrics.jsonl", "curve.svg", "last.safetensors",
                     "best.json"):
            self.assertTrue((out / name).is_file(), name)

    def test_patience_ends_a_run_that_learns_nothing(self) -> None:
        command = self.train_command("run", "--set", "train.epochs=9",
                                     "--set", "optimizer.lr=1e-30", "--patience")
        self.refuse(*command, "-1", parts=("--patience",))
        self.assertEqual(self.json_of(*command, 2)["epochs"], 3)
        self.assertEqual(self.json_of(*command, 0)["epochs"], 9)

    def test_shows_its_course_on_standard_error(self) -> None:
        done = run(*self.train_command("run"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("38,282 parameters", done.stderr)
        self.assertIn("epoch 1/2", done.stderr)
        self.assertIn("epoch 2/2", done.stderr)
        self.assertNotIn("\033", done.stderr)  # no terminal, no colours
        self.assertIn("best accuracy", done.stdout)
        self.assertIn("next: weft predict", done.stdout)

    def shown_by(self, ours: int, process: subprocess.Popen) -> str:
        """What a terminal shows until the process ends, which it does well."""
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # how a pty ends
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return shown.decode()

    def test_draws_a_bar_in_a_terminal(self) -> None:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 40, 0, 0))
        process = subprocess.Popen(
            [BIN, "train", DIGITS, "--out", self.folder / "run", "--set",
             "train.epochs=1", "--set", "train.batch=1"],
            cwd=ROOT, stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        shown = self.shown_by(ours, process)
        self.assertIn("█", shown)
        # What is drawn over stays within the line.
        bars = [part for part in shown.split("\r\x1b[K")[1:]
                if part and "\n" not in part]
        self.assertTrue(bars)
        self.assertLess(max(map(len, bars)), 40)

    def test_colours_are_for_those_who_want_them(self) -> None:
        self.succeed(*self.train_command("run", "--set", "train.epochs=1"))

        def painted(*options: str, **environment: str) -> bool:
            ours, theirs = os.openpty()
            process = subprocess.Popen(
                [BIN, *options, "predict", self.folder / "run", SAMPLE],
                cwd=ROOT, stdout=theirs,
                env={**os.environ, "TERM": "xterm", **environment})
            os.close(theirs)
            return "\033" in self.shown_by(ours, process)
        self.assertTrue(painted(NO_COLOR=""))
        self.assertFalse(painted(NO_COLOR="1"))
        self.assertFalse(painted(TERM="dumb"))
        self.assertFalse(painted("--color", "never", NO_COLOR=""))

    def test_a_profile_is_for_tensorboard_too(self) -> None:
        self.json_of(*self.train_command(
            "run", "--profile", "--set", "tensorboard.folder=board"))
        board = self.folder / "run" / "board"
        self.assertTrue(any("profile" in str(path.relative_to(board))
                            for path in board.rglob("*")),
                        list(board.rglob("*")))

    def test_same_seed_same_bits(self) -> None:
        for out in ("a", "b"):
            self.succeed(*self.train_command(out))
        self.assertEqual(weights(self.folder / "a"),
                         weights(self.folder / "b"))


def weights(folder: Path) -> bytes:
    """Everything behind the header, which holds times and places."""
    raw = (folder / "last.safetensors").read_bytes()
    return raw[8 + int.from_bytes(raw[:8], "little"):]


if __name__ == "__main__":
    sys.exit(unittest.main())
