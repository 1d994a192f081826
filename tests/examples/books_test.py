#!/usr/bin/env python3
"""examples/books/run.sh from end to end, on people who were drawn: Adult itself is
not shipped."""

import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from weft import BIN, ROOT, CliTest  # noqa: E402

SCRIPT = ROOT / "examples" / "books" / "run.sh"
SEED = 1996
TRAIN, TEST = 5000, 14500  # the gate needs 14,020 to test on
EDUCATION = ["Preschool", "5th-6th", "10th", "HS-grad", "Some-college",
             "Bachelors", "Masters", "Doctorate"]
MARITAL = ["Never-married", "Married-civ-spouse", "Divorced", "Widowed"]
OCCUPATION = ["Sales", "Craft-repair", "Exec-managerial", "Tech-support"]


def person(chance: random.Random, end: str) -> str:
    """A row with Adult's columns. Income follows from education, marriage, age and
    hours, but for a little luck; the rest has nothing to do with it."""
    age = chance.randint(17, 80)
    years = chance.randrange(len(EDUCATION))
    marital = chance.choice(MARITAL)
    hours = chance.choice([20, 35, 40, 40, 40, 45, 60])
    score = (years - 3.5 + (3 if marital == MARITAL[1] else -1)
             + (age - 48) / 15 + (hours - 40) / 10 + chance.gauss(0, 0.5))
    unknown = chance.random() < 0.02
    return ", ".join(map(str, [
        age, "?" if unknown else chance.choice(["Private", "State-gov"]),
        chance.randint(20000, 400000), EDUCATION[years], 2 * years + 1, marital,
        "?" if unknown else chance.choice(OCCUPATION),
        "Husband" if marital == MARITAL[1] else "Not-in-family",
        chance.choice(["White", "Black"]), chance.choice(["Male", "Female"]),
        chance.choice([0, 0, 0, 5000]), 0, hours, "United-States",
        (">50K" if score > 0.5 else "<=50K") + end])) + "\n"


class BooksTest(CliTest):
    def test_the_whole_story(self) -> None:
        chance = random.Random(SEED)
        data = self.folder / "adult"
        data.mkdir()
        (data / "adult.data").write_text(
            "".join(person(chance, "") for _ in range(TRAIN)))
        (data / "adult.test").write_text(
            "|1x3 Cross validator\n"
            + "".join(person(chance, ".") for _ in range(TEST)))
        books = self.folder / "books"
        # Nothing but --data says where the data are.
        environment = {key: value for key, value in os.environ.items()
                       if key != "WEFT_DATA"}
        done = subprocess.run(
            [SCRIPT, "--data", data, books], capture_output=True, text=True,
            timeout=120, cwd=self.folder,
            env={**environment, "WEFT_BIN": str(BIN), "HOME": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for said in ("unexpected_values", "no budget for this run", "passed\n",
                     "job 1 paid: success", "holds up to"):
            self.assertIn(said, done.stdout + done.stderr)
        self.succeed("ledger", "verify", books / "books.db")
        self.assertGreater((books / "bought.weft").stat().st_size, 1000)
        for page in ("budget.html", "market.html"):
            self.assertIn("</html>", (books / page).read_text())
        # It writes into no books that are there.
        again = subprocess.run([SCRIPT, "--data", data, books],
                               capture_output=True, text=True,
                               env={**environment, "WEFT_BIN": str(BIN)})
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn("has books already", again.stderr)


if __name__ == "__main__":
    unittest.main()
