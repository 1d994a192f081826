#!/usr/bin/env python3
"""Gates guard this project's own recipes; and nothing that is killed spends a
use twice."""

import random
import signal
import subprocess
import unittest
from pathlib import Path

from weft import BIN, ROOT, CliTest, run

GATES = ROOT / "recipes" / "gates"
KILLS = 150


class RecipeGatesTest(CliTest):
    def gate_of(self, name: str) -> tuple[Path, Path]:
        """A copy, beside which ledger and key may lie, and its recipe."""
        text = (GATES / f"{name}.toml").read_text()
        recipe = ROOT / "recipes" / f"{name}.toml"
        text = text.replace(f"../{name}.toml", str(recipe))
        gate = self.write(f"{name}.toml", text + "key = 'key'\n")
        self.succeed("gate", "key", self.folder / "key")
        self.succeed("gate", "init", gate)
        return gate, recipe

    def test_digits_are_read_well(self) -> None:
        gate, recipe = self.gate_of("digits")
        self.succeed("train", recipe, "--out", self.folder / "short", "--set",
                     "train.epochs=1")
        said = run("gate", "submit", gate, self.folder / "short")
        self.assertEqual((said.returncode, said.stdout), (1, "failed\n"),
                         said.stderr)
        self.succeed("train", recipe, "--out", self.folder / "whole")
        said = run("gate", "submit", gate, self.folder / "whole")
        self.assertEqual((said.returncode, said.stdout), (0, "passed\n"),
                         said.stderr)

    def test_every_gate_is_of_a_recipe(self) -> None:
        names = sorted(path.stem for path in GATES.glob("*.toml"))
        self.assertEqual(names, ["digits"])


class KillsTest(CliTest):
    def test_nothing_is_spent_twice(self) -> None:
        points = 400
        self.write("points.csv", "id,label\n" + "".join(
            f"{point},{point % 2}\n" for point in range(points)))
        gate = self.write("gate.toml", "[gate]\nkey = 'key'\n"
                          "condition = 'n > 0.6 +/- 0.2'\nreliability = 0.9\n"
                          "adaptivity = 'none'\nresults = 'results'\n"
                          "steps = 1000\npoints = 'points.csv'\n")
        self.succeed("gate", "key", self.folder / "key")
        self.succeed("gate", "init", gate)
        chance = random.Random(1)
        models = []
        killed = 0
        while killed < KILLS:
            model = self.write(f"{len(models)}.csv", "id,prediction\n" + "".join(
                f"{point},{chance.randrange(2)}\n" for point in range(points)))
            models.append(model)
            process = subprocess.Popen(
                [str(BIN), "gate", "submit", str(gate), str(model)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(timeout=chance.random() * 0.06)
            except subprocess.TimeoutExpired:
                process.kill()
            killed += process.wait() == -signal.SIGKILL
        # Whoever repeats them spends what was not spent, and no more.
        for model in models:
            self.succeed("gate", "submit", gate, model)
        status = self.json_of("gate", "status", gate)
        self.assertEqual(len(status["submissions"]), len(models))
        self.assertEqual({each["verdict"] for each in status["submissions"]},
                         {"recorded"})
        results = (self.folder / "results").read_text().splitlines()
        self.assertGreaterEqual(len(results), len(models))
        self.assertEqual(len(set(results)), len(models))
        self.succeed("ledger", "verify", self.folder / "gate.ledger")


if __name__ == "__main__":
    unittest.main()
