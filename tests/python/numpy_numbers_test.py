"""Functions of elements, reductions and order are NumPy's, with their derivatives."""

import itertools
import math
import unittest

import numpy as np

import weft
from comparing import LikeNumPy

RANDOM = np.random.default_rng(0)


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


MATRIX, SECOND, CUBE = draw(3, 4), draw(3, 4), draw(2, 3, 4)
WHOLE = RANDOM.integers(-5, 6, (3, 4))
HOLES = MATRIX.copy()
HOLES[0, 1] = HOLES[2] = math.nan
EDGES = np.array(
    [0, -0.0, 1, -1, math.inf, -math.inf, math.nan, 0.5, -2.5, 1e-8, 80, 88.9, -88.9],
    np.float32,
)
AXES = (None, 0, 1, -1, (0, 1))


class OfElements(LikeNumPy):
    def test_of_one(self):
        for name in """
            absolute cosh deg2rad degrees exp2 fix isneginf isposinf nan_to_num rad2deg
            radians reciprocal sinc sinh trunc
        """.split():
            self.assertLike(name, EDGES, near=3e-6)
            self.assertLike(name, CUBE)
        powers = np.array([0, 1, 2, 8, 10, 1e3, 1e-30, 1e30, math.inf, -1], np.float32)
        for name in ("log2", "log10"):
            self.assertLike(name, powers)
        for name in ("trunc", "nan_to_num"):
            self.assertLike(name, WHOLE)
        self.assertLike("nan_to_num", EDGES, nan=1.0, posinf=2.0, neginf=3.0)

    def test_of_two(self):
        a, b = (x.ravel() for x in np.meshgrid(EDGES, EDGES))
        for name in "fmax fmin fmod heaviside hypot isclose logaddexp".split():
            self.assertLike(name, a, b)
        self.assertLike("isclose", a, b, equal_nan=True)
        self.assertLike("fmod", WHOLE, np.full((3, 4), 3))
        # Neither overflows on the way.
        huge = np.array([3e38], np.float32)
        self.assertLike("hypot", huge * 0.5, huge * 0.5)
        self.assertLike("logaddexp", huge, huge * 0.5)
        for other in (MATRIX + 1e-9, SECOND):
            self.assertLike("allclose", MATRIX, other)
            self.assertLike("array_equal", MATRIX, other)
        self.assertFalse(bool(weft.array_equal(MATRIX, CUBE)))

    def test_of_integers(self):
        for dtype in (np.int64, np.int32, np.int8):
            a, b = (RANDOM.integers(-60, 60, (4, 6)).astype(dtype) for _ in range(2))
            a[0] = b[1] = a[2, 0] = b[2, 0] = 0
            for name in ("gcd", "lcm"):
                (
                    self.assertLike(name, a, b)
                    if name == "gcd"
                    else self.assertLike(name, a // 8, b // 8)
                )
                self.assertLike(name, a // 8, b[0, :1] // 8)
        many = [0, 1, -1, 255, 2**62 - 1, 2**63 - 1, -(2**63) + 1, 0x123456789ABCDEF]
        bits = [bin(abs(each)).count("1") for each in many]
        self.assertEqual(weft.bitwise_count(weft.tensor(many)).tolist(), bits)

    def test_cube_roots(self):
        x = np.array(
            [27, -8, 1e-30, 1e30, 0, -0.0, math.inf, math.nan, 0.3], np.float32
        )
        self.assertLike("cbrt", x, near=2e-7)
        self.assertLike("cbrt", x.astype(np.float64), near=4e-16)
        self.assertEqual(weft.cbrt([1.0, 8.0, 27.0, 64.0]).tolist(), [1, 2, 3, 4])

    def test_the_gamma_function(self):
        def lgamma(x):
            if x == -math.inf or x <= 0 and x == math.floor(x):
                return math.inf
            return math.lgamma(x)

        x = np.array(
            [0, -0.0, -1, -7, math.inf, -math.inf, math.nan, 0.1, 0.5, 1, 1.5, 2, 3.7]
            + [10, 100, 1e5, 1e30, 1e-30, -1e-30, -0.5, -1.3, -7.9, -100.25]
        )
        self.assertLike("lgamma", x, reference=np.vectorize(lgamma), near=2e-15)
        x = x.astype(np.float32)
        self.assertLike("lgamma", x, reference=np.vectorize(lgamma), near=1e-6)

        # The distance from x to x + 1 is 1 / x, and two values are Gauss's.
        x = np.array([1.0, 0.5, 0.1, 7.3, 1e4, -0.3, -6.6])
        euler = 0.57721566490153286061
        known = {1.0: -euler, 0.5: -euler - 2 * math.log(2.0)}
        values = weft.digamma(weft.tensor(x)).numpy()
        np.testing.assert_allclose(values[:2], list(known.values()), rtol=2e-15)
        np.testing.assert_allclose(
            weft.digamma(weft.tensor(x + 1)) - values, 1 / x, rtol=1e-10
        )
        slopes = weft.grad(lambda x: weft.lgamma(x).sum())(weft.tensor(x))
        np.testing.assert_allclose(slopes, values, rtol=1e-13, atol=1e-13)
        poles = weft.digamma(weft.tensor([0.0, -1, -math.inf, math.inf])).tolist()
        self.assertEqual(str(poles), "[nan, nan, nan, inf]")

    def test_narrow_floats_stay_narrow(self):
        for dtype in ("f16", "bf16", "f64"):
            x = weft.tensor([0.5, 2.0]).cast(dtype)
            for name in "sinh cosh log2 exp2 trunc sinc nan_to_num reciprocal".split():
                self.assertEqual(getattr(weft, name)(x).dtype, dtype, name)
            for name in "hypot logaddexp fmod fmax".split():
                function = getattr(weft, name)
                for result in (function(x, x), function(x, 0.5), function(1.5, x)):
                    self.assertEqual(result.dtype, dtype, name)


class Reductions(LikeNumPy):
    def test_over_axes(self):
        def logsumexp(x, **options):
            return np.log(np.sum(np.exp(x.astype(np.float64)), **options))

        for axis, keep in itertools.product(AXES, (False, True)):
            options = {"axis": axis, "keepdims": keep}
            for name in """
                nanmax nanmean nanmin nanprod nanstd nansum nanvar
            """.split():
                self.assertLike(name, MATRIX, **options)
                self.assertLike(name, HOLES, **options)
            self.assertLike("ptp", MATRIX, **options)
            for name, ddof in itertools.product(("var", "std"), (0, 1)):
                self.assertLike(name, MATRIX, ddof=ddof, **options)
                self.assertLike(name, WHOLE, ddof=ddof, **options)
            self.assertLike("count_nonzero", WHOLE, **options)
            for x in (MATRIX * 50, HOLES):
                self.assertLike("logsumexp", x, reference=logsumexp, **options)
        for few in ([-math.inf] * 2, [math.inf, 1.0]):
            few = np.array(few, np.float32)
            self.assertLike("logsumexp", few, reference=logsumexp)
        self.assertLike("nansum", WHOLE)
        self.assertLike("nanmax", WHOLE, axis=1)

    def test_average(self):
        self.assertLike("average", MATRIX)
        self.assertLike("average", MATRIX, weights=np.abs(SECOND))
        self.assertLike("average", CUBE, axis=1, weights=np.array([1.0, 2, 3]))
        with self.assertRaisesRegex(weft.Error, "average: weights are as many"):
            weft.average(MATRIX, weights=weft.ones(3))

    def test_diff(self):
        for count in range(4):
            self.assertLike("diff", CUBE, n=count)
            self.assertLike("diff", WHOLE, n=count, axis=0)
        self.assertLike("diff", MATRIX > 0)


class Order(LikeNumPy):
    def test_quantiles(self):
        for share, axis, keep in itertools.product(
            (0, 0.5, 1, 0.3, [0.1, 0.9], [0.5]), (None, 0, 1, -1), (False, True)
        ):
            for x in (MATRIX, HOLES, WHOLE):
                self.assertLike("quantile", x, share, axis=axis, keepdims=keep)
                if x is not WHOLE:
                    self.assertLike("nanquantile", x, share, axis=axis, keepdims=keep)
        self.assertLike("nanquantile", WHOLE, 0.3, axis=0)
        self.assertLike("nanpercentile", HOLES, [10, 20], axis=1)
        self.assertLike("nanmedian", HOLES, axis=0)
        self.assertLike("percentile", MATRIX, 37)
        self.assertLike("percentile", MATRIX, [10, 20], axis=1)
        for axis in (None, 0, 1):
            self.assertLike("median", CUBE, axis=axis)
        self.assertLike("median", np.array([math.inf, math.inf, 1], np.float32))
        for refused, call in {
            "from 0 to 1, not 50": lambda: weft.quantile(MATRIX, 50),
            "there are no elements": lambda: weft.median(weft.zeros(0)),
        }.items():
            with self.assertRaisesRegex(weft.Error, refused):
                call()

    def test_searchsorted(self):
        for size, side in itertools.product(
            (0, 1, 2, 3, 7, 8, 9, 100), ("left", "right")
        ):
            x = np.sort(RANDOM.integers(0, 20, size)).astype(np.float32)
            values = RANDOM.integers(-1, 22, (4, 5)).astype(np.float32)
            self.assertLike("searchsorted", x, values, side=side)
            self.assertLike(
                "searchsorted", x.astype(int), values.astype(int), side=side
            )
            holes = [np.append(each, [math.nan] * 2) for each in (x, values)]
            self.assertLike("searchsorted", *holes, side=side)


# Each of a vector of four numbers, none of which is 0.
DERIVED = {
    "average": lambda x: weft.average(x, weights=[1.0, 2, 3, 4]),
    "cbrt": weft.cbrt,
    "cosh": weft.cosh,
    "cross": lambda x: weft.cross(x[:3], x[1:]),
    "diag": lambda x: weft.diag(x, 1),
    "diff": weft.diff,
    "exp2": weft.exp2,
    "fmod": lambda x: weft.fmod(x, 0.7),
    "hypot": lambda x: weft.hypot(x, x[::-1] * 2),
    "insert": lambda x: weft.insert(x, 2, x[:2] * 3),
    "interp": lambda x: weft.interp(x, np.array([-1.0, 0, 1, 2]), x * 2),
    "kron": lambda x: weft.kron(x[:2], x[2:]),
    "linspace": lambda x: weft.linspace(x, x * 2, 3, dtype="f64"),
    "log2": lambda x: weft.log2(weft.abs(x)),
    "logaddexp": lambda x: weft.logaddexp(x, x[::-1]),
    "logsumexp": weft.logsumexp,
    "median": weft.median,
    "nan_to_num": weft.nan_to_num,
    "nanmean": lambda x: weft.nanmean(weft.where(x > 1.2, math.nan, x)),
    "nanquantile": lambda x: weft.nanquantile(weft.where(x > 1.2, math.nan, x), 0.3),
    "nanvar": lambda x: weft.nanvar(weft.where(x > 1.2, math.nan, x)),
    "quantile": lambda x: weft.quantile(x, [0.2, 0.7]),
    "repeat": lambda x: weft.repeat(x, [1, 0, 2, 3]),
    "roll": lambda x: weft.roll(x, 1),
    "sinc": weft.sinc,
    "sinh": weft.sinh,
    "std": lambda x: weft.std(x, ddof=1),
    "tensordot": lambda x: weft.tensordot(x.reshape(2, 2), x.reshape(2, 2), 1),
    "trace": lambda x: weft.trace(x.reshape(2, 2)),
    "tril": lambda x: weft.tril(x.reshape(2, 2)),
    "unique": lambda x: weft.unique(x, size=3),
}


class Derivatives(unittest.TestCase):
    def test_they_are_central_differences(self):
        x = np.array([0.3, -0.8, 1.1, 1.7])
        for name, function in DERIVED.items():
            with self.subTest(name):
                seed = RANDOM.standard_normal(function(weft.tensor(x)).shape)
                loss = lambda v: (function(v) * seed).sum()
                actual = weft.grad(loss)(weft.tensor(x)).numpy()
                steps = np.eye(4) * 1e-6
                expected = [
                    (float(loss(weft.tensor(x + s))) - float(loss(weft.tensor(x - s))))
                    / 2e-6
                    for s in steps
                ]
                np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-7)

    def test_instances_are_apart(self):
        rows = np.array([[0.3, -0.8, 1.1, 1.7], [2.0, 0.4, -1.0, 0.9]])
        for name, function in DERIVED.items():
            with self.subTest(name):
                together = weft.vmap(function)(rows)
                for row, result in zip(rows, together):
                    np.testing.assert_allclose(
                        result, function(weft.tensor(row)), rtol=1e-12, atol=1e-12
                    )

    def test_they_are_numbers_at_edges(self):
        for name in "sinh cosh sinc nan_to_num".split():
            loss = lambda x: getattr(weft, name)(x).sum()
            slopes = weft.grad(loss)(weft.tensor([0.0, 60.0, -60.0])).numpy()
            self.assertTrue(np.isfinite(slopes).all(), f"{name}: {slopes}")


if __name__ == "__main__":
    unittest.main()
