#!/usr/bin/env python3
"""weft budget account and simulate: privacy in numbers."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402

STEP = "subsampled_gaussian(noise=1.1, rate=0.01, steps={})"


class BudgetAccountTest(CliTest):
    def test_both_accountants_say_epsilon(self) -> None:
        found = self.json_of("budget", "account", STEP.format(1000))
        # dp-accounting 0.6.0 says 1.5153702.
        self.assertAlmostEqual(found["pld"]["epsilon"], 1.51537, places=4)
        self.assertGreater(found["rdp"]["epsilon"], found["pld"]["epsilon"])
        self.assertEqual(found["mechanisms"], STEP.format(1000))

    def test_finds_the_noise_of_a_guarantee(self) -> None:
        found = self.json_of("budget", "account", STEP.format(500),
                             "--epsilon", 2, "--delta", 1e-6)
        for accounting in ("rdp", "pld"):
            again = self.json_of("budget", "account",
                                 found[accounting]["with_least_noise"],
                                 "--delta", 1e-6)
            self.assertLessEqual(again[accounting]["epsilon"], 2)
            self.assertGreater(again[accounting]["epsilon"], 1.98)

    def test_finds_the_delta_of_an_epsilon(self) -> None:
        first = self.json_of("budget", "account", STEP.format(500))
        for accounting in ("rdp", "pld"):
            found = self.json_of("budget", "account", STEP.format(500),
                                 "--epsilon", first[accounting]["epsilon"])
            self.assertAlmostEqual(found[accounting]["delta"], 1e-5,
                                   delta=1e-9)

    def test_a_text_for_people(self) -> None:
        said = self.succeed("budget", "account", "gaussian(noise=0)")
        self.assertIn("rdp  epsilon infinite", said)
        said = self.succeed("budget", "account", "laplace(noise=2)",
                            "--epsilon", 1)
        self.assertIn("epsilon 1 at delta 0, or with laplace(noise=", said)

    def test_refuses(self) -> None:
        self.refuse("budget", "account", "gausian", parts=("gaussian", "^"))
        self.refuse("budget", "account", "gaussian", "--delta", 0,
                    parts=("(0, 1)",))
        self.refuse("budget", "account", "gaussian(noise=0)", "--epsilon", 1,
                    parts=("no noise",))


class BudgetSimulateTest(CliTest):
    def test_schedulers_side_by_side(self) -> None:
        found = self.json_of("budget", "simulate", "block_study(std=0)",
                             "block_study(std=4)", "--seeds", 2,
                             "--bound", 5)
        self.assertEqual(len(found["workloads"]), 2)
        for workload in found["workloads"]:
            dpk, dpf, fcfs = (s["granted"] for s in workload["schedulers"])
            self.assertGreater(dpk, dpf)
            self.assertEqual(len(workload["most_weight"]), 2)
            self.assertLessEqual(dpk, sum(workload["most_weight"]) / 2)
            for scheduler in workload["schedulers"]:
                self.assertEqual(len(scheduler["seeds"]), 2)
                for seed in scheduler["seeds"]:
                    self.assertLessEqual(seed["epsilon"], 10)

    def test_a_table_for_people(self) -> None:
        said = self.succeed("budget", "simulate", "order_study(tasks=50)",
                            "--scheduler", "dpk(ties=lowest)", "--choice",
                            "zipf", "--unlocking", "claims(count=10)",
                            "--patience", 3, "--fair-shares", 20,
                            "--bound", 5)
        self.assertIn("dpk(ties=lowest)", said)
        self.assertRegex(said, r"any +<= [0-9.]+")
        self.assertIn("fair granted", said)

    def test_draws(self) -> None:
        for workloads, name in ((["power_law(tasks=5, more_blocks=10)"],
                                 "one.svg"),
                                (["order_study(std=0, tasks=20)",
                                  "order_study(tasks=20)"], "two.png")):
            picture = self.folder / name
            self.succeed("budget", "simulate", *workloads, "--picture",
                         picture)
            start = picture.read_bytes()[:8]
            self.assertIn(b"PNG" if name.endswith("png") else b"<svg", start)

    def test_optimal_says_where_its_solver_is(self) -> None:
        done = run("budget", "simulate", "order_study(tasks=5)",
                   "--scheduler", "optimal",
                   env={**os.environ, "WEFT_HIGHS": "/nowhere/libhighs.so"})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/nowhere/libhighs.so", done.stderr)
        self.assertIn("tools/highs.sh", done.stderr)

    def test_refuses(self) -> None:
        self.refuse("budget", "simulate", "order_study(tasks=5)", "--bound",
                    "5", "--grants", "3", parts=("3 grants", "no bound"))
        self.refuse("budget", "simulate", "block_study(std=-1)",
                    parts=("at least 0",))
        self.refuse("budget", "simulate", "block_study(mean=21)",
                    parts=("21", "20"))
        self.refuse("budget", "simulate", "alibaba", parts=("trace",))
        self.refuse("budget", "simulate", "power_law", "--scheduler", "best",
                    parts=("best",))
        self.refuse("budget", "simulate", "order_study", "--unlocking", "now",
                    parts=("now",))
        self.refuse("budget", "simulate", "order_study", "--picture", "a.gif",
                    parts=(".svg or .png",))


if __name__ == "__main__":
    unittest.main()
