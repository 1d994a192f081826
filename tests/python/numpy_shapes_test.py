"""Functions that make tensors and give elements another place are NumPy's."""

import itertools
import unittest

import numpy as np

import weft
from comparing import LikeNumPy

RANDOM = np.random.default_rng(0)


def draw(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


VECTOR, OTHER, MATRIX = draw(5), draw(4), draw(3, 4)
SECOND, CUBE, EMPTY = draw(3, 4), draw(2, 3, 4), draw(0, 4)
WHOLE = RANDOM.integers(-5, 6, (3, 4))
ALL = (VECTOR, MATRIX, CUBE, EMPTY, WHOLE)


class Arranging(LikeNumPy):
    def test_places_of_elements(self):
        for x in ALL:
            self.assertLike("ravel", x)
            for axis in (None, 0, -1):
                self.assertLike("flip", x, axis=axis)
                for shift in (0, 1, -1, 7, -9):
                    self.assertLike("roll", x, shift, axis=axis)
        self.assertLike("roll", CUBE, (1, 2), axis=(0, 2))
        self.assertLike("roll", CUBE, 1, axis=(0, 2))
        self.assertLike("fliplr", MATRIX)
        self.assertLike("flipud", MATRIX)
        for k in range(-4, 5):
            self.assertLike("rot90", MATRIX, k=k)
            self.assertLike("rot90", CUBE, k=k, axes=(2, 0))

    def test_repeats(self):
        for x, axis in itertools.product(ALL, (None, 0, -1)):
            for times in (0, 1, 3):
                self.assertLike("repeat", x, times, axis=axis)
        self.assertLike("repeat", MATRIX, [2, 0, 1], axis=0)
        self.assertLike("repeat", VECTOR, [2])

    def test_axes(self):
        self.assertLike("moveaxis", CUBE, 0, -1)
        self.assertLike("moveaxis", CUBE, (0, 1), (2, 0))
        self.assertLike("swapaxes", CUBE, 0, 2)
        self.assertLike("swapaxes", CUBE, -1, 1)
        self.assertLike("atleast_1d", np.ones((), np.float32))
        for x in (np.ones((), np.float32), VECTOR, CUBE):
            self.assertLike("atleast_2d", x)
        self.assertLike("broadcast_arrays", MATRIX, OTHER, np.ones((), np.float32))
        self.assertEqual(weft.matrix_transpose(CUBE).shape, (2, 4, 3))

    def test_joined_and_cut(self):
        for name in ("hstack", "vstack", "dstack", "column_stack"):
            self.assertLike(name, [VECTOR, VECTOR])
            self.assertLike(name, [MATRIX, SECOND])
        self.assertLike("hstack", [VECTOR, OTHER])
        self.assertLike("hstack", [CUBE, CUBE])
        self.assertLike("column_stack", [MATRIX, VECTOR[:3]])
        for x, axis, parts in itertools.product(ALL, (0, -1), (1, 2, 3)):
            self.assertLike("array_split", x, parts, axis=axis)
        self.assertLike("array_split", MATRIX, [1, 2])
        self.assertLike("unstack", CUBE, reference=list)

    def test_put_in_and_taken_out(self):
        for axis in (None, 0, 1):
            self.assertLike("append", MATRIX, SECOND, axis=axis)
            for places in (0, -1, [0, 2], slice(1, None), []):
                self.assertLike("delete", MATRIX, places, axis=axis)
            for place in (0, 2, -1, 3):
                self.assertLike("insert", MATRIX, place, 7.0, axis=axis)
        for place in (0, 3):
            self.assertLike("insert", MATRIX, place, OTHER, axis=0)
            self.assertLike("insert", MATRIX, place, draw(3), axis=1)
            self.assertLike("insert", MATRIX, place, draw(2, 3), axis=1)
            self.assertLike("insert", CUBE, 1, draw(2, 3), axis=-1)
            self.assertLike("insert", VECTOR, place, OTHER)

    def test_what_is_wrong_is_refused(self):
        for refused, call in {
            "roll: 2 axes have 3 shifts": lambda: weft.roll(CUBE, (1, 2, 3), (0, 1)),
            "repeat: 3 places": lambda: weft.repeat(MATRIX, [1, 2], 0),
            "repeat: -1 times": lambda: weft.repeat(MATRIX, -1),
            "an axis is named twice": lambda: weft.moveaxis(CUBE, (0, 0), (1, 2)),
            "moveaxis: 1 axes have 2": lambda: weft.moveaxis(CUBE, 0, (1, 2)),
            "array_split: 0 parts": lambda: weft.array_split(VECTOR, 0),
            "known only when": lambda: weft.jit(
                lambda x: weft.roll(x, 1, 0),
                input_signature=[weft.TensorType("f32", [weft.Dim("N")])],
            )(VECTOR),
        }.items():
            with self.subTest(refused), self.assertRaisesRegex(weft.Error, refused):
                call()


class Creation(LikeNumPy):
    def test_lines(self):
        def rounded(function):
            return lambda *a, **k: function(*a, **k).astype(np.float32)

        for start, stop, count in (
            (0, 1, 50),
            (1, 5, 7),
            (3, -2, 4),
            (0, 1, 1),
            (0, 1, 0),
            (2, 2, 3),
        ):
            for end in (True, False):
                self.assertLike(
                    "linspace",
                    start,
                    stop,
                    count,
                    endpoint=end,
                    near=0,
                    reference=rounded(np.linspace),
                )
                self.assertLike("logspace", start, stop, count, endpoint=end)
        self.assertLike("linspace", VECTOR, VECTOR + 1, 5)
        self.assertLike("linspace", VECTOR, 3.0, 5)
        self.assertLike("logspace", 0, 3, 4, base=2.0)

    def test_grids(self):
        for indexing in ("xy", "ij"):
            for count in (1, 2, 3):
                axes = [VECTOR, OTHER, draw(2)][:count]
                self.assertLike("meshgrid", *axes, indexing=indexing)
        with self.assertRaisesRegex(weft.Error, 'indexing is "xy" or "ij"'):
            weft.meshgrid(VECTOR, indexing="yx")

    def test_full_like(self):
        self.assertLike("full_like", WHOLE, 3)
        self.assertEqual(weft.full_like(MATRIX, 2, "i32").dtype, "i32")


class Matrices(LikeNumPy):
    def test_diagonals(self):
        for n, m, k in itertools.product((0, 1, 3), (None, 0, 2, 5), range(-4, 5)):
            self.assertLike("eye", n, m, k=k)
            self.assertLike("tri", n, m, k=k)
        self.assertLike("identity", 3)
        for k in range(-5, 6):
            for x in (MATRIX, CUBE, WHOLE):
                for name in ("tril", "triu"):
                    self.assertLike(name, x, k=k)
                for name in ("diagonal", "trace"):
                    self.assertLike(name, x, offset=k)
            self.assertLike("diagonal", CUBE, offset=k, axis1=2, axis2=0)
            self.assertLike("diag", VECTOR, k=k)
            self.assertLike("diag", MATRIX, k=k)
        with self.assertRaisesRegex(weft.Error, r"tril: \[5\] is no matrix"):
            weft.tril(VECTOR)

    def test_a_mask_of_unknown_size(self):
        mask = weft.jit(
            lambda x: weft.tril(x),
            input_signature=[weft.TensorType("f32", [weft.Dim("N")] * 2)],
        )
        for size in (2, 5):
            x = draw(size, size)
            np.testing.assert_array_equal(mask(x), np.tril(x))

    def test_products(self):
        one = np.full((), 2, np.float32)
        for a, b in (
            (VECTOR, VECTOR),
            (MATRIX, OTHER),
            (MATRIX, draw(4, 2)),
            (CUBE, OTHER),
            (CUBE, draw(5, 4, 2)),
            (one, MATRIX),
        ):
            self.assertLike("dot", a, b)
        for a, b in (
            (VECTOR, VECTOR),
            (MATRIX, OTHER),
            (MATRIX, SECOND),
            (CUBE, MATRIX),
        ):
            self.assertLike("inner", a, b)
        self.assertLike("vdot", MATRIX, SECOND)
        self.assertLike("outer", MATRIX, OTHER)
        for a, b in ((MATRIX, SECOND), (VECTOR, MATRIX), (CUBE, CUBE)):
            self.assertLike("kron", a, b)
        self.assertLike("vecdot", CUBE, OTHER, reference=lambda a, b: (a * b).sum(-1))
        for axes in (0, 2, ((0,), (0,)), ((1, 0), (1, 0))):
            self.assertLike("tensordot", MATRIX, SECOND, axes=axes)
        self.assertLike("tensordot", CUBE, draw(4, 3, 5), axes=([1, 2], [1, 0]))
        self.assertLike("cross", draw(4, 3), draw(4, 3))
        self.assertLike("cross", draw(3), draw(2, 3))
        with self.assertRaisesRegex(weft.Error, "cross: vectors have 3"):
            weft.cross(draw(2), draw(2))


if __name__ == "__main__":
    unittest.main()
