#!/usr/bin/env python3
"""What the suites make of their measurements: which form of a peer is raced,
which of several runs counts."""

import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib import comm_convex, comm_lab, concurrent_stm  # noqa: E402
from lib.bench import Bar, Setting  # noqa: E402
from lib.lab_training import Run  # noqa: E402
from lib.peers import Peers  # noqa: E402
from suites import engine, functions  # noqa: E402

WHERE = Setting(ROOT, ROOT / "build", ROOT, Peers(ROOT / "build"))


class Side:
    """A worker of a fixed speed and memory."""

    def __init__(self, work_per_second: float, peak: int = 0):
        self.answers = {
            "check": {"losses": [1.0]},
            "run": {"seconds": 1.0, "work": work_per_second},
            "memory": {"peak_rss_bytes": peak, "baseline_rss_bytes": 0}}

    def ask(self, request: str) -> dict:
        return self.answers[request]

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class BucketsTest(unittest.TestCase):
    def contest(self, seconds: dict) -> comm_lab.Contest:
        """`seconds` of a step by size of the buckets."""
        runs = mock.Mock()
        runs.torch = mock.Mock(side_effect=lambda hook, steps, link, bucket_mib:
                               Run([9.0] * 12 + [seconds[bucket_mib]], [], {}))
        return comm_lab.Contest(runs, 100, 0.5, 6)

    def test_the_best_buckets_are_the_peer(self):
        it = self.contest({0.25: 0.3, 1.0: 0.1, None: 0.2})
        seconds, note = it.torch_step("fp16", "1 Gbit/s")
        self.assertEqual(seconds, 0.1)
        self.assertIn("DDP with buckets of 1 MiB", note)
        self.assertIn("its default buckets 200 ms", note)

    def test_seconds_to_an_accuracy_are_steps_times_a_step(self):
        it = self.contest({0.25: 0.3, 1.0: 0.1, None: 0.2})
        it._runs.curve = lambda how, steps, seed: [(50, 0.4), (100, 0.6)]
        it._runs.torch_curve = lambda hook, steps, eval_every: [(80, 0.5)]
        it._runs.ours = lambda how, steps, link: Run([9.0, 9.0, 0.2], [], {})
        self.assertAlmostEqual(it.ours(comm_lab.DENSE, "1 Gbit/s"), 75 * 0.2)
        self.assertAlmostEqual(it.torch("none", "1 Gbit/s"), 75 * 0.1)
        self.assertAlmostEqual(it.torch("powersgd", "1 Gbit/s"), 80 * 0.2)

    def test_steps_of_a_warm_up_are_priced_apart(self):
        it = self.contest({None: 0.2})
        it._runs.curve = lambda how, steps, seed: [(200, 0.6)]

        def step(how, steps, link) -> Run:
            is_warm = comm_lab.WARMUP in dict(how.settings)
            return Run([9.0, 9.0, 0.5 if is_warm else 0.1], [], {})
        it._runs.ours = step
        needed = it.our_steps(comm_lab.TOPK_1)
        self.assertGreater(needed, 2 * comm_lab.EPOCH_STEPS)
        self.assertAlmostEqual(
            it.ours(comm_lab.TOPK_1, "1 Gbit/s"),
            156 * 0.5 + (needed - 156) * 0.1)

    def test_powersgd_has_one_bucket(self):
        it = self.contest({None: 0.2})
        self.assertEqual(it.torch_step("powersgd", "1 Gbit/s"),
                         (0.2, "one bucket"))


