"""weft market: a market from its first key to its dividends, each role a
process of its own."""

import json
import os
import signal
import subprocess
import sys
import unittest

from weft import BIN, MPI_ENVIRONMENT, ROOT, CliTest, run

RECIPE = """
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.1
[train]
epochs = 1
batch = 32
"""


class MarketTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.ledger = self.folder / "books.db"
        self.store = self.folder / "store"
        self.accounts = {name: self.key(name) for name in (
            "treasurer", "platform", "vendor", "owner", "buyer")}

    def weft(self, *words: object) -> str:
        done = run("market", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *words: object) -> str:
        done = run("market", *words)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.key")

    def key(self, name: str) -> str:
        return self.weft("key", self.path(name)).strip()

    def begin(self, *more: object) -> None:
        self.weft("begin", self.ledger, "--treasurer",
                  self.accounts["treasurer"], "--platform",
                  self.accounts["platform"], "--vendor",
                  self.accounts["vendor"], *more)

    def send(self, who: str, what: str, *fields: str) -> str:
        return self.weft("send", self.ledger, what, *fields, "--key",
                         self.path(who))

    def state(self) -> dict:
        return json.loads(self.weft("show", self.ledger, "--json"))

    def decide(self, *payloads: list[str]) -> None:
        """Proposes, votes, and executes once the deadlines are over; without a
        debate nobody could vote."""
        numbers = []
        for payload in payloads:
            self.send("owner", "propose", "association=1", *payload)
            numbers.append(len(self.state()["proposals"]))
            self.send("owner", "vote", f"proposal={numbers[-1]}",
                      "approve=true")
        while "yea" not in self.state()["proposals"][-1]:
            self.weft("tick", self.ledger)
        for number, payload in zip(numbers, payloads):
            self.send("owner", "execute", f"proposal={number}", *payload)

    def seal(self, rows: str) -> tuple[str, int]:
        said = json.loads(self.weft(
            "seal", "digits", "--rows", rows, "--store", self.store, "--keys",
            self.path("shards"), "--json"))
        return said["content"], said["examples"]

    def start_keys(self) -> str:
        socket = str(self.folder / "keys.socket")
        process = subprocess.Popen(
            [BIN, "market", "keys", self.ledger, "--keys",
             self.path("shards"), "--socket", socket],
            stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGTERM)
        process.stdout.readline()
        while not os.path.exists(socket):
            pass
        return socket

    def set_up_job(self, workers: tuple[str, ...], *more: str) -> None:
        """Two shards of 200 digits, workers of rising prices, and a job of two
        epochs on all of them."""
        self.begin()
        self.send("owner", "found", "name=digits", "quorum=1", "debate=2")
        self.decide(["kind=database", "name=scans", "price=1000"])
        shards = [self.seal("0-199"), self.seal("200-399")]
        self.decide(*(
            ["kind=shard", f"recipient={self.accounts['owner']}", "amount=50",
             "database=1", f"content={content}", f"examples={examples}"]
            for content, examples in shards))
        self.send("treasurer", "deposit", f"to={self.accounts['buyer']}",
                  "amount=10000")
        for price, worker in enumerate(workers, start=1):
            account, machine = self.key(worker), self.key(f"{worker}-machine")
            self.send("treasurer", "deposit", f"to={account}", "amount=10000")
            certificate = self.weft("key", self.path("vendor"), "--certify",
                                    machine).strip()
            self.send(worker, "offer", f"machine={machine}",
                      f"certificate={certificate}", f"price={price}",
                      "stake=100")
        recipe = self.folder / "job.toml"
        recipe.write_text(RECIPE)
        measured = json.loads(self.weft("measure", recipe, "--store",
                                        self.store, "--json"))
        contents = ",".join(content for content, _ in shards)
        owners = ",".join([self.accounts["owner"]] * 2)
        self.send("buyer", "submit_job", "task=training",
                  f"contents={contents}", f"owners={owners}", "epochs=2",
                  f"measurement={measured['measurement']}",
                  f"units_per_example={measured['units_per_example']}",
                  "gas=5000", "seconds=600", "patience=600", "redundancy=1",
                  *more)

    def work(self, worker: str, socket: str) -> str:
        return self.weft(
            "work", self.ledger, "--key", self.path(worker), "--machine",
            self.path(f"{worker}-machine"), "--store", self.store,
            "--results", self.folder / f"{worker}-results", "--keys", socket,
            "--once")

    def test_from_keys_to_dividends(self) -> None:
        self.set_up_job(("worker",))
        said = self.work("worker", self.start_keys())
        self.assertIn("job 1 paid: success", said)
        # Nobody but the payer reads what came out.
        sealed = self.folder / "worker-results" / "job-1.sealed"
        model = self.folder / "model.weft"
        self.assertIn("no result for this key", self.refused(
            "open", sealed, "--key", self.path("worker"), "-o", model))
        self.weft("open", sealed, "--key", self.path("buyer"), "-o", model)
        self.assertEqual(run("inspect", model).returncode, 0)
        self.assertIn("withdraws 800",
                      self.send("owner", "withdraw", "association=1"))
        state = self.state()
        self.assertEqual(state["jobs"][0]["reads"], [400, 400])
        balances = {entry["account"]: entry["balance"]
                    for entry in state["accounts"]}
        self.assertEqual(balances[self.accounts["owner"]], 800)
        self.assertEqual(sum(balances.values()) + 100, 20000)
        verified = json.loads(self.weft("verify", self.ledger, "--json"))
        self.assertEqual(verified["root"], state["root"])
        page = self.folder / "page.html"
        self.weft("page", self.ledger, "-o", page)
        text = page.read_text()
        self.assertIn("scans", text)
        self.assertNotIn("<script", text)
        self.assertNotIn("http", text)

    def test_another_worker_computes_stages_again(self) -> None:
        self.set_up_job(("first", "second"), "checks=3", "stage=4",
                        "check_gas=5000")
        socket = self.start_keys()
        self.assertIn("no report waits", self.refused(
            "reveal", self.ledger, 1, "--key", self.path("buyer")))
        # 320 rows in batches of 32 are 10 steps an epoch, and so 3 stages.
        self.assertIn("3 of its 6 stages are checked",
                      self.work("first", socket))
        states = self.folder / "first-results" / "job-1.states"
        self.assertTrue(states.exists())
        said = self.weft("reveal", self.ledger, 1, "--key",
                         self.path("buyer"))
        self.assertIn("of job 1 are drawn", said)
        # The checker has nothing to look at yet.
        self.assertEqual(self.work("second", socket), "")
        self.work("first", socket)
        self.assertIn("job 1 paid: success", self.work("second", socket))
        self.assertEqual(self.work("first", socket), "")
        self.assertFalse(states.exists())
        job = self.state()["jobs"][0]
        self.assertEqual(len(job["checks"]["drawn"]), 3)
        self.assertTrue(job["checks"]["checkers"][0]["holds"])
        self.weft("verify", self.ledger)

    def test_what_is_wrong_is_told(self) -> None:
        self.assertIn("no ledger here", self.refused(
            "show", self.folder / "nothing.db"))
        self.begin()
        self.assertIn("has a market already", self.refused(
            "begin", self.ledger, "--treasurer", self.accounts["treasurer"],
            "--platform", self.accounts["platform"]))
        send = ["send", self.ledger, "--key", self.path("buyer")]
        for words, why in (
                (["deposit", "to=x", "amount=1"], "is no account"),
                (["deposit", f"to={self.accounts['buyer']}", "amount=1"],
                 "only the treasurer"),
                (["transfer", "amount=1"], "has no 'to'"),
                (["transfer", "amuont=1"], "did you mean amount=…"),
                (["transfer", f"to={self.accounts['owner']}", "amount=-1"],
                 "no whole number"),
                (["transfre"], "transfer"),
                (["withdraw", "association=1"], "there is no association 1")):
            with self.subTest(words=words):
                self.assertIn(why, self.refused(*send, *words))
        os.chmod(self.path("buyer"), 0o644)
        self.assertIn("others may read this key", self.refused(
            *send, "cash_out", "amount=0"))
        self.assertIn("transfer_shares", self.weft("transactions"))
        self.assertIn("quorum", self.weft("transactions", "found"))

    def test_only_data_that_are_as_a_schema_says_are_sealed(self) -> None:
        schema = self.folder / "digits.toml"
        self.succeed("validate", "infer", "digits", "-o", schema)
        seal = ("seal", "digits", "--rows", "0-9", "--store", self.store,
                "--keys", self.folder / "shards", "--schema", schema)
        self.assertIn("examples=10", self.weft(*seal))
        sealed = sorted(self.store.iterdir())
        schema.write_text(schema.read_text().replace(
            "[feature.label]", "[feature.label]\nmax = 8"))
        said = self.refused(*seal)
        self.assertIn("label (above_max)", said)
        self.assertEqual(sorted(self.store.iterdir()), sealed)

    def test_replicas_under_mpirun(self) -> None:
        accounts = [self.key(f"v{i}") for i in range(3)]
        chosen = [word for account in accounts
                  for word in ("--validator", account)]
        # The same genesis, in a ledger for each.
        for i in range(3):
            self.ledger = self.folder / f"books-{i}.db"
            self.begin(*chosen)
        self.ledger = self.folder / "books-1.db"
        self.assertIn("0 validators have signed it", self.refused(
            "send", self.ledger, "deposit",
            f"to={self.accounts['buyer']}", "amount=7", "--key",
            self.path("treasurer")))
        self.weft("send", self.ledger, "deposit",
                  f"to={self.accounts['buyer']}", "amount=7", "--key",
                  self.path("treasurer"), "--pool")
        done = subprocess.run(
            ["mpirun", "--oversubscribe", "-n", "3", BIN, "market", "replica",
             self.folder / "books-{rank}.db", "--key",
             self.folder / "v{rank}.key", "--rounds", "3"],
            capture_output=True, text=True, timeout=120, cwd=ROOT,
            env=MPI_ENVIRONMENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("block 1 with 3 signatures", done.stdout)
        roots = set()
        for i in range(3):
            self.ledger = self.folder / f"books-{i}.db"
            roots.add(json.loads(
                self.weft("verify", self.ledger, "--json"))["root"])
        self.assertEqual(len(roots), 1)
        self.assertEqual(self.state()["money"], 7)
        # One of three is no majority.
        self.assertIn("one rank alone", self.refused(
            "replica", self.ledger, "--key", self.path("v0")))

    def test_replicas_as_threads(self) -> None:
        chosen = [word for i in range(3)
                  for word in ("--validator", self.key(f"v{i}"))]
        for i in (2, 1, 0):
            self.ledger = self.folder / f"books-{i}.db"
            self.begin(*chosen)
        self.weft("send", self.ledger, "deposit",
                  f"to={self.accounts['buyer']}", "amount=7", "--key",
                  self.path("treasurer"), "--pool")
        said = self.weft("replica", self.folder / "books-{rank}.db", "--key",
                         self.folder / "v{rank}.key", "--workers", "2",
                         "--rounds", "2")
        self.assertIn("block 1 with 2 signatures", said)
        # The third was away, and is taught.
        said = self.weft("replica", self.folder / "books-{rank}.db", "--key",
                         self.folder / "v{rank}.key", "--workers", "3",
                         "--rounds", "1")
        self.assertIn("rank 2: caught up with block 1", said)

    def test_what_was_told_stays_whoever_is_killed(self) -> None:
        """Ten write at once, and half of them are killed on the way."""
        self.begin()
        writers = []
        for i in range(10):
            self.key(f"w{i}")
            writers.append(subprocess.Popen(
                [BIN, "market", "send", self.ledger, "cash_out", "amount=0",
                 "--key", self.path(f"w{i}")], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, cwd=ROOT))
        for writer in writers[::2]:
            writer.kill()
        told = {i for i, writer in enumerate(writers)
                if writer.communicate()[0].startswith("block")
                and writer.returncode == 0}
        self.assertTrue(told >= {1, 3, 5, 7, 9}, told)
        self.weft("verify", self.ledger)
        nonces = {entry["account"]: entry["nonce"]
                  for entry in self.state()["accounts"]}
        for i in told:
            account = self.weft("key", self.path(f"w{i}"), "--show").strip()
            self.assertEqual(nonces[account], 1)

    def test_values_of_data(self) -> None:
        said = json.loads(self.weft("value", "digits", "--rows", "300",
                                    "--json", "-o", self.folder / "v.csv"))
        self.assertEqual(said["examples"], 300)
        self.assertAlmostEqual(sum(said["shards"]), said["sum"], 9)
        lines = (self.folder / "v.csv").read_text().splitlines()
        self.assertEqual(len(lines), 301)
        sampled = json.loads(self.weft(
            "value", "digits", "--rows", "60", "--method", "sampled",
            "--test-rows", "50", "--permutations", "5", "--json"))
        exact = json.loads(self.weft("value", "digits", "--rows", "60",
                                     "--test-rows", "50", "--json"))
        self.assertAlmostEqual(sampled["sum"], exact["sum"], 9)


if __name__ == "__main__":
    sys.exit(unittest.main())
