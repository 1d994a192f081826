#!/usr/bin/env python3
"""A folder outside of the tree, built into Weft: what it adds has names in recipes,
and what would be left out unseen is refused."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

RECIPE = """
[model]
name = "mlp"
hidden = [8]
[task]
name = "quantile"
[data]
name = "csv"
[optimizer]
name = "adam"
[train]
epochs = 2
[target]
loss = 100
"""

SPIRALS = """
target.loss = 1000.0  # the first epoch is enough
data = {name = "spirals", source = "spirals"}
model.name = "mlp"
optimizer.name = "adam"
"""

DIGITS = """
data = {name = "digits", augment = ["invert(0.25)"]}
model.name = "mlp"
optimizer.name = "adam"
train.epochs = 1
"""


# All that there is of networks and optimizers.
LAYERS = """
[model]
name = "sequential"
layers = ["conv2d(8)", "residual([relu, squeeze-excite(2)])", "flatten", "linear"]
[[model.views]]
parameters = "linear1.weight"
view = "weight-norm"
[data]
name = "digits"
[optimizer]
name = "adamax"
lr = "triangular(0.002, to=0.02, half=100)"
wrap = ["centralize"]
[train]
epochs = 5
"""


class ExtensionTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="weft-extension-")
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.extension = self.folder / "mine"
        shutil.copytree(ROOT / "examples/extension", self.extension)

    def configure(self) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["cmake", "-S", ROOT, "-B", self.folder / "build", "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Release",
             f"-DWEFT_EXTENSIONS={self.extension}"],
            capture_output=True, text=True, env=os.environ)

    def test_what_it_adds_is_reached(self) -> None:
        self.assertEqual(self.configure().returncode, 0)
        subprocess.run(["ninja", "-C", self.folder / "build", "weft-cli"],
                       check=True, stdout=subprocess.DEVNULL)
        recipe = self.folder / "recipe.toml"
        recipe.write_text(RECIPE)
        table = self.folder / "table.csv"
        table.write_text("".join(f"{i},{i % 7}.5\n" for i in range(100)))
        weft = self.folder / "build/bin/weft"

        def run(*words: object) -> str:
            return subprocess.run([weft, *words, "--data", table], check=True,
                                  capture_output=True, text=True).stdout

        run("train", recipe, "--out", self.folder / "run")
        # Its section ended the run after the first epoch.
        metrics = self.folder / "run/metrics.jsonl"
        self.assertEqual(metrics.read_text().count("\n"), 1)
        self.assertIn("below 0.", run("eval", self.folder / "run"))
        self.assertIn("at most", run("predict", self.folder / "run", "1=50"))
        losses = subprocess.run([weft, "losses", self.folder / "run"], check=True,
                                capture_output=True, text=True).stdout
        self.assertRegex(losses, r"\n1 \d\S* \d\S*\n$")
        for name, text in (("spirals", SPIRALS), ("digits", DIGITS),
                           ("layers", LAYERS)):
            (self.folder / f"{name}.toml").write_text(text)
            subprocess.run([weft, "train", self.folder / f"{name}.toml", "--out",
                            self.folder / name], check=True,
                           stdout=subprocess.DEVNULL)
        two = [weft, "train", self.folder / "digits.toml", "--workers", "2",
               "--out", self.folder / "votes", "--set"]
        subprocess.run([*two, "sync.policy=majority(0.1, lead=0.5)"], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertIn('policy = "majority(scale=0.1, lead=0.5)"',
                      (self.folder / "votes/recipe.toml").read_text())
        done = subprocess.run(
            [weft, "train", self.folder / "digits.toml", "--out",
             self.folder / "clipped", "--simulate", "4@50us,1Gbit/s", "--set",
             "simulate.compute=uneven(4)", "--set",
             "sync.rule=clipped_mean(0.5)"],
            check=True, stdout=subprocess.PIPE, text=True)
        self.assertIn("simulated: 4 workers", done.stdout)
        for wrong, said in (("majority(lead=2)", "must be in [0, 1]"),
                            ("majorty", "did you mean 'majority'?")):
            done = subprocess.run([*two, f"sync.policy={wrong}"], text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        done = subprocess.run(
            [weft, "train", self.folder / "digits.toml", "--out",
             self.folder / "late", "--transport", "late(2, most=10us)"],
            check=True, capture_output=True, text=True)
        self.assertIn("2 workers", done.stderr)
        rows = (self.folder / "spirals/metrics.jsonl").read_text()
        self.assertNotIn('"epoch":2', rows.replace(" ", ""))
        result = subprocess.run([weft, "eval", self.folder / "layers", "--json"],
                                check=True, capture_output=True, text=True)
        self.assertGreater(json.loads(result.stdout)["test_accuracy"], 0.9)
        said = subprocess.run([weft, "layers", "squeeze-excite"], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("ratio = 4", said)

    def test_what_no_registry_reads_is_refused(self) -> None:
        tasks = self.extension / "weft/train/tasks"
        shutil.copy(tasks / "quantile.cpp", tasks / "regression.cpp")
        self.assertIn("two files", self.configure().stderr)
        tasks.rename(tasks.parent / "taks")
        verbs = self.extension / "cli/verbs"
        verbs.rename(verbs.parent / "verb")
        done = self.configure()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("weft/train/taks/quantile.cpp", done.stderr)
        self.assertIn("cli/verb/losses.cpp", done.stderr)


if __name__ == "__main__":
    unittest.main()
