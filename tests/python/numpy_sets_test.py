"""Which elements are there, where and how often is what NumPy says."""

import itertools
import unittest

import numpy as np

import weft
from comparing import LikeNumPy, as_tensors

RANDOM = np.random.default_rng(0)
WHOLE = RANDOM.integers(-3, 4, (4, 5))
NUMBERS = RANDOM.integers(0, 5, 40).astype(np.float32)
SPECIAL = np.array([np.nan, 1, -0.0, np.inf, 0, 1, np.nan, -np.inf], np.float32)
NONE, ALONE, ZEROS = np.zeros(0, np.float32), np.ones(1, np.int32), np.zeros((2, 3))
FLAGS = WHOLE > 0
ALL = (WHOLE, NUMBERS, SPECIAL, NONE, ALONE, ZEROS, FLAGS)


class AtOnce(LikeNumPy):
    """How many there are is known only when values are."""

    def assertFinds(self, name, *arguments, reference=None, near=0, **options):
        expected = (reference or getattr(np, name))(*arguments, **options)
        arguments = [as_tensors(each) for each in arguments]
        actual = getattr(weft, name)(*arguments, **options)
        with self.subTest(name, **options):
            self.assertAgree(actual, expected, near)

    def test_places(self):
        for x in ALL:
            for name in ("flatnonzero", "nonzero", "argwhere"):
                self.assertFinds(name, x)
            self.assertFinds("extract", x > 0, x)
        for axis in (None, 0, 1):
            self.assertFinds("compress", [True, False, True], WHOLE, axis=axis)
        for trim in ("fb", "f", "b"):
            for x in ([0, 0, 1, 0, 2, 0], [1, 2], [0, 0], []):
                self.assertFinds("trim_zeros", np.array(x, np.int64), trim=trim)
        for n, k, m in itertools.product((0, 1, 4), (-5, -1, 0, 2, 9), (None, 2, 6)):
            self.assertFinds("tril_indices", n, k, m)
            self.assertFinds("triu_indices", n, k, m)
        for place in (np.array([0, 5, 19]), np.array([[7], [11]])):
            self.assertFinds("unravel_index", place, (4, 5))

    def test_values(self):
        for x in (each for each in ALL if each.dtype != bool):
            for index, inverse, counts in itertools.product((False, True), repeat=3):
                options = {
                    "return_index": index,
                    "return_inverse": inverse,
                    "return_counts": counts,
                }

                def reference(x, **options):
                    # NumPy 2 gives the inverse the shape of x.
                    found = np.unique(x, **options)
                    if not options["return_inverse"]:
                        return found
                    found = list(found)
                    place = 1 + options["return_index"]
                    found[place] = found[place].reshape(x.shape)
                    return found

                self.assertFinds("unique", x, reference=reference, **options)
        self.assertEqual(weft.unique_values(WHOLE).tolist(), np.unique(WHOLE).tolist())
        for name, count in (("all", 4), ("counts", 2), ("inverse", 2)):
            self.assertEqual(len(getattr(weft, f"unique_{name}")(WHOLE)), count)

    def test_sets(self):
        some = np.array([5, 1, 3, 3, 9, 1])
        for a, b in itertools.product(
            (some, WHOLE, ALONE, NUMBERS[:0].astype(int)), repeat=2
        ):
            a, b = a.astype(np.int64), b.astype(np.int64)
            for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
                self.assertFinds(name, a, b)

    def test_counts(self):
        for x in (
            np.array([2, 0, 5, 2]),
            np.zeros(0, np.int64),
            np.array([3], np.uint8),
        ):
            for least in (0, 8):
                self.assertFinds("bincount", x, minlength=least)
        self.assertFinds(
            "bincount", np.array([2, 0, 2]), np.array([0.5, 1, 2], np.float32)
        )

    def test_what_is_wrong_is_refused(self):
        for refused, call in {
            "-1 is below 0": lambda: weft.bincount([-1, 2]),
            "no vector of integers": lambda: weft.bincount([0.5]),
            "a single number has no axes": lambda: weft.nonzero(weft.tensor(1)),
            "0 bins": lambda: weft.histogram(NUMBERS, 0),
            "range must be finite": lambda: weft.histogram(SPECIAL),
            "range must ascend": lambda: weft.histogram(NUMBERS, 3, (2, 1)),
            "edges must ascend": lambda: weft.histogram(NUMBERS, [0.0, 2, 1]),
            "are no points": lambda: weft.interp(NUMBERS, [0, 1], [1.0]),
            "f32 is no dtype of integers": lambda: weft.gcd(weft.ones(2), 2),
            "`size` says": lambda: weft.jit(weft.unique)(NUMBERS),
            "`length` says": lambda: weft.jit(weft.bincount)(WHOLE.reshape(-1)),
            "trim_zeros": lambda: weft.trim_zeros(weft.ones(3), "x"),
            "insert: 2 elements have no place 3": lambda: weft.insert([1, 2], 3, 0),
        }.items():
            with self.subTest(refused), self.assertRaisesRegex(weft.Error, refused):
                call()


