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
# All recipes whose data come with Weft.
GUARDED = ["digits", "digits-layers", "digits-ternary"]
KILLS = 150


class RecipeGatesTest(CliTest):
    def gate_of(self, name: str) -> tuple[Path, Path]:
        """A copy, beside which ledger and key may lie, and its recipe."""
        text = (GATES / f"{name}.toml").read_text()
        recipe = ROOT / "recipes" / f"{name}.toml"
        text = text.replace(f"../{name}.toml", str(recipe))
        key = self.folder / f"{name}.key"
        gate = self.write(f"{name}.toml", text + f"key = '{key}'\n")
        self.succeed("gate", "key", key)
        self.succeed("gate", "init", gate)
        return gate, recipe

    def expect_verdict(self, gate: Path, recipe: Path, *options: str,
                       code: int, verdict: str) -> None:
        place = self.folder / f"{recipe.stem}-{verdict}"
        self.succeed("train", recipe, "--out", place, *options)
        said = run("gate", "submit", gate, place)
        self.assertEqual((said.returncode, said.stdout), (code, f"{verdict}\n"),
                         said.stderr)

    def test_recipes_are_good_enough(self) -> None:
        for recipe in GUARDED:
            with self.subTest(recipe):
                gate, recipe = self.gate_of(recipe)
                self.expect_verdict(gate, recipe, "--set", "train.epochs=1",
                                    code=1, verdict="failed")
                self.expect_verdict(gate, recipe, code=0, verdict="passed")

    def test_all_with_data_of_ours_are_guarded(self) -> None:
        self.assertEqual(sorted(path.stem for path in GATES.glob("*.toml")),
                         GUARDED)
        self.assertEqual(sorted(
            path.stem for path in (ROOT / "recipes").glob("*.toml")
            if 'name = "digits"' in path.read_text()), GUARDED)


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
