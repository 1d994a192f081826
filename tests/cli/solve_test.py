#!/usr/bin/env python3
"""weft solve: greedy problems on graphs, checked here by plain Python."""

import gzip
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weft import CliTest, run  # noqa: E402

PROBLEMS = ("mis", "matching", "colouring", "list-contraction", "shuffle")
SCHEDULERS = ("multiqueue", "topk", "heap", "exact", "rounds", "in-order")


def sample_edges() -> set:
    generator = random.Random(5)
    edges = set()
    while len(edges) < 600:
        a, b = generator.sample(range(0, 1000, 5), 2)
        edges.add((min(a, b), max(a, b)))
    return edges


class SolveTest(CliTest):
    def setUp(self) -> None:
        super().setUp()
        self.edges = sample_edges()
        text = "# FromNodeId\tToNodeId\n" + "".join(
            f"{a}\t{b}\n{b}\t{a}\n" for a, b in sorted(self.edges))
        self.graph = self.folder / "graph.txt.gz"
        self.graph.write_bytes(gzip.compress(text.encode()))

    def solution(self, problem: str, *more: object) -> tuple[dict, list]:
        out = self.folder / "out"
        found = self.json_of("solve", problem, self.graph, "--out", out, *more)
        rows = [tuple(line.split()) for line in out.read_text().splitlines()]
        return found, rows

    def test_independent_set(self) -> None:
        found, rows = self.solution("mis")
        chosen = {int(row[0]) for row in rows}
        self.assertEqual(found["size"], len(chosen))
        covered = set()
        for a, b in self.edges:
            self.assertFalse(a in chosen and b in chosen)
            covered |= {b} if a in chosen else {a} if b in chosen else set()
        vertices = {v for edge in self.edges for v in edge}
        self.assertEqual(covered | chosen, vertices)

    def test_matching(self) -> None:
        found, rows = self.solution("matching", "--priority", "low-degree")
        taken = {tuple(map(int, row)) for row in rows}
        self.assertEqual(found["size"], len(taken))
        self.assertLessEqual(taken, self.edges)
        ends = [v for edge in taken for v in edge]
        self.assertEqual(len(ends), len(set(ends)))
        for a, b in self.edges:
            self.assertTrue(a in ends or b in ends)

    def test_colouring(self) -> None:
        found, rows = self.solution("colouring", "--priority", "high-degree")
        colours = {int(vertex): int(colour) for vertex, colour in rows}
        for a, b in self.edges:
            self.assertNotEqual(colours[a], colours[b])
        self.assertEqual(found["size"], len(set(colours.values())))

    def test_lists(self) -> None:
        path = self.write("lists", "1 2\n2 3\n7 7\n")
        out = self.folder / "out"
        order = self.write("order", "2\n3\n1\n7\n")
        found = self.json_of("solve", "list-contraction", path, "--out", out,
                             "--priority", f"file:{order}")
        self.assertEqual(found["size"], 2)
        self.assertEqual(out.read_text(), "1 - -\n2 1 3\n3 1 -\n7 7 7\n")

    def test_a_shuffle_is_an_order(self) -> None:
        _, rows = self.solution("shuffle", "--seed", "3")
        order = self.write("order", "".join(f"{v}\n" for v, in rows))
        by_file = self.solution("mis", "--priority", f"file:{order}")[1]
        again = self.solution("mis", "--priority", f"file:{order}",
                              "--scheduler", "topk", "--relaxation", 50)[1]
        self.assertEqual(by_file, again)
        # The first of an order is always in the set.
        self.assertIn(rows[0], by_file)
        self.assertNotEqual(self.solution("shuffle", "--seed", "4")[1], rows)

    def test_schedulers_agree_and_count_their_waste(self) -> None:
        expected = self.solution("mis", "--scheduler", "in-order")[1]
        for scheduler in SCHEDULERS:
            found, rows = self.solution("mis", "--scheduler", scheduler)
            self.assertEqual(rows, expected)
            self.assertEqual(found["scheduler"], scheduler)
            self.assertIs(found["certified"], True)
            self.assertEqual(found["tries"], found["tasks"] + found["wasted"])
            self.assertEqual((found["edges"], found["left_out"]), (600, 600))
        one = self.solution("colouring", "--threads", 1, "--scheduler",
                            "topk", "--relaxation", 1)[0]
        many = self.solution("colouring", "--threads", 1, "--scheduler",
                             "topk", "--relaxation", 100)[0]
        self.assertEqual(one["wasted"], 0)
        self.assertGreater(many["wasted"], 50)
        self.assertEqual(many["relaxation"], 100)

    def test_says_what_it_found(self) -> None:
        text = self.succeed("solve", "colouring", self.graph, "--threads", 2)
        for part in ("600 edges", "600 lines left out", "colours",
                     "multiqueue, 2 threads, queues 8", "wasted", "holds"):
            self.assertIn(part, text)
        self.assertEqual(run("solve", "mis", self.graph).stderr, "")
        help_text = self.succeed("solve", "--help")
        for word in PROBLEMS + SCHEDULERS + ("--priority", "--relaxation"):
            self.assertIn(word, help_text)

    def test_mistakes(self) -> None:
        damaged = self.write("damaged", "# x\n1 2\n2 three\n")
        self.refuse("solve", "mis", damaged, parts=("damaged:3", "2 three"))
        self.refuse("solve", "mis", self.write("empty", ""),
                    parts=("no edge",))
        packed = self.folder / "short.gz"
        packed.write_bytes(self.graph.read_bytes()[:200])
        self.refuse("solve", "mis", packed, parts=("short.gz", "damaged"))
        self.refuse("solve", "mis", self.folder / "none", parts=("none",))
        self.refuse("solve", "sudoku", self.graph)
        self.refuse("solve", "mis", self.graph, "--scheduler", "best")
        self.refuse("solve", "mis", self.graph, "--threads", "0")
        self.refuse("solve", "mis", self.graph, "--relaxation", 4,
                    parts=("'multiqueue' has no relaxation",))
        self.refuse("solve", "mis", self.graph, "--priority", "best",
                    parts=("low-degree",))
        self.refuse("solve", "list-contraction", self.graph,
                    parts=("is followed by both",))
        self.refuse("solve", "mis", self.graph, "--out",
                    self.folder / "none" / "out")


if __name__ == "__main__":
    sys.exit(unittest.main())
