#!/usr/bin/env python3
"""Private training by several workers: killed, and as processes."""

import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from interruption_test import RenameWatch, weights  # noqa: E402
from weft import BIN, DIGITS, ROOT, CliTest, mpirun, run  # noqa: E402

# Measured networks may choose other algorithms, which round differently.
SETTINGS = ("privacy.noise=1", "train.batch=150", "train.epochs=2",
            "train.checkpoint_every=3", 'sync.topology="2@20us,1GB/s"')


class PrivateWorkersTest(CliTest):
    def command(self, out: str, *more: str) -> list[str]:
        """A run that goes on with a key that is there, as resuming does."""
        folder = self.folder / out
        folder.mkdir(exist_ok=True)
        key = folder / "privacy.key"
        if not (folder / "last.safetensors").exists():
            key.touch(0o600)
            key.write_bytes(bytes(range(32)))
        return ["train", str(DIGITS), "--resume", "--threads", "1", "--out",
                str(folder), *more,
                *(part for each in SETTINGS for part in ("--set", each))]

    def test_killed_anywhere_they_resume_bit_for_bit(self) -> None:
        self.succeed(*self.command("whole", "--workers", "2"))
        out = self.folder / "killed"
        kills = 0
        for number in range(3):
            command = self.command("killed", "--workers", "2")
            watch = RenameWatch(out)
            process = subprocess.Popen([BIN, *command], cwd=ROOT,
                                       stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            watch.wait("last.safetensors", 1 + number % 2)
            process.kill()
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            watch.close()
        self.assertGreaterEqual(kills, 2)
        self.succeed(*self.command("killed", "--workers", "2"))
        self.assertEqual(weights(out), weights(self.folder / "whole"))
        self.assertFalse((out / "privacy.key").exists())

    def test_processes_are_told_the_key(self) -> None:
        self.succeed(*self.command("threads", "--workers", "2"))
        done = mpirun(2, self.command("processes"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(weights(self.folder / "processes"),
                         weights(self.folder / "threads"))


class BudgetRetireTest(CliTest):
    def test_what_is_retired_is_given_to_nobody(self) -> None:
        books = self.folder / "books.db"
        self.succeed("budget", "add", books, "mon", "--grants", 1)
        self.succeed("budget", "add", books, "tue", "--until", "2999-12-31")

        def said(name: str, block: str, code: int) -> str:
            done = run("budget", "grant", books, name, "--blocks", block,
                       "--mechanism", "gaussian(noise=20)")
            self.assertEqual(done.returncode, code, done.stderr)
            return done.stdout

        self.assertIn("granted", said("a", "mon", 0))
        self.assertIn("after 1 grant", said("b", "mon", 1))
        self.succeed("budget", "retire", books, "tue", "--because",
                     "its people have left")
        self.assertIn("its people have left", said("c", "tue", 1))
        self.refuse("budget", "retire", books, "tue", "--because", "again",
                    parts=("any more",))
        self.refuse("budget", "add", books, "wed", "--until", "2027-02-30",
                    parts=("no date", "2027-01-31"))
        self.refuse("budget", "add", books, "wed", "--until", "1999-01-01",
                    parts=("before it is there",))
        blocks = self.json_of("budget", "show", books)["blocks"]
        self.assertEqual([block["grants"] for block in blocks], [1, 0])
        self.assertIn("retired", blocks[1]["retired"])
        self.assertIn("after 1 grant", self.succeed("budget", "show", books))


if __name__ == "__main__":
    unittest.main()
