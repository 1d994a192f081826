"""Parts of tensors as NumPy selects and changes them: any key, along any axis,
eagerly and staged."""

import math
import random
import unittest

import numpy as np
from comparing import seeds

import weft

SHAPE = (4, 3, 5, 2)
UPDATES = {
    "set": lambda x, key, v: x.__setitem__(key, v),
    "add": np.add.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def random_slice(draw, size):
    def bound():
        return draw.choice([None, draw.randint(-size - 1, size + 1)])

    return slice(bound(), bound(), draw.choice([None, 1, 2, -1, -2, 3, -3]))


class RandomKey:
    """A key of NumPy for SHAPE."""

    def __init__(self, draw):
        self.draw = draw
        # What arrays of places broadcast to, once the first one is drawn.
        self.places = [(), (2,), (3, 1), (3, 2)]
        front = draw.randint(0, len(SHAPE))
        back = draw.randint(0, len(SHAPE) - front) if draw.random() < 0.5 else 0
        key = self.of_axes(0, front)
        if back > 0 or draw.random() < 0.3:
            key += [Ellipsis, *self.of_axes(len(SHAPE) - back, len(SHAPE))]
        self.key = tuple(key)

    def of_axes(self, axis, end):
        key = []
        while axis < end:
            kind = self.draw.choice(
                ["integer", "slice", "slice", "array", "mask", "none"]
            )
            if kind == "none":
                # Beyond 8 axes there are no tensors.
                if all(each is not None for each in key):
                    key.append(None)
            elif kind == "mask":
                rank = self.draw.randint(1, min(2, end - axis))
                key.append(self.mask(SHAPE[axis : axis + rank]))
                axis += rank
            else:
                key.append(getattr(self, kind)(SHAPE[axis]))
                axis += 1
        return key

    def integer(self, size):
        return self.draw.randrange(-size, size)

    def slice(self, size):
        return random_slice(self.draw, size)

    def array(self, size):
        shape = self.draw.choice(self.places)
        flat = [self.integer(size) for _ in range(math.prod(shape))]
        return np.array(flat, np.int64).reshape(shape)

    def mask(self, shape):
        # The mask has as many true elements as the arrays broadcast to.
        count = self.draw.choice([0, 1, 2, 3])
        if self.places[-1] != (3, 2):
            count = self.places[-1][0]
        count = min(count, math.prod(shape))
        flags = [True] * count + [False] * (math.prod(shape) - count)
        self.draw.shuffle(flags)
        self.places = [(), (1,), (count,)]
        return np.array(flags).reshape(shape)


class Keys(unittest.TestCase):
    x = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)

    def keys(self, count):
        for seed in seeds(count):
            draw = random.Random(seed)
            key = RandomKey(draw).key
            try:
                self.x[key]
            except IndexError:
                continue  # arrays of places that do not broadcast
            yield f"seed {seed}", key

    def test_select_as_numpy_does(self):
        x = weft.tensor(self.x)
        for seed, key in self.keys(300):
            expected = self.x[key]
            for run in (lambda x: x[key], weft.jit(lambda x: x[key])):
                actual = np.asarray(run(x))
                self.assertEqual(actual.shape, expected.shape, (seed, key))
                self.assertTrue((actual == expected).all(), (seed, key))

    def test_change_as_numpy_does(self):
        x = weft.tensor(self.x)
        for seed, key in self.keys(300):
            random = np.random.default_rng(len(key))
            values = random.integers(0, 120, self.x[key].shape)
            values = values.astype(np.float32)
            for mode, update in UPDATES.items():
                expected = self.x.copy()
                update(expected, key, values)
                change = lambda x, v: getattr(x.at[key], mode)(v)
                for run in (change, weft.jit(change)):
                    actual = np.asarray(run(x, weft.tensor(values)))
                    self.assertTrue(
                        (actual == expected).all(), (seed, key, mode)
                    )
        self.assertTrue((np.asarray(x) == self.x).all())

    def test_gradients_go_where_numbers_came_from(self):
        x = weft.tensor(self.x)
        for seed, key in self.keys(60):
            weights = np.random.default_rng(1).uniform(
                size=self.x[key].shape
            ).astype(np.float32)
            expected = np.zeros_like(self.x)
            np.add.at(expected, key, weights)
            gradient = weft.grad(lambda x: (x[key] * weights).sum())
            for run in (gradient, weft.jit(gradient)):
                self.assertTrue(
                    np.allclose(np.asarray(run(x)), expected), (seed, key)
                )

    def test_values_broadcast_and_numbers_take_the_dtype(self):
        for dtype in ("f32", "i64", "bf16", "u8"):
            x = weft.zeros((3, 4), dtype)
            self.assertEqual(x.at[1].set(7).dtype, dtype)
            self.assertEqual(
                x.at[:, [0, 2]].add(2).at[0].max(1).tolist(),
                [[2, 1, 2, 1], [2, 0, 2, 0], [2, 0, 2, 0]],
            )
        x = weft.zeros((3, 4))
        row = np.arange(4, dtype=np.float32)
        self.assertEqual(x.at[[0, 2]].set(row).tolist()[2], [0, 1, 2, 3])
        with self.assertRaisesRegex(weft.InvalidArgument, "its update is i64"):
            x.at[0].set(np.arange(4))
        with self.assertRaisesRegex(weft.InvalidArgument, "broadcast"):
            x.at[0].set(np.ones(3, np.float32))

    def test_slices_that_are_computed(self):
        with self.assertRaisesRegex(weft.Unsupported, "dynamic_slice"):
            weft.jit(lambda x, i: x[i:])(weft.tensor(self.x), weft.tensor(1))
        self.assertEqual(weft.tensor(self.x)[weft.tensor(3) :].shape[0], 1)

    def test_by_tuples(self):
        random = np.random.default_rng(5)
        tuples = random.integers(-3, 3, (6, 7, 2))
        key = tuples[..., 0], tuples[..., 1]
        rows = weft.ops.gather_nd(self.x, tuples)
        self.assertTrue((np.asarray(rows) == self.x[key]).all())
        updates = random.integers(0, 120, (6, 7, 5, 2)).astype(np.float32)
        for mode, update in UPDATES.items():
            expected = self.x.copy()
            update(expected, key, updates)
            actual = weft.ops.scatter_nd(self.x, tuples, updates, mode=mode)
            self.assertTrue((np.asarray(actual) == expected).all(), mode)

    def test_of_a_variable(self):
        v = weft.Variable(np.zeros(3, np.float32))
        self.assertEqual(v.at[1].set(2.0).tolist(), [0, 2, 0])
        self.assertEqual(v.numpy().tolist(), [0, 0, 0])


