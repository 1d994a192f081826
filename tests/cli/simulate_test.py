#!/usr/bin/env python3
"""weft train --simulate: a cluster that is not there."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import DIGITS, CliTest, mpirun, run  # noqa: E402

NETWORK = "2@20us,1GB/s"
ONE = ("--set", "train.epochs=3", "--threads", "1")
# What workers measured of a real network might choose other sums.
SAME = ("--set", f'sync.topology="{NETWORK}"')


class SimulateTest(CliTest):
    def train(self, out: str, *arguments: str) -> dict:
        done = run("train", DIGITS, "--out", self.folder / out, "--json",
                   *ONE, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def last(self, out: str) -> bytes:
        """The parameters, as bytes: behind the header, which has times."""
        data = (self.folder / out / "last.safetensors").read_bytes()
        return data[8 + int.from_bytes(data[:8], "little"):]

    def test_threads_processes_and_simulation_train_the_same_bits(self) -> None:
        simulated = self.train("simulated", *SAME, "--simulate", NETWORK)
        arguments = ["train", str(DIGITS), "--json", *ONE, *SAME]
        done = mpirun(2, [*arguments, "--out", str(self.folder / "processes")])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.train("threads", *SAME, "--workers", "2")
        for real in ("processes", "threads"):
            self.assertEqual(self.last(real), self.last("simulated"), real)
        self.assertEqual(simulated["workers"], 2)
        self.assertTrue(simulated["simulated"])

    def test_time_is_that_of_the_law_and_the_network(self) -> None:
        arguments = ("--simulate", "4@1ms,10Mbit/s", "--set",
                     "simulate.compute=constant(50ms)", "--set",
                     'sync.topology="4@1ms,10Mbit/s"')
        slow = self.train("slow", *arguments)
        again = self.train("again", *arguments)
        self.assertEqual(slow["seconds"], again["seconds"])
        self.assertAlmostEqual(slow["computing_seconds"],
                               0.05 * slow["steps"], delta=0.1)
        # 38,282 gradients of f32 by a ring of four at 10 Mbit/s.
        wire = 38282 * 4 * 1.5 * 8 / 1e7
        self.assertGreater(slow["step_seconds"], wire)
        self.assertLess(slow["step_seconds"], 0.05 + 1.3 * wire)
        curve = [json.loads(line) for line in
                 (self.folder / "slow" / "metrics.jsonl").read_text()
                 .splitlines() if '"epoch"' in line]
        # The scores of the last epoch are summed after it.
        self.assertAlmostEqual(curve[-1]["seconds"], slow["seconds"],
                               delta=0.1)

    def test_what_was_simulated_is_said(self) -> None:
        done = run("train", DIGITS, "--out", self.folder / "run", *ONE,
                   "--simulate", NETWORK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"simulated: 2 workers, .* on their "
                         r"clock, .* computing \(a step: .* measured here\)")
        self.assertIn("2 workers (sim)", done.stderr)

    def test_networks_are_swept(self) -> None:
        done = run("train", DIGITS, "--out", self.folder / "sweep", "--set",
                   "train.epochs=1", "--set", "simulate.compute=constant",
                   "--set", 'simulate.network="2@1ms,1MB/s","3@1ms,1MB/s"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("simulate.network=_3_1ms", done.stdout)

    def test_what_cannot_be_is_refused(self) -> None:
        def refuse(*arguments: str) -> str:
            done = run("train", DIGITS, "--out", self.folder / "no",
                       *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr
        self.assertIn("4 workers, but the simulated network '2@20us,1GB/s' "
                      "has 2", refuse("--simulate", NETWORK, "--workers", "4"))
        self.assertIn("a rate such as", refuse("--simulate", "2@20us,1parsec"))
        self.assertIn("network of one", refuse("--simulate", "1@20us,1GB/s"))
        self.assertIn("must be above 0", refuse(
            "--simulate", NETWORK, "--set", "simulate.compute=constant(0s)"))
        done = mpirun(2, ["train", str(DIGITS), "--out",
                          str(self.folder / "no"), "--simulate", NETWORK])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a simulated cluster is one process", done.stderr)
        self.assertFalse((self.folder / "no").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
