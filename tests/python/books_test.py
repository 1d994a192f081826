"""weft.ledger, weft.budget, weft.gate and weft.market over one ledger."""

import csv
import io
import subprocess
import tempfile
import unittest
from pathlib import Path

import weft
from weft import budget, gate, ledger, market

BIN = Path(__file__).resolve().parents[2] / "build" / "bin" / "weft"
POINTS = 400


class Books(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.books = self.folder / "books.db"

    def test_a_budget_is_granted_once(self):
        budget.add(self.books, ["mon", "tue"], epsilon=2.0, delta=1e-6)
        claim = budget.grant(self.books, "survey", ["*"], "gaussian(noise=5)")
        self.assertTrue(claim.is_granted)
        # Asked for again, it is the same claim.
        self.assertEqual(
            budget.grant(self.books, "survey", ["*"], "gaussian(noise=5)"), claim
        )
        spent = {
            each["block"]: each["consumed_epsilon"]
            for each in budget.show(self.books)["blocks"]
        }
        self.assertEqual(set(spent), {"mon", "tue"})
        self.assertTrue(0 < spent["mon"] < 2)
        refused = budget.grant(self.books, "more", ["mon"], "gaussian(noise=1)")
        self.assertEqual(refused.standing, "refused")
        self.assertFalse(refused.is_granted)
        self.assertIn("mon", refused.because)
        budget.release(self.books, "survey")
        again = budget.grant(self.books, "other", ["mon"], "gaussian(noise=5)")
        budget.begin(self.books, again.name)
        with self.assertRaisesRegex(weft.Error, "begun"):
            budget.release(self.books, again.name)
        kinds = [each["kind"] for each in ledger.records(self.books, book="budget")]
        self.assertEqual(kinds.count("block"), 2)
        check = ledger.verify(self.books)
        self.assertTrue(check["holds"])
        self.assertEqual(check["books"]["budget"], len(kinds))
        # The end that was noted is still there, and another one is not.
        self.assertTrue(ledger.verify(self.books, [check["head"]])["holds"])
        other = check["head"][:-1] + ("0" if check["head"][-1] != "0" else "1")
        self.assertFalse(ledger.verify(self.books, [other])["holds"])

    def test_records_are_behind_a_number(self):
        budget.add(self.books, ["a", "b"])
        every = ledger.records(self.books)
        self.assertEqual(
            ledger.records(self.books, after=every[0]["sequence"]), every[1:]
        )
        with self.assertRaises(weft.Error):
            ledger.records(self.folder / "none.db")

    def table(self, name, column, says):
        path = self.folder / name
        path.write_text(
            f"id,{column}\n" + "".join(f"{i},{says(i)}\n" for i in range(POINTS))
        )
        return path

    def test_a_gate_lets_better_models_pass(self):
        sized = gate.size("n > 0.7 +/- 0.1", reliability=0.9, steps=2)
        self.assertEqual(sized["clauses"][0]["bound"], "exact")
        self.assertLess(sized["labelled"], sized["baseline"])
        with self.assertRaisesRegex(weft.Error, "no division"):
            gate.size("n / o > 1 +/- 0.1")
        with self.assertRaisesRegex(weft.Error, "'difference' = 2"):
            gate.size("n > 0.7 +/- 0.1", difference=2.0)
        with self.assertRaisesRegex(weft.Error, "'gate.difference' to be known"):
            gate.size("n > 0.7 +/- 0.1", difference_known=True)
        self.table("points.csv", "label", lambda i: i % 3)
        good = self.table("good.csv", "prediction", lambda i: i % 3)
        bad = self.table("bad.csv", "prediction", lambda i: i % 3 if i % 2 else 9)
        subprocess.run(
            [BIN, "gate", "key", self.folder / "key"], check=True, capture_output=True
        )
        file = self.folder / "gate.toml"
        file.write_text(
            "[gate]\ncondition = 'n > 0.7 +/- 0.1'\nreliability = 0.9\nsteps = 2\n"
            "points = 'points.csv'\nkey = 'key'\nledger = 'books.db'\n"
        )
        guard = gate.Gate(file)
        guard.init()
        self.assertEqual(guard.submit(good), "passed")
        self.assertIsNone(guard.labels())
        self.assertEqual(guard.submit(bad), "failed")
        self.assertEqual(guard.submit(good), "passed")  # as it was told
        status = guard.status()
        self.assertEqual((status["uses_left"], status["alarm"]), (0, "steps"))
        self.assertEqual(
            [each["verdict"] for each in status["submissions"]], ["passed", "failed"]
        )
        self.assertEqual(guard.details()[0]["clauses"][0]["estimate"], 1)
        rows = list(csv.DictReader(io.StringIO(guard.release())))
        self.assertEqual(len(rows), sized["points"])
        for row in rows:
            self.assertEqual(int(row["label"]), int(row["id"]) % 3)

    def test_a_market_moves_money(self):
        names = ("treasurer", "platform", "vendor", "anna", "ben")
        accounts = {
            name: market.make_key(self.folder / f"{name}.key") for name in names
        }
        self.assertEqual(market.account(self.folder / "ben.key"), accounts["ben"])
        begun = [
            word
            for name in ("treasurer", "platform", "vendor")
            for word in (f"--{name}", accounts[name])
        ]
        subprocess.run(
            [BIN, "market", "begin", self.books, *begun],
            check=True,
            capture_output=True,
        )

        def send(who, what, **fields):
            return market.send(self.books, self.folder / f"{who}.key", what, **fields)

        send("treasurer", "deposit", to=accounts["anna"], amount=1000)
        send("anna", "transfer", to=accounts["ben"], amount=300)
        self.assertEqual(market.balances(self.books)[accounts["anna"]], 700)
        self.assertEqual(market.balances(self.books)[accounts["ben"]], 300)
        self.assertEqual(
            send("anna", "found", name="people", quorum=1, debate=0),
            ["association 1 is there"],
        )
        with self.assertRaisesRegex(weft.Error, "refused"):
            send("ben", "transfer", to=accounts["anna"], amount=301)
        with self.assertRaisesRegex(weft.Error, "did you mean amount"):
            send("ben", "transfer", to=accounts["anna"], amont=1)
        # What a reveal tells follows from the key of the job's payer.
        with self.assertRaisesRegex(weft.Error, "job 7"):
            market.reveal(self.books, self.folder / "anna.key", 7)
        shown = market.show(self.books)
        self.assertEqual(shown["money"], 1000)
        self.assertEqual(market.verify(self.books)["root"], shown["root"])


if __name__ == "__main__":
    unittest.main()