class Masks(unittest.TestCase):
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5

    def test_that_are_computed_take_numbers(self):
        for mask in (self.x > 0, self.x[:, 0] > -3):
            for mode, update in UPDATES.items():
                expected = self.x.copy()
                update(expected, mask, np.float32(2))
                change = lambda x, m: getattr(x.at[m], mode)(2.0)
                for run in (change, weft.jit(change)):
                    actual = run(weft.tensor(self.x), weft.tensor(mask))
                    self.assertTrue((np.asarray(actual) == expected).all())

    def test_that_are_computed_have_no_known_size(self):
        with self.assertRaisesRegex(weft.Unsupported, "where.mask, x, other."):
            weft.jit(lambda x: x[x > 0])(weft.tensor(self.x))

    def test_that_do_not_fit(self):
        x = weft.tensor(self.x)
        with self.assertRaisesRegex(
            weft.InvalidArgument, "axis 0 of the mask has 4 elements, but axis 0"
        ):
            x[np.ones(4, bool)]
        with self.assertRaisesRegex(weft.InvalidArgument, "first axes"):
            x.at[np.ones(4, bool)].set(0.0)
        with self.assertRaisesRegex(weft.InvalidArgument, "too many indices"):
            x[np.ones((3, 4, 1), bool)]

    def test_gradient(self):
        mask = self.x > 0
        gradient = weft.grad(lambda x: (x[x > 0] ** 2).sum())
        expected = np.where(mask, 2 * self.x, 0)
        actual = np.asarray(gradient(weft.tensor(self.x)))
        self.assertTrue((actual == expected).all())


