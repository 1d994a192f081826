#!/usr/bin/env python3
"""Several workers: threads of one process, and processes of mpirun."""

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import BIN, ROOT, CliTest, mpirun, run, start_mpirun  # noqa: E402

DIGITS = ROOT / "recipes" / "digits.toml"
SHORT = ("--set", "train.epochs=3", "--set", 'sync.topology="2@20us,1GB/s"')


def rank_of(launcher: int, rank: int) -> int:
    """The process of a rank that mpirun started."""
    listing = subprocess.run(["ps", "--ppid", str(launcher), "-o", "pid="],
                             capture_output=True, text=True)
    for word in listing.stdout.split():
        environment = Path(f"/proc/{word}/environ").read_bytes().split(b"\0")
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
            return int(word)
    raise AssertionError(f"no rank {rank} below mpirun: {listing.stdout}")


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
        # One thread each, however many cores there are: the order of oneDNN's
        # sums follows the number of threads. Workers that are threads share
        # theirs out.
        threads = json.loads(run(*self.train("threads", "--workers", "2",
                                             "--threads", "2"),
                                 check=True).stdout)
        processes = self.json_of_mpirun(2, self.train("processes",
                                                      "--threads", "1"))
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

    def test_a_lost_rank_is_named_with_what_waited_for_it(self) -> None:
        """mpirun ends the others by SIGTERM, and kills them later."""
        for lost, ranks in ((1, 3), (0, 2)):
            process = start_mpirun(ranks, [
                "train", str(DIGITS), "--out", str(self.folder / f"of{ranks}"),
                "--set", "train.epochs=100000", "--set",
                "sync.collective=ring"])
            said = ""
            for line in process.stderr:
                said += line
                if line.startswith("epoch"):
                    break
            os.kill(rank_of(process.pid, lost), signal.SIGKILL)
            _, errors = process.communicate(timeout=120)
            self.assertNotEqual(process.returncode, 0)
            self.assertRegex(errors, rf"rank {lost}: is lost", said)
            self.assertRegex(
                errors, rf"waiting to (hear|send) rank \d+ \d+ bytes, in "
                # Whatever of a step, an epoch's end or a checkpoint it was.
                r"(all_reduce\(ring\) of f32\[\d+\]|(sum|gather|broadcast) of "
                r"\w+)", said)

    def test_processes_with_other_recipes_end_with_what_differs(self) -> None:
        def command(rank: int, *more: str) -> list[str]:
            return ["train", str(DIGITS), "--out",
                    str(self.folder / f"host{rank}"), *more]

        result = mpirun(1, [*command(0), ":", "-n", "1", str(BIN),
                            *command(1, "--set", "train.seed=5")])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("weft: recipe: rank 1 and rank 0 do not train the same",
                      result.stderr)
        self.assertIn("train.seed: rank 0 has 1, rank 1 has 5", result.stderr)
        self.assertIn("hint: start every worker with the same recipe",
                      result.stderr)

    def test_a_run_that_is_told_to_end_leaves_a_checkpoint(self) -> None:
        """SIGTERM to all ranks, as a batch system sends it."""
        process = start_mpirun(2, [
            "train", str(DIGITS), "--out", str(self.folder / "run"), "--set",
            "train.epochs=100000"])
        for line in process.stderr:
            if line.startswith("epoch"):
                break
        for rank in [rank_of(process.pid, rank) for rank in (0, 1)]:
            os.kill(rank, signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        self.assertIn("interrupted after step", errors)
        self.assertIn("--resume", errors)

    def test_what_makes_no_sense_is_refused(self) -> None:
        result = run(*self.train("run", "--workers", "2", "--set",
                                 "sync.codec=3lc", "--set",
                                 "sync.collective=ring"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot be added on their way", result.stderr)
        self.assertIn('collective = "all_gather"', result.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