class WithASize(unittest.TestCase):
    """Staged, so many are found, with a filler behind them."""

    def test_places(self):
        x = weft.tensor([[0, 3, 0], [1, 0, 2]])
        places = weft.jit(lambda x: weft.flatnonzero(x, 5, fill_value=-1))
        self.assertEqual(places(x).tolist(), [1, 3, 5, -1, -1])
        self.assertEqual(weft.flatnonzero(x, 2).tolist(), [1, 3])
        self.assertEqual(weft.flatnonzero(x, 8).tolist(), [1, 3, 5, 0, 0, 0, 0, 0])
        rows = weft.jit(lambda x: weft.argwhere(x, 4))
        self.assertEqual(rows(x).tolist(), [[0, 1], [1, 0], [1, 2], [0, 0]])
        # Each instance of a batch has places of its own.
        each = weft.vmap(lambda x: weft.flatnonzero(x, 2, -1))
        self.assertEqual(each(x).tolist(), [[1, -1], [0, 2]])

    def test_values(self):
        x = weft.tensor([4, 2, 4, 9, 2, 2])

        def found(size, filler=None):
            staged = weft.jit(lambda x: weft.unique(x, True, True, True, size, filler))
            return [each.tolist() for each in staged(x)]

        inverse = [1, 0, 1, 2, 0, 0]
        self.assertEqual(found(4), [[2, 4, 9, 2], [1, 0, 3, 3], inverse, [3, 2, 1, 0]])
        self.assertEqual(found(4, 7)[0], [2, 4, 9, 7])
        self.assertEqual(found(2)[0], [2, 4])
        self.assertEqual(found(2)[3], [3, 2])

    def test_counts(self):
        counts = weft.jit(lambda x: weft.bincount(x, length=3))
        self.assertEqual(counts(weft.tensor([1, 5, -2, 1, 2])).tolist(), [0, 2, 1])


class Between(LikeNumPy):
    def test_bins(self):
        edges = np.array([0.0, 1, 1, 2.5, 4], np.float32)
        for right in (False, True):
            for bins in (edges, edges[::-1].copy(), edges[:1]):
                self.assertLike("digitize", NUMBERS, bins, right=right)
        for bins in (1, 4, 7, edges):
            for density in (False, True):
                self.assertLike("histogram", NUMBERS, bins, density=density)
            self.assertLike("histogram_bin_edges", NUMBERS, bins)
            weights = RANDOM.random(40).astype(np.float32)
            self.assertLike("histogram", NUMBERS, bins, weights=weights)
        self.assertLike("histogram", NUMBERS, 5, (1, 3))
        self.assertLike("histogram", NUMBERS, 5, (-20, -10))
        self.assertLike("histogram", np.full(3, 2, np.float32), 3)
        self.assertLike("histogram", NONE, 3)
        self.assertLike("isin", WHOLE, np.array([1, 7, -2]))
        self.assertLike("isin", WHOLE, np.zeros(0, np.int64))

    def test_lines(self):
        xp, fp = np.array([-1, 0, 0.5, 3], np.float32), np.array(
            [4, 2, 9, 1], np.float32
        )
        x = np.array([-2, -1, -0.3, 0, 0.25, 0.5, 2.9, 3, 9, np.nan], np.float32)
        self.assertLike("interp", x, xp, fp)
        self.assertLike("interp", x, xp, fp, left=-5.0, right=7.0)
        self.assertLike("interp", x[:-1], xp[:1], fp[:1])

        # The slope of a line is that of its points.
        slopes = weft.grad(lambda x: weft.interp(x, xp, fp).sum())(
            weft.tensor(x[2:5:2])
        )
        np.testing.assert_allclose(slopes, [-2, 14], rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
