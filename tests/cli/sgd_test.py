#!/usr/bin/env python3
"""weft sgd: linear models by lock-free SGD, and its simulation."""

import math
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest  # noqa: E402


def sample_text() -> str:
    generator = random.Random(5)
    lines = []
    for _ in range(400):
        columns = sorted(generator.sample(range(1, 101), 6))
        sign = sum(1 if c % 2 else -1 for c in columns)
        lines.append(f"{1 if sign > 0 else 0} "
                     + " ".join(f"{c}:{generator.random() + .5:.3f}"
                                for c in columns))
    return "\n".join(lines) + "\n"


class SgdTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.write("rows.txt", sample_text())

    def test_variants_learn(self) -> None:
        for variant in ("sequential", "locked", "striped", "round-robin",
                        "hogwild", "atomic"):
            threads = 1 if variant == "sequential" else 3
            found = self.json_of("sgd", self.data, "--variant", variant,
                                 "--threads", threads, "--rate", 0.3)
            self.assertAlmostEqual(found["first_loss"], math.log(2))
            self.assertEqual(len(found["epochs"]), 10)
            self.assertLess(found["epochs"][-1]["loss"], 0.5)
            self.assertEqual(found["epochs"][-1]["iterations"], 400)
            self.assertEqual(found["traced"], 400)
            self.assertLessEqual(found["tau_avg"], 2 * threads)

    def test_the_model_is_what_the_loss_is_of(self) -> None:
        out = self.folder / "model"
        found = self.json_of("sgd", self.data, "--threads", 1, "--f64",
                             "--out", out, "--l2", 0.01)
        x = [float(line) for line in out.read_text().splitlines()]
        self.assertEqual(len(x), found["features"])
        loss = 0
        lines = self.data.read_text().splitlines()
        for line in lines:
            target, *entries = line.split()
            y = sum(float(value) * x[int(column) - 1] for column, value in
                    (entry.split(":") for entry in entries))
            loss += math.log1p(math.exp(y if target == "0" else -y))
        loss = loss / len(lines) + 0.005 * sum(value ** 2 for value in x)
        self.assertAlmostEqual(found["epochs"][-1]["loss"], loss, places=7)

    def test_epochs_without_meetings(self) -> None:
        found = self.json_of("sgd", self.data, "--variant", "atomic", "--full",
                             "--threads", 2, "--rate", 0.5, "--count-lost")
        self.assertEqual(len(found["epochs"]), 1)
        self.assertEqual(found["epochs"][0]["iterations"], 4000)
        self.assertLess(found["epochs"][0]["loss"], 0.6)
        self.assertEqual(found["lost"], 0)

    def test_a_table_for_people(self) -> None:
        said = self.succeed("sgd", self.data, "--threads", 2, "--epochs", 2)
        self.assertIn("400 examples, 100 features, 6.0 entries in each", said)
        self.assertIn("tau_avg", said)

    def test_refuses(self) -> None:
        self.refuse("sgd", parts=("DATA",))
        self.refuse("sgd", self.data, "--variant", "hogwash", parts=("hogwash",))
        self.refuse("sgd", self.data, "--rate", 0, parts=("rate of 0",))
        self.refuse("sgd", self.data, "--rate", "nan", parts=("rate",))
        self.refuse("sgd", self.data, "--full", "--decay", 0.5,
                    parts=("halved",))
        self.refuse("sgd", self.data, "--variant", "sequential", "--threads", 2,
                    parts=("one thread",))
        self.refuse("sgd", self.write("three", "1 1:1\n2 1:1\n3 1:1\n"),
                    parts=("more than two classes", "squared"))
        self.refuse("sgd", self.write("empty", "1\n2 1:1\n"),
                    parts=("row 1 has no entry",))
        self.refuse("sgd", self.data, "--loss", "squared", "--rate", 1000,
                    code=1, parts=("no number",))

    def test_the_lower_bound(self) -> None:
        found = self.json_of("sgd", "simulate", "freeze(delay=290)", "--rate",
                             0.1, "--iterations", 291)
        self.assertAlmostEqual(found["slowdown"], 13.315, places=3)
        self.assertAlmostEqual(found["distance"], 0.1, places=12)
        self.assertEqual(found["tau_max"], 290)
        again = self.json_of("sgd", "simulate", "freeze(delay=290)", "--rate",
                             0.1, "--iterations", 291)
        self.assertEqual(found, again)

    def test_bounds_of_a_success_region(self) -> None:
        found = self.json_of("sgd", "simulate", "random", "--noise", 0.1,
                             "--within", 0.01, "--iterations", 200,
                             "--threads", 4, "--rate", 0.05)
        self.assertLess(found["reached"], 200)
        self.assertGreater(found["lock_free_bound"]["iterations"],
                           found["sequential_bound"]["iterations"])
        self.assertTrue(found["lemma_holds"])

    def test_adversaries_train_on_data(self) -> None:
        for adversary in ("greedy", "large(delay=20)", "target(entry=3)"):
            found = self.json_of("sgd", "simulate", adversary, self.data,
                                 "--threads", 3, "--iterations", 1200)
            self.assertLess(found["loss"], found["first_loss"])
            self.assertTrue(found["lemma_holds"])
        self.refuse("sgd", "simulate", "freese", parts=("freeze",))
        self.refuse("sgd", "simulate", "freeze(delay=-1)", parts=("delay",))


if __name__ == "__main__":
    unittest.main()