class OutsideOfTheAxis(unittest.TestCase):
    def test_is_an_index_error(self):
        x = weft.zeros((3, 4))
        cases = [
            (lambda i, j: x[i, j], [0, 2], [0, 4]),
            (lambda i, j: x[i, j], [0, -4], [0, 1]),
            (lambda i, j: x.at[i, j].add(1.0), [0, 3], [0, 1]),
            (lambda i, j: weft.take_along_axis(x, i, axis=0), [[3] * 4], [0]),
            (lambda i, j: weft.dynamic_slice(x, i, (2, 2)), [2, 0], [0]),
            (
                lambda i, j: weft.dynamic_update_slice(
                    x, weft.ones((2, 2)), i
                ),
                [0, 3],
                [0],
            ),
        ]
        for function, i, j in cases:
            for run in (function, weft.jit(function)):
                for dtype in ("i64", "i32"):
                    with self.assertRaises(weft.IndexError):
                        run(weft.tensor(i, dtype), weft.tensor(j, dtype))


class AlongAxes(unittest.TestCase):
    x = np.random.default_rng(3).uniform(-3, 3, (3, 4, 5)).astype(np.float32)

    def same(self, actual, expected, near=0.0):
        actual = np.asarray(actual)
        self.assertEqual(actual.shape, expected.shape)
        self.assertTrue((np.abs(actual - expected) <= near).all())

    def test_take_along(self):
        random = np.random.default_rng(1)
        for axis in (0, 1, 2, -1, -2):
            shape = list(self.x.shape)
            shape[axis] = 7
            indices = random.integers(-3, 3, shape)
            for spread in (indices, indices[:, :1] if axis != 1 else indices):
                if axis == -2:
                    spread = indices
                self.same(
                    weft.take_along_axis(self.x, spread, axis),
                    np.take_along_axis(self.x, spread, axis),
                )
        flat = np.array([0, -1, 59])
        self.same(
            weft.take_along_axis(self.x, flat, None),
            np.take_along_axis(self.x, flat, None),
        )

    def test_put_along(self):
        for axis in (0, 1, 2):
            shape = list(self.x.shape)
            shape[axis] = 1
            indices = np.random.default_rng(2).integers(-3, 3, shape)
            expected = self.x.copy()
            np.put_along_axis(expected, indices, 9, axis)
            self.same(
                weft.put_along_axis(self.x, indices, 9.0, axis), expected
            )

    def test_softmax(self):
        for axis in (0, 1, 2, -2):
            powers = np.exp(self.x - self.x.max(axis, keepdims=True))
            expected = powers / powers.sum(axis, keepdims=True)
            self.same(weft.softmax(self.x, axis=axis), expected, 1e-6)
            self.same(
                weft.log_softmax(self.x, axis=axis), np.log(expected), 1e-5
            )

    def test_order(self):
        for axis in (0, 1, -1):
            self.same(weft.sort(self.x, axis), np.sort(self.x, axis))
            self.same(weft.argsort(self.x, axis), np.argsort(self.x, axis))
            values, places = weft.ops.top_k(self.x, k=2, axis=axis)
            order = np.flip(np.sort(self.x, axis), axis)
            self.same(values, order.take([0, 1], axis))
            found = np.take_along_axis(self.x, np.asarray(places), axis)
            self.same(values, found)

    def test_flip(self):
        for axis in (None, 0, -1, (0, 2)):
            self.same(weft.flip(self.x, axis), np.flip(self.x, axis))
        gradient = weft.grad(lambda x: (weft.flip(x, 1) * self.x).sum())
        self.same(gradient(weft.tensor(self.x)), np.flip(self.x, 1))

    def test_of_unknown_sizes(self):
        f = weft.jit(
            lambda x: (x[::-1, -1:-3:-1], x.at[1:].add(1.0), weft.flip(x)),
            input_signature=[weft.TensorType("f32", ("N", 3))],
        )
        for size in (1, 2, 4):
            x = np.arange(3 * size, dtype=np.float32).reshape(size, 3)
            back, added, flipped = f(weft.tensor(x))
            self.same(back, x[::-1, -1:-3:-1])
            self.same(flipped, np.flip(x))
            expected = x.copy()
            expected[1:] += 1
            self.same(added, expected)

    def test_dynamic_slice(self):
        rows = weft.jit(
            lambda x, i: weft.dynamic_slice(x, [i, 0, i + 1], (2, 4, 1))
        )
        self.same(rows(self.x, weft.tensor(1)), self.x[1:3, :, 2:3])
        put = weft.jit(weft.dynamic_update_slice)
        expected = self.x.copy()
        expected[1:, 2:3, :2] = 0
        zeros = weft.zeros((2, 1, 2))
        self.same(put(weft.tensor(self.x), zeros, [1, 2, 0]), expected)


