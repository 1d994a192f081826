"""Linear algebra is NumPy's, alone and in stacks, with its derivatives."""

import itertools
import math
import unittest

import numpy as np

import weft
from comparing import LikeNumPy

RANDOM = np.random.default_rng(0)


def draw(*shape):
    return RANDOM.standard_normal(shape)


def symmetric(*shape):
    x = draw(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


SQUARE, STACK, TALL, WIDE = draw(4, 4), draw(2, 3, 4, 4), draw(2, 5, 3), draw(3, 5)
FLAWED = draw(5, 2) @ draw(2, 4)  # of rank 2
ABOVE_0 = symmetric(2, 3, 3)


class LinearAlgebra(LikeNumPy):
    def assertLinear(self, name, *arguments, near=1e-9, **options):
        reference = options.pop("reference", getattr(np.linalg, name, None))
        self.assertLike(
            f"linalg.{name}", *arguments, reference=reference, near=near, **options
        )

    def test_decompositions(self):
        self.assertLinear("cholesky", ABOVE_0)
        self.assertLinear("eigvalsh", ABOVE_0)
        for x in (SQUARE, TALL, WIDE):
            singular = np.linalg.svd(x, compute_uv=False)
            self.assertLinear("svdvals", x, reference=lambda _: singular)
            u, s, vt = weft.linalg.svd(x)
            together = (u * s[..., None, :]) @ vt
            np.testing.assert_allclose(together, x, atol=1e-12)
        values, vectors = weft.linalg.eigh(ABOVE_0)
        np.testing.assert_allclose(
            ABOVE_0 @ vectors.numpy(), vectors * values[..., None, :], atol=1e-12
        )
        q, r = weft.linalg.qr(TALL)
        np.testing.assert_allclose(q @ r, TALL, atol=1e-12)

    def test_systems(self):
        for a in (SQUARE, STACK):
            self.assertLinear("inv", a)
            self.assertLinear("solve", a, draw(4, 3))
            for n in (-2, 0, 1, 2, 5):
                self.assertLinear("matrix_power", a, n, near=1e-6)
        self.assertLinear("solve", SQUARE, draw(4))
        self.assertLinear("solve", STACK, draw(2, 3, 4, 2))
        self.assertLinear("solve", SQUARE, draw(2, 4, 2))
        self.assertLinear("solve", STACK[0], draw(2, 3, 4, 2))
        self.assertLinear("solve", STACK, draw(2, 1, 4, 2))
        for x in (SQUARE, TALL, WIDE, FLAWED):
            self.assertLinear("pinv", x)
            self.assertLinear("matrix_rank", x)
            if x is not FLAWED:
                self.assertLinear("cond", x)

    def test_determinants(self):
        rows_apart = np.eye(4)[[2, 0, 3, 1]] * 3
        flat = np.stack([np.zeros((4, 4)), np.ones((4, 4)), np.eye(4) * 1e-200])
        for x in (SQUARE, STACK, rows_apart, flat, np.ones((2, 0, 0)), draw(1, 1)):
            self.assertLinear("det", x)
            self.assertLinear("slogdet", x)

    def test_least_squares(self):
        x, y = draw(7, 3), draw(3, 5)
        for a, b in ((x, draw(7, 2)), (x, draw(7)), (y, draw(3, 2)), (FLAWED, draw(5))):
            expected = np.linalg.lstsq(a, b, rcond=None)
            solved, left, rank, s = weft.linalg.lstsq(a, b)
            np.testing.assert_allclose(solved, expected[0], atol=1e-9)
            # NumPy tells no rest where a lacks a rank or has too few rows.
            rest = ((a @ expected[0] - b) ** 2).sum(0)
            np.testing.assert_allclose(np.squeeze(left), rest, atol=1e-9)
            self.assertEqual(int(rank), expected[2])
            np.testing.assert_allclose(s, expected[3], atol=1e-9)
        few = weft.linalg.lstsq(x, draw(7), rcond=0.999)
        self.assertEqual(int(few[2]), 1)

    def test_tensors_are_solved_for(self):
        self.assertLinear("tensorsolve", draw(2, 3, 6), draw(2, 3))
        self.assertLinear("tensorsolve", draw(4, 6, 8, 3), draw(4, 6))
        self.assertLinear("tensorsolve", draw(3, 4, 6, 8), draw(4, 6), axes=(0, 3))

    def test_norms(self):
        for x in (draw(6), SQUARE, TALL):
            for keep in (False, True):
                self.assertLinear("norm", x, keepdims=keep)
                for ord in (None, 0, 1, 2, 3, -1, 0.5, math.inf, -math.inf):
                    self.assertLinear("norm", x, ord, axis=-1, keepdims=keep)
        for ord, keep in itertools.product(
            (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf), (False, True)
        ):
            for axes in ((1, 2), (0, 2), (2, 0), (-1, 0)):
                self.assertLinear("norm", TALL, ord, axis=axes, keepdims=keep)

    def test_what_is_wrong_is_refused(self):
        for refused, call in {
            r"solve: \[5, 2\] is no square": lambda: weft.linalg.solve(
                draw(5, 2), SQUARE
            ),
            r"inv: \[6\] is no square": lambda: weft.linalg.inv(draw(6)),
            "norm: 3 axes are no vector": lambda: weft.linalg.norm(TALL, 2),
            "ties 6 unknown numbers by 4 equations, for 4": lambda: (
                weft.linalg.tensorsolve(draw(2, 2, 6), draw(2, 2))
            ),
            r"det: \[5, 2\] is no square": lambda: weft.linalg.det(draw(5, 2)),
            "not 'max'": lambda: weft.linalg.norm(SQUARE, "max", axis=(0, 1)),
        }.items():
            with self.subTest(refused), self.assertRaisesRegex(weft.Error, refused):
                call()

    def test_derivatives_are_central_differences(self):
        # Its first row is not where elimination begins.
        a = symmetric(3, 3)[::-1].copy()
        for name, function in {
            "cond": weft.linalg.cond,
            "det": weft.linalg.det,
            "inv": weft.linalg.inv,
            "matrix_power": lambda x: weft.linalg.matrix_power(x, 3),
            "norm": weft.linalg.norm,
            "nuclear": lambda x: weft.linalg.matrix_norm(x, "nuc"),
            "logarithm": lambda x: weft.linalg.slogdet(x)[1],
            "lstsq": lambda x: weft.linalg.lstsq(
                x, weft.tensor([1.0, 2, 3]).cast("f64")
            )[0],
            "lu": lambda x: weft.ops.lu(x)[0],
            "pinv": weft.linalg.pinv,
            "solve": lambda x: weft.linalg.solve(
                x, weft.tensor([1.0, 2, 3]).cast("f64")
            ),
        }.items():
            with self.subTest(name):
                seed = draw(*function(weft.tensor(a)).shape)

                def loss(x, function=function, seed=seed):
                    return (function(x) * seed).sum()

                slopes = weft.jit(weft.grad(loss))(weft.tensor(a)).numpy()
                for place in np.ndindex(3, 3):
                    step = np.zeros((3, 3))
                    step[place] = 1e-6
                    ends = [float(loss(weft.tensor(a + s))) for s in (step, -step)]
                    self.assertAlmostEqual(
                        slopes[place], (ends[0] - ends[1]) / 2e-6, delta=1e-6
                    )

    def test_instances_are_apart(self):
        stack = symmetric(4, 3, 3)
        for name in "det inv pinv norm cond eigvalsh cholesky".split():
            function = getattr(weft.linalg, name)
            together = weft.vmap(function)(stack)
            for one, result in zip(stack, together):
                np.testing.assert_allclose(result, function(one), rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    unittest.main()
