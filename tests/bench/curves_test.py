#!/usr/bin/env python3
"""Training curves are found by all that they depend on, and move between the
build folder and the file that is kept."""

import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from lib.bench import Setting  # noqa: E402
from lib.curve_store import (  # noqa: E402
    Curve, CurveKey, CurveStore, export, import_, read, sources_hash, write)
from lib.curve_table import filled  # noqa: E402
from lib.lab_training import (  # noqa: E402
    LONG_RESNET20, LONG_STEPS, Run, Trainings)
from lib.lab_ways import DENSE, THREE_LC  # noqa: E402
from lib.peers import Peers  # noqa: E402

KEY = CurveKey("weft", "digits", "ab", "digits", "cd", 4, 1, 100,
               {"train.batch": "8",
                "optimizer.lr": "{from=0.1, to=0.001}"}, "ef")
CURVE = Curve("f32, seed 1, 100 steps", KEY, {"commit": None},
              [(50, 0.5), (100, 0.75)])
OTHERS = [replace(KEY, **change) for change in (
    {"recipe_hash": "x"}, {"data_hash": "x"}, {"workers": 2}, {"seed": 2},
    {"steps": 200}, {"settings": {"train.batch": "16"}}, {"side": "PyTorch"})]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.store = CurveStore(self.folder / "curves")


class StoreTest(Folder):
    def test_a_curve_is_found_by_its_key(self):
        self.assertIsNone(self.store.find(KEY))
        self.store.add(CURVE)
        self.assertEqual(self.store.find(KEY), CURVE)
        for other in OTHERS:
            self.assertIsNone(self.store.find(other))

    def test_one_of_other_sources_is_second_best(self):
        self.store.add(CURVE)
        key = replace(KEY, sources="new")
        self.assertEqual(self.store.find(key), CURVE)
        new = replace(CURVE, key=key)
        self.store.add(new)
        self.assertEqual(self.store.find(key), new)
        self.assertEqual(self.store.find(KEY), CURVE)

    def test_curves_move_to_a_file_and_back(self):
        for key in (KEY, *OTHERS):
            self.store.add(replace(CURVE, key=key))
        path = self.folder / "curves.json"
        self.assertEqual(export(self.store, path), 1 + len(OTHERS))
        self.assertEqual(export(self.store, path), 0)
        other = CurveStore(self.folder / "clone")
        self.assertEqual(import_(other, path), 1 + len(OTHERS))
        self.assertEqual(import_(other, path), 0)
        self.assertEqual(other.curves(), self.store.curves())

    def test_export_keeps_what_the_folder_has_not(self):
        path = self.folder / "curves.json"
        write(path, [CURVE])
        self.store.add(replace(CURVE, key=OTHERS[0]))
        export(self.store, path)
        self.assertEqual([curve.key for curve in read(path)].count(KEY), 1)
        self.assertEqual(len(read(path)), 2)

    def test_sources_are_hashed_with_their_names(self):
        (self.folder / "a.cpp").write_text("1")
        first = sources_hash(self.folder, ["."])
        (self.folder / "a.cpp").rename(self.folder / "b.cpp")
        second = sources_hash(self.folder, ["."])
        (self.folder / "b.cpp").write_text("2")
        (self.folder / "b.md").write_text("not a source")
        self.assertEqual(
            len({first, second, sources_hash(self.folder, ["."])}), 3)

    def test_a_table_has_the_seeds_side_by_side(self):
        curves = [CURVE, replace(CURVE, name="f32, seed 2, 100 steps",
                                 points=[(90, 0.5)])]
        page = filled("<!-- curves digits -->\n<!-- end -->\n", curves)
        self.assertIn("| 0.1, 8, 100 | 0.7500, 0.5000 (step 90) |", page)


class KeptTest(Folder):
    """Trainings takes a kept curve, and trains what is not kept."""

    def runs(self, fresh_curves: bool = False) -> Trainings:
        (self.folder / "data" / "cifar10").mkdir(parents=True, exist_ok=True)
        where = Setting(ROOT, self.folder, self.folder / "data",
                        Peers(self.folder), fresh_curves=fresh_curves)
        runs = Trainings(where, LONG_RESNET20)
        self.trained = []

        def ours(how, steps, **recipe) -> Run:
            self.trained.append((how.name, steps, recipe))
            return Run([], [(steps, 0.5)], {})
        runs.ours = ours
        return runs

    def store_of_runs(self) -> CurveStore:
        return CurveStore(self.folder / "bench/comm/curves")

    def test_a_curve_is_trained_once(self):
        self.assertEqual(self.runs().curve(DENSE, 10, 2), [(10, 0.5)])
        self.assertEqual(self.trained, [("f32", 10, {"train.seed": 2})])
        runs = self.runs()
        self.assertEqual(runs.curve(DENSE, 10, 2), [(10, 0.5)])
        self.assertEqual((self.trained, runs.remark()), ([], ""))
        runs.curve(THREE_LC["1"], 10, 2)
        self.assertEqual(len(self.trained), 1)

    def test_a_curve_of_other_sources_is_said_or_trained_anew(self):
        self.runs().curve(DENSE, 10)
        (curve,) = self.store_of_runs().curves()
        (path,) = (self.folder / "bench/comm/curves").iterdir()
        path.unlink()
        self.store_of_runs().add(replace(
            curve, key=replace(curve.key, sources=None)))
        runs = self.runs()
        runs.curve(DENSE, 10)
        self.assertEqual(self.trained, [])
        self.assertIn("other sources than today's: 1", runs.remark())
        self.runs(fresh_curves=True).curve(DENSE, 10)
        self.assertEqual(len(self.trained), 1)

    def test_the_kept_file_spares_a_clean_clone_the_long_runs(self):
        """The runs are of the recipes that are shipped now; the data's hash is
        that of the CIFAR-10 file that the page names."""
        path = ROOT / "docs/results/comm/curves.json"
        import_(self.store_of_runs(), path)
        cifar10 = self.folder / "data" / "cifar10"
        cifar10.mkdir(parents=True)
        for name, size in (("batches.meta.txt", 60),
                           ("data_batch_1.bin", 30_730_000),
                           ("test_batch.bin", 6_146_000)):
            with open(cifar10 / name, "wb") as file:
                file.truncate(size)  # sparse: names and sizes are hashed
        runs = self.runs()
        for how in (DENSE, *THREE_LC.values()):
            for seed in (1, 2, 3):
                self.assertEqual(runs.curve(how, LONG_STEPS, seed)[-1][0],
                                 LONG_STEPS)
        self.assertEqual(self.trained, [])


class CommandTest(Folder):
    def test_import_lists_and_exports(self):
        def curves(*words: object) -> str:
            return subprocess.run(
                [sys.executable, ROOT / "bench/curves", *map(str, words),
                 "--build", self.folder], check=True, capture_output=True,
                text=True).stdout
        out = self.folder / "out.json"
        write(self.folder / "in.json", [CURVE])
        self.assertIn("1 new", curves("import", "--file",
                                      self.folder / "in.json"))
        self.assertIn("by other sources", curves("list"))
        self.assertIn("1 new", curves("export", "--file", out))
        self.assertEqual(read(out), [CURVE])


if __name__ == "__main__":
    unittest.main()