class Einsum(unittest.TestCase):
    equations = {
        "ij,jk->ik": [(3, 4), (4, 5)],
        "ij,jk": [(3, 4), (4, 5)],
        "bij,bkj->bki": [(2, 3, 4), (2, 5, 4)],
        "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)],
        "ii->i": [(4, 4)],
        "ii": [(4, 4)],
        "ij->": [(3, 4)],
        "ij,kl,jm->imlk": [(2, 3), (4, 5), (3, 6)],
        "i,i,i->i": [(5,), (5,), (5,)],
        "ab,bc,cd,da": [(2, 3), (3, 4), (4, 5), (5, 2)],
    }

    def test_equals_numpy(self):
        random = np.random.default_rng(0)
        for equation, shapes in self.equations.items():
            for dtype in (np.float64, np.float32, np.int64):
                operands = [
                    random.integers(-4, 4, shape).astype(dtype)
                    for shape in shapes
                ]
                expected = np.einsum(equation, *operands)
                for run in (weft.einsum, None):
                    if run is None:
                        run = lambda text, *xs: weft.jit(
                            lambda *xs: weft.einsum(text, *xs)
                        )(*xs)
                    actual = np.asarray(
                        run(equation, *map(weft.tensor, operands))
                    )
                    self.assertEqual(actual.shape, expected.shape, equation)
                    self.assertEqual(actual.dtype, dtype)
                    self.assertTrue((actual == expected).all(), equation)

    def test_of_lists(self):
        self.assertEqual(weft.einsum("i->", [1.0, 2.0]).item(), 3)
        self.assertEqual(weft.einsum("i,i->", [1, 2], [3, 4]).item(), 11)

    def test_names_the_label(self):
        with self.assertRaisesRegex(
            weft.InvalidArgument, "label 'j' is 4, but 3 in operand 1"
        ):
            weft.einsum("ij,jk->ik", weft.ones((2, 4)), weft.ones((3, 5)))

    def test_gradient(self):
        a, b = weft.tensor([[1.0, 2.0]]), weft.tensor([[3.0], [4.0]])
        gradients = weft.grad(
            lambda a, b: weft.einsum("ij,jk->", a, b), argnums=(0, 1)
        )(a, b)
        self.assertEqual(gradients[0].tolist(), [[3.0, 4.0]])
        self.assertEqual(gradients[1].tolist(), [[1.0], [2.0]])


if __name__ == "__main__":
    unittest.main()
