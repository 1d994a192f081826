#!/usr/bin/env python3
"""What the server was asked is written down, and held against the data of
training it names the column that was prepared in another way."""

import json
import random
import resource
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from running import INFER, rows, ServeTest  # noqa: E402
from weft import run  # noqa: E402

CAKES = """
[model]
name = "mlp"
hidden = [4]
embedding = 4
[task]
name = "regression"
[data]
name = "csv"
label = "price"
ignore = "id"
[optimizer]
name = "adam"
[train]
epochs = 1
"""


class RequestLogTest(ServeTest):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.folder / "requests.jsonl"

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def test_tensors_are_written_row_by_row(self) -> None:
        with self.serving("--no-grpc", "--log-requests", self.log) as server:
            body = {**rows([1, 2], [3, 4]), "id": "seven"}
            self.assertEqual(server.ask("POST", INFER, body)[0], 200)
            # What is refused has not been served.
            self.assertEqual(
                server.ask("POST", INFER, {"inputs": []})[0], 400)
            self.assertEqual(
                server.ask("POST", INFER, {
                    **rows([5, 6]), "outputs": [{"name": "none"}]})[0], 400)
        first, second = self.lines()
        self.assertEqual((first["id"], first["x"]), ("seven", [1, 2]))
        self.assertEqual(second["x"], [3, 4])
        # What people ask is theirs.
        self.assertEqual(self.log.stat().st_mode & 0o777, 0o600)
        self.assertEqual(first["weft.model"], "scale")

    def test_the_log_is_bounded(self) -> None:
        with self.serving("--no-grpc", "--log-requests", self.log,
                          "--log-bytes", "300") as server:
            for _ in range(10):
                status, _ = server.ask("POST", INFER, rows([1, 2]))
                self.assertEqual(status, 200)
        self.assertLessEqual(self.log.stat().st_size, 300)
        self.assertGreater(len(self.lines()), 1)

    def test_a_full_disk_keeps_nobody_from_an_answer(self) -> None:
        with self.serving("--no-grpc", "--log-requests", self.log) as server:
            server.infer([1, 2])
            most = self.log.stat().st_size * 5 // 2
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                             (most, most))
            for _ in range(5):
                self.assertEqual(server.ask("POST", INFER, rows([1, 2]))[0],
                                 200)
        # What is there is whole.
        self.assertEqual([line["x"] for line in self.lines()], 2 * [[1, 2]])

    def test_skew_names_the_column(self) -> None:
        chance = random.Random(1)
        table = [(i, round(chance.uniform(1, 9), 3),
                  chance.choice(["cream", "nut"])) for i in range(60)]
        training = self.folder / "cakes.csv"
        training.write_text("id,kilograms,kind,price\n" + "".join(
            f"{i},{weight},{kind},{2 * weight}\n" for i, weight, kind in table))
        recipe = self.folder / "cakes.toml"
        recipe.write_text(CAKES)
        for words in (["train", recipe, "--out", self.folder / "run", "--data",
                       training],
                      ["export", self.folder / "run", "-o", self.model,
                       "--data", training]):
            done = run(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        with self.serving("--no-grpc", "--log-requests", self.log) as server:
            for i, weight, kind in table[::3]:
                # Here the weight is in pounds.
                row = f"id={i},kilograms={weight * 2.2046:.3f},kind={kind}"
                status, told = server.ask(
                    "POST", "/v2/models/scale/predict", row.encode(),
                    **{"Content-Type": "text/plain"})
                self.assertEqual(status, 200, told)
        done = run("validate", "skew", training, self.log, "--id", "id",
                   "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["pairs"], 20)
        differing = {each["name"]: each["diff"] for each in report["features"]
                     if each["mismatch"] > 0}
        self.assertEqual(differing, {"kilograms": 20})


if __name__ == "__main__":
    sys.exit(unittest.main())