class FormsTest(unittest.TestCase):
    def test_the_faster_form_is_raced_with_the_smaller_memory(self):
        sides = {"eager": Side(10, peak=5), "torch.compile": Side(20, peak=9)}
        case = engine.StepCase("mlp", 64, 1, 1.0, forms=tuple(sides))
        with mock.patch.object(engine, "torch_step",
                               lambda where, case, form: sides[form]):
            form, memory = engine.best_form(WHERE, case)
        self.assertEqual((form, memory["peak_rss_bytes"]),
                         ("torch.compile", 5))

    def commands(self, measure) -> list[list[str]]:
        """The commands of the sides that a race starts."""
        started = []

        def worker(command, threads, timeout_s=0) -> Side:
            started.append(list(map(str, command)))
            return Side(10)
        case = engine.StepCase("mlp", 64, 1, 1.3)
        with (mock.patch.object(engine, "Worker", worker),
              mock.patch.object(engine, "initial_weights",
                                lambda where, model: "weights"),
              mock.patch.object(engine, "jax_name", lambda where: "JAX"),
              mock.patch.object(Peers, "python", "python"),
              mock.patch.object(Peers, "torch_name", "PyTorch")):
            measure(WHERE, case, Bar("a row", "img/s", 1.0))
        return started

    def test_jax_has_the_cores_of_the_race(self):
        _, command = self.commands(engine.race_jax)
        self.assertEqual(command[:4], ["taskset", "--cpu-list", "0-1",
                                       "python"])
        self.assertNotIn("--threads", command)
        self.assertEqual(command[-2:], ["--weights", "weights"])

    def test_both_sides_are_held_to_avx2(self):
        ours, peer = self.commands(engine.race_avx2)
        self.assertEqual(ours[:2], ["env", "WEFT_CPU=avx2"])
        self.assertIn("ONEDNN_MAX_CPU_ISA=AVX2", peer)
        self.assertIn("--threads", peer)

    def test_trees_are_raced_with_the_threads_that_suit_the_peer(self):
        started = []

        def worker(command, threads) -> Side:
            started.append((str(command[0]), threads))
            return Side({1: 30, 2: 20}[threads] if command[0] == "peer"
                        else 60)
        with (mock.patch.object(functions, "Worker", worker),
              mock.patch.object(Setting, "data_folder",
                                lambda self, name: ROOT)):
            row = functions.race_trees(WHERE, 25, 1, ["peer"], "PyTorch",
                                       "by levels")
        self.assertEqual(started[-1], ("peer", 1))
        self.assertEqual((row["ratio"], row["peer"]), (2.0, 30))
        self.assertIn("the peer by 1 of 2 threads", row["note"])


class ConvexTest(unittest.TestCase):
    def test_fewest_steps_to_the_target_else_the_least_error(self):
        there = {"error": comm_convex.TARGET, "steps": 500}
        sooner = {"error": comm_convex.TARGET / 2, "steps": 400}
        never = {"error": 0.5, "steps": 100}
        self.assertIs(comm_convex.best([there, never, sooner]), sooner)
        self.assertIs(comm_convex.best([never, {"error": 9, "steps": 9}]),
                      never)

    def test_others_are_given_multiples_of_topks_steps(self):
        def run(where, pipeline, rate, steps, memory=True) -> dict:
            if not memory:
                return {"rate": rate, "steps": steps, "error": 0.3, "worst": 1}
            sent = "topk" in pipeline
            return {"rate": rate, "steps": 100 if sent else steps,
                    "error": 0.05 if sent else 0.2, "worst": 0.5}
        with mock.patch.object(comm_convex, "run", run):
            rows = comm_convex.measure(WHERE)
        self.assertEqual([rows[bar.name]["ratio"] for bar in (
            comm_convex.BOUND, comm_convex.STEPS)],
            [0.5, comm_convex.PATIENCE])
        self.assertAlmostEqual(rows[comm_convex.STALL.name]["ratio"], 6)
        self.assertIn("more would be needed",
                      rows[comm_convex.STEPS.name]["note"])


class SimulatedTest(unittest.TestCase):
    def test_all_runs_of_a_machine_suppose_the_same_costs(self):
        with mock.patch.object(concurrent_stm, "answer", return_value={
                "commits": 4, "aborts": 0, "seconds": 2e-6}) as answer, \
                mock.patch.object(concurrent_stm, "ours",
                                  lambda *_, **__: Side(1)):
            machine = concurrent_stm.Simulated(WHERE, '{"load": 1}')
            self.assertEqual(machine.rate("gv1", 10, 2), 2.0)
            machine.rate("gv4", 10, 72)
            machine.rate("gv4", 10, 72)
        commands = [call.args[0] for call in answer.call_args_list]
        self.assertEqual(len(commands), 3)  # the first has no work of its own
        for command in commands:
            self.assertEqual(command[command.index("--costs") + 1],
                             '{"load": 1}')

    def test_what_misses_the_caches_is_work_of_its_own(self):
        seconds = {1_000: 0.04, 1_000_000: 0.12}  # of a block alone

        def alone(where, clock, objects, **_) -> Side:
            side = Side(1)
            side.answers["run"]["seconds"] = seconds[objects]
            return side
        accesses = concurrent_stm.SIMULATED_STEPS * 10e-9
        with mock.patch.object(concurrent_stm, "answer", return_value={
                "commits": 4, "aborts": 0, "seconds": accesses}), \
                mock.patch.object(concurrent_stm, "ours", alone):
            machine = concurrent_stm.Simulated(WHERE, "{}")
            self.assertEqual([machine.own_ns(objects) for objects in seconds],
                             [90, 290])


if __name__ == "__main__":
    unittest.main()
