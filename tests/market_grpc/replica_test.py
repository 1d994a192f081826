"""weft market replica --peers: ranks that are processes and speak gRPC."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from weft import BIN, ROOT, CliTest, run  # noqa: E402


class GrpcReplicaTest(CliTest):
    def weft(self, *words: object) -> str:
        done = run("market", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.key")

    def ledger(self, rank: int) -> str:
        return str(self.folder / f"books-{rank}.db")

    def setUp(self) -> None:
        super().setUp()
        treasurer = self.weft("key", self.path("treasurer"))
        chosen = [word for i in range(3) for word in (
            "--validator", self.weft("key", self.path(f"v{i}")))]
        for i in range(3):
            self.weft("begin", self.ledger(i), "--treasurer", treasurer,
                      "--platform", treasurer, *chosen)
        self.weft("send", self.ledger(1), "deposit", f"to={treasurer}",
                  "amount=7", "--key", self.path("treasurer"), "--pool")

    def start(self, started: int, *more: str) -> list[tuple[int, str]]:
        """The exit codes of so many of three ranks, and what they say. Each
        takes any port; nobody listens at the first, which a rank that is not
        started would have."""
        peers = ",".join(["127.0.0.1:0"] * started +
                         ["127.0.0.1:1"] * (3 - started))
        replicas = [subprocess.Popen(
            [BIN, "market", "replica", str(self.folder / "books-{rank}.db"),
             "--key", self.path("v{rank}"), "--rank", str(rank), "--peers",
             peers, "--meet", str(self.folder / "meet"), "--rounds", "3",
             *more], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=ROOT)
            for rank in range(started)]
        said = [replica.communicate(timeout=120)[0] for replica in replicas]
        return [(replica.returncode, text)
                for replica, text in zip(replicas, said)]

    def test_ranks_agree(self) -> None:
        for code, text in self.start(3):
            self.assertEqual(code, 0, text)
            self.assertIn("block 1 with 3 signatures", text)
        roots = {json.loads(self.weft("verify", self.ledger(i), "--json"))[
            "root"] for i in range(3)}
        self.assertEqual(len(roots), 1)

    def test_who_is_silent_is_told(self) -> None:
        for code, text in self.start(2, "--timeout", "2"):
            self.assertEqual(code, 1, text)
            self.assertIn("1 of 3 ranks are gone", text)
            self.assertIn("rank 2:", text)

    def test_what_is_wrong_is_told(self) -> None:
        words = ("replica", self.ledger(0), "--key", self.path("v0"))
        meeting = self.folder / "meeting"
        meeting.mkdir()
        (meeting / "rank-0").write_text("127.0.0.1:7001")
        for more, why in (
                (("--peers", "127.0.0.1:7001"), "--rank"),
                (("--peers", "127.0.0.1:7001", "--rank", "3"),
                 "none of 1 peers"),
                *(((("--peers", peer, "--rank", "0"), "is not HOST:PORT")
                   for peer in ("nowhere", "127.0.0.1:",
                                "127.0.0.1:70x1", "127.0.0.1:-1",
                                "127.0.0.1:65536", "127.0.0.1:7001 "))),
                (("--peers", "127.0.0.1:99999,127.0.0.1:7001", "--rank", "0"),
                 "a port from 0 to 65535"),
                (("--peers", "127.0.0.1:0", "--rank", "0"), "--meet FOLDER"),
                (("--peers", "127.0.0.1:0", "--rank", "0", "--meet",
                  str(meeting)), "a rank 0 was here before"),
                (("--peers", "127.0.0.1:0,127.0.0.1:0", "--rank", "0",
                  "--meet", str(self.folder / "other"), "--timeout", "0.1"),
                 "rank 1 has not told its port")):
            with self.subTest(more=more):
                done = run("market", *words, *more)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
