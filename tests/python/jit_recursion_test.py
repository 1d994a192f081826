"""Staged functions that call staged functions, themselves among them."""

import unittest

import numpy as np

import weft


class Recursion(unittest.TestCase):
    def test_nested(self):
        inner = weft.jit(lambda a, b: a @ b)

        @weft.jit
        def outer(a, b):
            return inner(a, inner(b, b))

        diagonal = weft.tensor(np.diag([-1.0, 1.0, 2.0]))
        result = outer(weft.tensor(np.eye(3)), diagonal)
        self.assertEqual(np.diag(result).tolist(), [1, 1, 4])
        self.assertEqual((outer.trace_count, inner.trace_count), (1, 1))

    def test_recursion(self):
        number = weft.TensorType("f32")

        @weft.jit(input_signature=[number], results=[number])
        def fib(n):
            return weft.cond(n < 2, lambda: n, lambda: fib(n - 1) + fib(n - 2))

        self.assertEqual(fib(weft.tensor(10.0)).item(), 55)

    def test_recursion_over_integers(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def fib(n):
            return weft.cond(
                n <= 1, lambda: n, lambda: fib(n - 1) + fib(n - 2)
            )

        self.assertEqual(fib(weft.tensor(20)).item(), 6765)
        self.assertEqual(fib.trace_count, 1)

    def test_mutual_recursion(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def is_even(n):
            return weft.cond(n == 0, lambda: 1, lambda: is_odd(n - 1))

        @weft.jit(results=[number])
        def is_odd(n):
            return weft.cond(n == 0, lambda: 0, lambda: is_even(n - 1))

        for n in (0, 1, 2, 7, 10):
            self.assertEqual(is_even(weft.tensor(n)).item(), 1 - n % 2)
            self.assertEqual(is_odd(weft.tensor(n)).item(), n % 2)

    def test_recursion_without_types_says_how(self):
        @weft.jit
        def f(n):
            return weft.cond(n <= 0, lambda: n, lambda: f(n - 1))

        with self.assertRaisesRegex(weft.Error, r"jit\(f, results="):
            f(weft.tensor(3))

    def test_frames_are_limited(self):
        number = weft.TensorType("i64")

        def count(n):
            return weft.cond(n <= 0, lambda: 0, lambda: 1 + counted(n - 1))

        counted = weft.jit(count, results=[number], max_frames=50, workers=1)
        self.assertEqual(counted(weft.tensor(40)).item(), 40)
        with self.assertRaisesRegex(weft.Error, "max_frames: an option of jit"):
            counted(weft.tensor(60))
        counted = weft.jit(
            count, results=[number], max_frames=100, batching=False
        )
        self.assertEqual(counted(weft.tensor(60)).item(), 60)
        with self.assertRaisesRegex(weft.Error, "0 frames"):
            weft.jit(count, max_frames=0)


if __name__ == "__main__":
    unittest.main()
