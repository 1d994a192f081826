#!/usr/bin/env python3
"""Rows are kept with their provenance, replaced one by one, and put into
pages."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib.bench import Setting  # noqa: E402
from lib.machine import instructions, line_of, processor  # noqa: E402
from lib.peers import Peers  # noqa: E402
from lib.results import (  # noqa: E402
    PROVENANCE, load, merge, provenance_from_now, save)
from lib.row import Row  # noqa: E402
from lib.tables import Kept, TableError, filled, shown  # noqa: E402

CPUINFO = """processor\t: 0
vendor_id\t: {vendor}
cpu family\t: {family}
model\t\t: {model}
model name\t: {name}
stepping\t: {stepping}
flags\t\t: fpu {flags}

processor\t: 1
"""


def cpuinfo(vendor: str, family: int, model: int, name: str,
            stepping: int = 1, flags: str = "avx2") -> str:
    return CPUINFO.format(vendor=vendor, family=family, model=model, name=name,
                          stepping=stepping, flags=flags)


def kept(name: str, processor: str | None = "A", ratio: float = 2.0,
         **changes) -> dict:
    made = dict.fromkeys(PROVENANCE) | {"processor": processor, "origin": ""}
    row = Row("engine", name, "ms", 1.0, ours=1.0, ratio=ratio,
              **{key: value for key, value in changes.items()
                 if key not in made})
    made |= {key: value for key, value in changes.items() if key in made}
    return {**row.as_json(), "provenance": made}


class MachineTest(unittest.TestCase):
    def test_processors_have_the_names_that_readers_know(self):
        for found, expected in (
                (cpuinfo("AuthenticAMD", 26, 2, "AMD EPYC"),
                 "AMD EPYC (Zen 5)"),
                (cpuinfo("AuthenticAMD", 25, 17, "AMD EPYC 9R14"),
                 "AMD EPYC 9R14 (Zen 4)"),
                (cpuinfo("AuthenticAMD", 25, 1, "AMD EPYC 7763 Processor"),
                 "AMD EPYC 7763 (Zen 3)"),
                (cpuinfo("GenuineIntel", 6, 143, "Intel(R) Xeon(R) Processor"),
                 "Intel Xeon (Sapphire Rapids)"),
                (cpuinfo("GenuineIntel", 6, 85,
                         "Intel(R) Xeon(R) CPU @ 2.80GHz", 7),
                 "Intel Xeon (Cascade Lake)"),
                (cpuinfo("GenuineIntel", 6, 85, "Intel(R) Xeon(R) CPU", 4),
                 "Intel Xeon (Skylake)"),
                (cpuinfo("GenuineIntel", 6, 0x51, "Intel(R) Xeon(R) CPU"),
                 "Intel Xeon"),
                ("processor : 0\n", None)):
            self.assertEqual(processor(found), expected)

    def test_the_highest_instruction_set_counts(self):
        found = cpuinfo("", 6, 1, "", flags="avx2 avx512vl avx512_vnni")
        self.assertEqual(instructions(found), "AVX-512 with VNNI")
        self.assertIsNone(instructions(cpuinfo("", 6, 1, "", flags="sse2")))

    def test_a_line_says_what_is_known(self):
        made = {"processor": "AMD EPYC (Zen 5)", "cores": 2,
                "instructions": "AVX-512 with bf16", "cap": "avx2"}
        self.assertEqual(line_of(made), "AMD EPYC (Zen 5), 2 cores, AVX-512 "
                         "with bf16, capped at avx2")
        unknown = dict.fromkeys(made)
        self.assertEqual(line_of(unknown),
                         "a processor that was not recorded")


class MergeTest(unittest.TestCase):
    def merged(self, before: list, measured: list,
               names: tuple = ("x", "y")) -> list:
        self.said = []
        return merge(before, measured, {"engine": set(names)},
                     self.said.append)

    def test_a_row_replaces_that_of_its_name_and_processor_only(self):
        before = [kept("x", "A"), kept("x", "B"), kept("y", "A"),
                  kept("x", "A", cap="avx2")]
        rows = self.merged(before, [kept("x", "A", ratio=3.0)])
        self.assertEqual(rows, [kept("x", "A", ratio=3.0), *before[1:]])

    def test_other_instructions_are_another_machine(self):
        tiles = kept("x", "A", instructions="AMX")
        plain = kept("x", "A", instructions="fp16", ratio=3.0)
        self.assertEqual(self.merged([tiles], [plain]), [tiles, plain])

    def test_unknown_instructions_give_way_to_known_ones(self):
        known = kept("x", "A", instructions="AMX")
        self.assertEqual(self.merged([kept("x", "A")], [known]), [known])

    def test_an_unknown_processor_gives_way_to_a_known_one(self):
        rows = self.merged([kept("x", None)], [kept("x", "A")])
        self.assertEqual(rows, [kept("x", "A")])

    def test_an_error_replaces_no_measurement(self):
        before = [kept("x")]
        self.assertEqual(self.merged(before, [kept("x", error="no data")]),
                         before)
        self.assertIn("x: not measured", self.said[0])
        new = kept("y", error="no data")
        self.assertEqual(self.merged(before, [new]), [*before, new])

    def test_rows_that_a_suite_has_no_more_are_dropped_aloud(self):
        self.assertEqual(self.merged([kept("x"), kept("old")], []),
                         [kept("x")])
        self.assertIn("old: dropped", self.said[0])

    def test_other_suites_stay(self):
        other = {**kept("z"), "suite": "comm"}
        self.assertEqual(self.merged([other], []), [other])

    def test_files_hold_what_was_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results" / "engine.json"
            self.assertEqual(load(path), [])
            save(path, [kept("x")])
            self.assertEqual(load(path), [kept("x")])


class ProvenanceTest(unittest.TestCase):
    def test_a_row_says_how_to_repeat_it(self):
        where = Setting(ROOT, ROOT / "build", None, Peers(ROOT / "build"),
                        threads=1, pairs=3, quick=True)
        made = provenance_from_now(where)(Row("comm", "lab, 10 Mbit/s", "s", 1.0))
        self.assertEqual(sorted(made), sorted(PROVENANCE))
        self.assertTrue(made["command"].endswith(
            'bench/run comm --only "lab, 10 Mbit/s" --threads 1 --pairs 3 '
            "--quick"))
        self.assertEqual((made["threads"], made["pairs"], made["quick"]),
                         (1, 3, True))
        json.dumps(made)


class TablesTest(unittest.TestCase):
    suite = Kept([kept("x", "A", 1.44), kept("y", "A", 0.5), kept("x", "B", 1.91),
                  kept("z, quick", "A", quick=True, threads=2,
                       commit="0123456789abcdef", dirty=True, note="by hand")],
                 ["x", "y", "z, quick", "later"])

    def fill(self, page: str) -> str:
        return filled(page, lambda suite: self.suite)

    def test_there_is_a_table_for_each_processor(self):
        page = self.fill("<!-- table engine: x -->\noutdated\n<!-- end -->")
        self.assertNotIn("outdated", page)
        self.assertLess(page.index("**On A**"), page.index("1.44"))
        self.assertLess(page.index("**On B**"), page.index("1.91"))

    def test_a_missed_bar_says_so(self):
        page = self.fill("<!-- table engine: x; y -->\n<!-- end -->")
        self.assertIn("| 0.5 | 1 | **missed** |", page)
        self.assertEqual(page.count("holds"), 2)

    def test_marks_and_notes_are_shown(self):
        page = self.fill("<!-- table engine, notes: z* -->\n<!-- end -->")
        self.assertIn("| holds, quick |", page)
        self.assertIn("commit 0123456789ab and changes that were not", page)
        self.assertIn("- z, quick: by hand", page)

    def test_what_was_not_measured_is_named(self):
        page = self.fill("<!-- table engine: later; x -->\n<!-- end -->")
        self.assertIn("Not measured yet: later.", page)

    def test_a_matrix_has_a_line_for_each_name_before_the_colon(self):
        rows = [kept("a: p") | {"ours": 0.25}, kept("a: q"),
                kept("b: q", error="no data")]
        suite = Kept(rows, [*(row["name"] for row in rows), "b: p"])
        page = filled("<!-- matrix engine: * -->\n<!-- end -->",
                      lambda name: suite)
        self.assertIn("| p | q |\n| --- | --- | --- |\n| a | 0.25 | 1 |\n"
                      "| b |  | no data |\n", page)
        self.assertIn("Not measured yet: b: p.", page)

    def test_filling_twice_changes_nothing(self):
        page = self.fill("<!-- table engine, notes: * -->\n<!-- end -->\n"
                         "<!-- row engine ratio: x -->?<!-- --> times")
        self.assertEqual(self.fill(page), page)

    def test_figures_are_ranges_over_the_processors(self):
        for marker, text in (("row engine ratio: x", "1.4 to 1.9"),
                             ("row engine ratio: y", "0.5"),
                             ("row engine ratio %: y", "50 %"),
                             ("row engine ours: x", "1.0"),
                             ("row engine peer: x", "(not measured yet)"),
                             ("row engine ratio: later",
                              "(not measured yet)")):
            page = self.fill(f"<!-- {marker} -->?<!-- --> times")
            self.assertEqual(page, f"<!-- {marker} -->{text}<!-- --> times")

    def test_a_page_that_asks_for_nothing_there_is_an_error(self):
        for page in ("<!-- table engine: w* -->\n<!-- end -->",
                     "<!-- row engine ratio: w -->1<!-- -->"):
            with self.assertRaises(TableError):
                self.fill(page)

    def test_a_pages_rows_are_known(self):
        page = "<!-- table engine: x; later -->\n<!-- end -->"
        self.assertEqual(shown(page, lambda suite: self.suite),
                         {("engine", "x"), ("engine", "later")})


if __name__ == "__main__":
    unittest.main()
