#!/usr/bin/env python3
"""Several workers: threads of one process, and processes of mpirun."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import ROOT, CliTest, mpirun, run  # noqa: E402

DIGITS = ROOT / "recipes" / "digits.toml"
SHORT = ("--set", "train.epochs=3", "--set", "sync.topology=2@20us,1GB/s")


class WorkersTest(CliTest):
    def train(self, out: str, *arguments: str) -> list[str]:
        return ["train", str(DIGITS), "--out", str(self.folder / out),
                "--json", *SHORT, *arguments]

    def json_of_mpirun(self, ranks: int, arguments: list[str]) -> dict:
        result = mpirun(ranks, arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        # One object: the first process speaks for all.
        return json.loads(result.stdout)

    def test_threads_and_processes_train_the_same_model(self) -> None:
        threads = json.loads(run(*self.train("threads", "--workers", "2"),
                                 check=True).stdout)
        processes = self.json_of_mpirun(2, self.train("processes"))
        for result in (threads, processes):
            self.assertEqual(result["workers"], 2)
            self.assertGreater(result["test_accuracy"], 0.9)
            self.assertGreater(result["bytes_sent_per_step"], 38282 * 4)
        self.assertEqual(threads["test_loss"], processes["test_loss"])

    def test_metrics_say_what_each_step_sent(self) -> None:
        run(*self.train("run", "--workers", "2", "--set", "sync.codec=3lc"),
            check=True)
        lines = (self.folder / "run" / "traffic.jsonl").read_text().split("\n")
        steps = [json.loads(line) for line in lines if line]
        self.assertEqual([step["step"] for step in steps],
                         list(range(1, len(steps) + 1)))
        for step in steps:
            self.assertGreater(step["bytes_sent"], 0)
            self.assertLess(step["bytes_sent"], 38282 * 4 / 10)
            self.assertLessEqual(step["hidden_seconds"], step["wire_seconds"])

    def test_workers_of_mpirun_are_not_multiplied(self) -> None:
        result = mpirun(2, self.train("run", "--workers", "2"))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("leave out --workers", result.stderr)

    def test_what_makes_no_sense_is_refused(self) -> None:
        result = run(*self.train("run", "--workers", "2", "--set",
                                 "sync.codec=3lc", "--set",
                                 "sync.collective=ring"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot be added on their way", result.stderr)
        self.assertIn('collective "all_gather"', result.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
