#!/usr/bin/env python3
"""weft gate: sizes, verdicts as exit codes, and what is never printed."""

import json
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from weft import BIN, ROOT, CliTest, run

POINTS = 1200
NUMBER = re.compile(r"0\.\d+|\d %|accuracy|estimate")


class GateTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.gate = self.folder / "gate.toml"
        self.write("points.csv", "id,label\n" + "".join(
            f"{point},{self.label(point)}\n" for point in range(POINTS)))
        self.write("bare.csv", "id\n" + "".join(
            f"{point}\n" for point in range(POINTS)))
        self.succeed("gate", "key", self.folder / "key")

    @staticmethod
    def label(point: int) -> str:
        # The point is in no digest and no sealed text, whose ends may be anything.
        return f"kind.{point % 5}"

    def write_gate(self, more: str = "", points: str = "points.csv",
                   condition: str = "n > 0.7 +/- 0.1") -> None:
        self.write("gate.toml", f"[gate]\ncondition = '{condition}'\n"
                   "reliability = 0.9\nsteps = 3\nkey = 'key'\n"
                   f"points = '{points}'\n{more}\n")

    def model(self, accuracy: float) -> Path:
        lines = [f"{point},{self.label(point)}"
                 if point * 7919 % POINTS < accuracy * POINTS
                 else f"{point},none" for point in range(POINTS)]
        return self.write(f"model-{accuracy}.csv",
                          "id,prediction\n" + "\n".join(lines) + "\n")

    def submit(self, accuracy: float) -> subprocess.CompletedProcess:
        return run("gate", "submit", self.gate, self.model(accuracy))

    # --- Sizes ---

    def test_sizes_are_the_papers(self) -> None:
        def size(*more: object) -> dict:
            return self.json_of("gate", "size", "--reliability", "0.9999",
                                *more)
        plain = size("--condition", "n - o > 0.02 +/- 0.01", "--adaptivity",
                     "none")
        self.assertEqual(plain["labelled"], 267385)
        small = size("--condition",
                     "d < 0.08 +/- 0.01 /\\ n - o > 0.02 +/- 0.01",
                     "--adaptivity", "none", "--steps", "1")
        gain = small["clauses"][1]
        self.assertEqual(gain["bounds"]["small-difference"], 21889)
        self.assertEqual(gain["bound"], "exact-difference")
        self.assertEqual(small["labelled"], gain["bounds"]["exact-difference"])
        self.assertLess(small["labels_a_commit"], 2189)

    def test_a_size_is_explained(self) -> None:
        said = run("gate", "size", "--condition", "n - o > 0.02 +/- 0.01",
                   "--reliability", "0.9999")
        self.assertEqual(said.returncode, 0)
        for part in ("641,684", "hoeffding"):
            self.assertIn(part, said.stdout)
        self.assertIn("d < 0.1", said.stderr)

    def test_terms_that_no_file_may_have_are_refused(self) -> None:
        size = ("gate", "size", "--condition", "n > 0.7 +/- 0.1")
        self.refuse(*size, "--reliability", "1", parts=("'reliability' = 1",))
        self.refuse(*size, "--difference-known",
                    parts=("no 'gate.difference' to be known",))

    def test_a_condition_is_refused_at_its_place(self) -> None:
        self.refuse("gate", "size", "--condition", "n / o > 1 +/- 0.1",
                    parts=("no division", "  n / o > 1 +/- 0.1\n    ^"))
        self.write_gate(condition="n > 0.9")
        self.refuse("gate", "size", self.gate,
                    parts=("no tolerance", "gate.toml:2"))
        self.refuse("gate", "size", self.gate, "--condition",
                    "n > 0.9 +/- 0.1", parts=("excludes",))

    # --- Verdicts ---

    def test_the_exit_code_is_the_verdict(self) -> None:
        self.write_gate()
        self.refuse("gate", "submit", self.gate, self.model(0.9),
                    parts=("no ledger",))
        self.succeed("gate", "init", self.gate)
        self.assertEqual(self.submit(0.95).returncode, 0)
        self.assertEqual(self.submit(0.5).returncode, 1)
        self.assertEqual(self.submit(0.95).returncode, 0)
        status = self.json_of("gate", "status", self.gate)
        self.assertEqual(status["uses_left"], 1)
        self.assertEqual([each["verdict"] for each in status["submissions"]],
                         ["passed", "failed"])
        last = self.submit(0.6)
        self.assertEqual(last.returncode, 1)
        self.assertIn("used up", last.stderr)
        self.assertEqual(self.submit(0.97).returncode, 2)
        self.succeed("gate", "release", self.gate, "-o",
                     self.folder / "old.csv")
        old = (self.folder / "old.csv").read_text().split()
        self.assertEqual(old[0], "id,label")
        for line in old[1:]:
            point, said = line.split(",")
            self.assertEqual(said, self.label(int(point)))
        self.succeed("gate", "init", self.gate)
        self.assertEqual(self.submit(0.97).returncode, 0)

    def test_developers_read_no_number(self) -> None:
        self.write_gate()
        self.succeed("gate", "init", self.gate)
        for accuracy in (0.95, 0.5):
            said = self.submit(accuracy)
            self.assertIn(said.stdout, ("passed\n", "failed\n"))
            self.assertIsNone(NUMBER.search(said.stdout + said.stderr))
        for more in ((), ("--json",)):
            said = self.succeed("gate", "status", self.gate, *more)
            self.assertIsNone(NUMBER.search(said.replace("0.7 +/- 0.1", "")
                                            .replace("model-0.", "")))
        shown = self.succeed("ledger", "show", self.folder / "gate.ledger",
                             "--json").replace("model-0.", "")
        self.assertNotIn("estimate", shown)
        self.assertNotIn(self.label(1), shown)
        # The owner's own question needs the key.
        details = self.succeed("gate", "status", self.gate, "--details")
        first = json.loads(details.splitlines()[0])
        self.assertAlmostEqual(first["clauses"][0]["estimate"], 0.95, delta=0.1)
        (self.folder / "key").unlink()
        self.refuse("gate", "status", self.gate, "--details",
                    parts=("key cannot be read",))
        self.succeed("gate", "status", self.gate)

    def test_developers_read_nothing_at_all(self) -> None:
        self.write_gate("adaptivity = 'none'\nresults = 'results.jsonl'")
        self.succeed("gate", "init", self.gate)
        said = [self.submit(accuracy) for accuracy in (0.95, 0.2)]
        self.assertEqual({each.returncode for each in said}, {0})
        self.assertEqual({each.stdout for each in said}, {"recorded\n"})
        self.assertEqual({each.stderr for each in said}, {""})
        for shown in (self.succeed("gate", "status", self.gate),
                      self.succeed("ledger", "show",
                                   self.folder / "gate.ledger", "--json")):
            self.assertNotIn("passed", shown)
            self.assertNotIn("failed", shown)
        results = (self.folder / "results.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["passed"] for line in results],
                         [True, False])

    def test_people_label_in_a_folder(self) -> None:
        self.write_gate("labels = 'folder(\"asked\")'", "bare.csv",
                        "n - o > 0.05 +/- 0.1")
        self.succeed("gate", "init", self.gate, "--old", self.model(0.5))
        said = self.submit(0.9)
        self.assertEqual((said.returncode, said.stdout),
                         (3, "waits for labels\n"))
        (request,) = (self.folder / "asked").iterdir()
        ids = request.read_text().split()[1:]
        self.assertEqual(run("gate", "labels", self.gate).returncode, 3)
        (self.folder / "asked/gate-1-1.labels.csv").write_text(
            "id,label\n" + "".join(f"{point},{self.label(int(point))}\n"
                                   for point in ids))
        self.assertEqual(self.succeed("gate", "labels", self.gate), "passed\n")
        self.assertEqual(self.submit(0.9).returncode, 0)

    # --- Crashes and races ---

    def test_a_killed_submission_is_gone_on_with(self) -> None:
        self.write("label.py", "\n".join((
            "import os, signal, sys, pathlib",
            "once = pathlib.Path('killed')",
            "if not once.exists():",
            "    once.touch()",
            "    os.kill(os.getppid(), signal.SIGKILL)",
            "print('id,label')",
            "for line in sys.stdin:",
            "    print(f'{line.strip()},kind.{int(line) % 5}')")))
        self.write_gate(f"labels = 'command([\"{sys.executable}\", "
                        "\"label.py\"])'", "bare.csv", "n - o > 0.05 +/- 0.1")
        self.succeed("gate", "init", self.gate, "--old", self.model(0.5))
        killed = self.submit(0.9)
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        # Nobody else may use what it waits for.
        self.refuse("gate", "submit", self.gate, self.model(0.6), "--patience",
                    "0", parts=("waits for its labels",))
        self.assertEqual(self.submit(0.9).returncode, 0)
        status = self.json_of("gate", "status", self.gate)
        self.assertEqual(status["uses_left"], 2)
        self.succeed("ledger", "verify", self.folder / "gate.ledger")

    def test_two_at_once_are_judged_in_turn(self) -> None:
        self.write_gate()
        self.succeed("gate", "init", self.gate)
        models = [self.model(0.5 + step / 50) for step in range(5)]
        processes = [subprocess.Popen(
            [str(BIN), "gate", "submit", str(self.gate), str(model)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for model in models]
        codes = []
        for process in processes:
            process.communicate(timeout=120)
            codes.append(process.returncode)
        self.assertEqual(sorted(codes), [1, 1, 1, 2, 2])
        status = self.json_of("gate", "status", self.gate)
        self.assertEqual((status["uses_left"], status["alarm"]), (0, "steps"))

    # --- Models ---

    def test_a_trained_model_says_what_it_says_elsewhere(self) -> None:
        self.succeed(*self.train_command("run"))
        model = self.folder / "model.weft"
        self.succeed("export", self.folder / "run", "-o", model)
        self.write("digits.toml", "[gate]\ncondition = 'n > 0.4 +/- 0.2'\n"
                   "reliability = 0.9\nkey = 'key'\n"
                   f"recipe = '{ROOT}/recipes/digits.toml'\n")
        gate = self.folder / "digits.toml"
        table = self.folder / "says.csv"
        self.succeed("gate", "predict", gate, model, "-o", table)
        says = dict(line.split(",") for line in table.read_text().split()[1:])
        self.assertEqual(len(says), 360)
        self.succeed("gate", "init", gate)
        self.assertEqual(run("gate", "submit", gate, table).returncode,
                         run("gate", "submit", gate, model).returncode)
        # Both are one request, as they say the same.
        status = self.json_of("gate", "status", gate)
        self.assertEqual(status["uses_left"], 31)
        measured = self.json_of("eval", model)["test_accuracy"]
        details = json.loads(self.succeed("gate", "status", gate, "--details"))
        self.assertAlmostEqual(details["clauses"][0]["estimate"], measured,
                               delta=0.12)
        # A class that these data have not.
        self.write("eleven.csv", table.read_text().replace("\n7,", "\n7,1"))
        self.refuse("gate", "submit", gate, self.folder / "eleven.csv",
                    parts=("no class of these data", "point '7'"))

    def test_a_model_of_other_data_is_refused(self) -> None:
        self.succeed(*self.train_command("run"))
        rows = "".join(f"{i % 7},{i % 3},{'yes' if i % 2 else 'no'}\n"
                       for i in range(200))
        self.write("table.csv", "a,b,label\n" + rows)
        recipe = self.write("other.toml", "[model]\nname = 'mlp'\n"
                            "[data]\nname = 'csv'\nlabel = 'label'\n"
                            f"folder = '{self.folder}/table.csv'\n"
                            "[optimizer]\nname = 'adam'\n")
        self.write("other-gate.toml", "[gate]\ncondition = 'n > 0.4 +/- 0.3'\n"
                   f"recipe = '{recipe}'\nkey = 'key'\n")
        self.refuse("gate", "predict", self.folder / "other-gate.toml",
                    self.folder / "run", "-o", self.folder / "says.csv",
                    parts=("other data than the gate's",))

    def test_rows_of_a_table_are_points(self) -> None:
        rows = [(i, i % 7, "yes" if i % 7 > 3 else "no") for i in range(500)]
        self.write("table.csv", "a,b,label\n" + "".join(
            f"{a},{b},{said}\n" for a, b, said in rows))
        recipe = self.write("rows.toml", "[model]\nname = 'mlp'\n"
                            "[data]\nname = 'csv'\nlabel = 'label'\n"
                            f"folder = '{self.folder}/table.csv'\n"
                            "[optimizer]\nname = 'adam'\nlr = 0.01\n"
                            "[train]\nepochs = 8\n")
        self.succeed("train", recipe, "--out", self.folder / "run")
        self.write("points.csv", "id,a,b,label\n" + "".join(
            f"row {i},{a},{b},{said}\n"
            for i, (a, b, said) in enumerate(rows)))
        self.write_gate(condition="n > 0.4 +/- 0.1")
        self.succeed("gate", "init", self.gate)
        said = run("gate", "submit", self.gate, self.folder / "run")
        self.assertEqual((said.returncode, said.stdout), (0, "passed\n"),
                         said.stderr)

    # --- Simulations ---

    def test_what_a_gate_would_do(self) -> None:
        arguments = ("gate", "simulate", "--condition", "n > 0.4 +/- 0.1",
                     "--reliability", "0.95", "--steps", "32", "--histories",
                     "2000")
        honest = self.json_of(*arguments, "--new", "0.4", "--old", "0.4",
                              "--different", "0.1")
        self.assertLessEqual(honest["wrong"], 0.05)
        sized = self.json_of(*arguments, "--attack")
        self.assertLessEqual(sized["wrong"], 0.05)
        naive = self.json_of(*arguments, "--attack", "--points", "101")
        self.assertGreater(naive["wrong"], 0.6)


if __name__ == "__main__":
    unittest.main()
