"""Tensors as indices: what NumPy does with them, and what is refused."""

import unittest

import numpy as np

import weft


class Indices(unittest.TestCase):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def both(self, function, *operands):
        tensors = list(map(weft.tensor, operands))
        eager = np.asarray(function(*tensors))
        staged = np.asarray(weft.jit(function)(*tensors))
        self.assertTrue((eager == staged).all())
        return eager

    def test_negative_ones_count_from_the_end(self):
        for index in ([-1], [0, -4, 3], [[-1, -2], [2, 1]]):
            index = np.array(index)
            self.assertTrue(
                (
                    self.both(lambda x, i: x[i], self.x, index) == self.x[index]
                ).all()
            )
            self.assertTrue(
                (
                    self.both(lambda x, i: x[:, i], self.x, index.clip(-3, 2))
                    == self.x[:, index.clip(-3, 2)]
                ).all()
            )
            self.assertTrue(
                (
                    self.both(lambda x, i: weft.take(x, i, axis=0), self.x, index)
                    == self.x.take(index, 0)
                ).all()
            )
            self.assertTrue(
                (self.both(weft.take, self.x, index) == self.x.take(index)).all()
            )
        picks = np.array([-1, 0, -3, 2])
        self.assertTrue(
            (
                self.both(weft.ops.pick, self.x, picks)
                == np.take_along_axis(self.x, picks[:, None], 1)[:, 0]
            ).all()
        )

    def test_a_list_of_nothing_selects_nothing(self):
        x = weft.tensor(self.x)
        for key in ([], (slice(None), []), ([], 1), (..., [])):
            self.assertEqual(x[key].shape, self.x[key].shape)
            self.assertEqual(x.at[key].set(7.0).tolist(), self.x.tolist())

    def test_of_any_width(self):
        for dtype in ("uint8", "int8", "int16", "int32", "int64"):
            index = np.array([[2, 0], [1, 2]], dtype)
            for key in (index, index[0, 0], (slice(None), index), (index, 1)):
                self.assertTrue(
                    (np.asarray(weft.tensor(self.x)[key]) == self.x[key]).all()
                )

    def test_gradients_go_to_the_rows_that_were_read(self):
        index = weft.tensor([-1, 0, -1])
        gradient = weft.grad(lambda x: weft.take(x, index, axis=0).sum())
        expected = np.zeros((4, 3))
        np.add.at(expected, [-1, 0, -1], 1)
        for run in (gradient, weft.jit(gradient)):
            self.assertTrue(
                (np.asarray(run(weft.tensor(self.x))) == expected).all()
            )

    def test_outside_of_the_axis(self):
        x = weft.tensor(self.x)
        logits = weft.tensor(self.x)
        cases = [
            (lambda i: x[i], [0, 4], "gather.*indices is 4 at .1."),
            (lambda i: x[i], [[0, 1], [-5, 0]], "gather.*is -5 at .1, 0."),
            (lambda i: weft.ops.pick(x, i), [0, 0, 3, 0], "pick.*is 3 at .2."),
            (
                lambda i: weft.ops.one_hot(i, depth=3),
                [0, -1],
                "one_hot.*is -1 at .1.",
            ),
            (
                lambda i: weft.cross_entropy(logits, i),
                [0, 1, 2, -1],
                "cross_entropy.*labels is -1 at .3.",
            ),
            (
                lambda i: weft.ops.scatter_add(x, i, size=[3]),
                [0, 1, 2, 3],
                "scatter_add.*is 3 at .3.",
            ),
            (
                lambda i: weft.ops.add_rows(x, x, i),
                [0, 1, 2, 7],
                "add_rows.*is 7 at .3.",
            ),
        ]
        for function, index, message in cases:
            for run in (function, weft.jit(function)):
                with self.assertRaisesRegex(IndexError, message) as caught:
                    run(weft.tensor(index))
                self.assertIsInstance(caught.exception, weft.IndexError)
                with self.assertRaises(weft.InvalidArgument):
                    run(weft.tensor(index, "i32"))

    def test_an_integer_outside_of_the_axis(self):
        x = weft.tensor(self.x)
        for key in (4, -5, (0, 3), (slice(None), -4)):
            with self.assertRaises(IndexError):
                self.x[key]
            with self.assertRaises(IndexError):
                x[key]

    def test_one_error_and_the_function_goes_on(self):
        f = weft.jit(lambda x, i: x[i])
        x = weft.tensor(self.x)
        with self.assertRaises(IndexError):
            f(x, weft.tensor([9]))
        self.assertEqual(f(x, weft.tensor([-1])).tolist(), [[9, 10, 11]])


if __name__ == "__main__":
    unittest.main()
