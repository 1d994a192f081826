"""What becomes of numbers and bools beside tensors, against NumPy's rules."""

import operator
import unittest

import numpy as np

import weft

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "==": operator.eq,
    "//": operator.floordiv,
    "/": operator.truediv,
}
DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64")
NUMBERS = (True, 2, 1.5)


def expected_dtype(dtype, number, name):
    """NumPy's kinds (NEP 50), with f32 where NumPy has f64 for numbers alone: it
    is what numbers of Python are in Weft."""
    if name in ("<", "=="):
        return "bool"
    floating = dtype.startswith("f")
    if isinstance(number, float) or name == "/":
        return dtype if floating else "f32"
    if dtype == "bool":
        return "bool" if number is True else "i64"
    return dtype


class Promotion(unittest.TestCase):
    def test_numbers_beside_tensors(self):
        for dtype in DTYPES:
            x = weft.tensor([1, 0, 1] if dtype == "bool" else [7, 3, 5]).astype(
                dtype
            )
            for number in NUMBERS:
                for name, operate in OPERATORS.items():
                    if dtype == "bool" and number is True and name not in "<==":
                        continue  # arithmetic of bools is refused
                    with self.subTest(f"{dtype} {name} {number}"):
                        for run in (operate, weft.jit(operate)):
                            got = run(x, number)
                            wanted = expected_dtype(dtype, number, name)
                            self.assertEqual(got.dtype, wanted)
                            np.testing.assert_allclose(
                                got.numpy().astype("f8"),
                                operate(x.numpy().astype("f8"), number),
                                1e-3,
                            )

    def test_bools_beside_tensors(self):
        mask = weft.tensor([True, False])
        x = weft.tensor([1.5, 2.5])
        self.assertEqual((mask * x).numpy().tolist(), [1.5, 0])
        self.assertEqual((x + mask).numpy().tolist(), [2.5, 2.5])
        self.assertEqual((mask + 1).numpy().tolist(), [2, 1])
        # A choice is no computation: the mask stays one.
        self.assertEqual(weft.where(mask, 1, 2.5).numpy().tolist(), [1, 2.5])

    def test_a_full_tensor_holds_its_number(self):
        for value, dtype in ((300, "i8"), (2**40, "i32"), (-1, "u8"), (1e30, "i64")):
            with self.assertRaisesRegex(weft.Error, f"does not fit {dtype}"):
                weft.full(2, value, dtype)
            with self.assertRaisesRegex(weft.Error, f"does not fit {dtype}"):
                weft.ops.full(shape=2, value=value, dtype=dtype)
        with self.assertRaisesRegex(weft.Error, "no double is 9007199254740993"):
            weft.ops.full(shape=2, value=2**53 + 1, dtype="i64")
        for value in (1.5, float("nan")):
            with self.assertRaisesRegex(weft.Error, "cannot be computed with i32"):
                weft.full(2, value, "i32")
        for first, behind, dtype in ((0, 129, "i8"), (-1, 1, "u8")):
            with self.assertRaisesRegex(weft.Error, f"does not fit {dtype}"):
                weft.arange(first, behind, dtype=dtype)
        self.assertEqual(weft.arange(126, 128, dtype="i8").tolist(), [126, 127])
        self.assertEqual(weft.full(2, 2.0, "i32").tolist(), [2, 2])
        self.assertEqual(str(weft.full(1, -0.0).tolist()), "[-0.0]")

    def test_what_does_not_fit_is_refused(self):
        u8, i8 = weft.tensor([1, 2]).astype("u8"), weft.tensor([1, 2]).astype("i8")
        for pattern, run in (
            ("-1 does not fit u8", lambda: u8 + (-1)),
            ("300 does not fit i8", lambda: i8 * 300),
            ("add", lambda: u8 + i8),
        ):
            with self.assertRaisesRegex(weft.Error, pattern):
                run()

    def test_integers_that_are_indices_stay_integers(self):
        x = weft.tensor([1.0, 2.0, 4.0])
        self.assertEqual(
            weft.take(x, weft.tensor([2, 0])).numpy().tolist(), [4, 1]
        )


class LargeIntegers(unittest.TestCase):
    def test_they_keep_their_digits(self):
        for value in (2**63 - 1, -(2**63), 2**53 + 1, np.int64(2**53 + 1)):
            self.assertEqual(weft.full(2, value).tolist(), [value] * 2)
            one = weft.tensor(value)
            for number in (one, weft.Variable(one)):
                self.assertEqual(weft.full(2, number).tolist(), [value] * 2)
            staged = weft.jit(lambda x: weft.full(2, x))
            self.assertEqual(staged(one).tolist(), [value] * 2)
            padded = weft.pad(weft.tensor([5]), (1, 0), value)
            self.assertEqual(padded.tolist(), [value, 5])

    def test_they_keep_their_digits_in_functions(self):
        for value in (2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1):
            plus = weft.jit(lambda x: x + value)
            self.assertEqual(plus(weft.zeros(2, "i64")).tolist(), [value] * 2)

    def test_what_does_not_fit_is_refused(self):
        for value in (1e30, 2.0**63, -1e30):
            with self.assertRaisesRegex(weft.Error, "does not fit i64"):
                weft.tensor(value, dtype="i64")
        self.assertEqual(weft.tensor(-2.0**63, dtype="i64").item(), -2**63)


if __name__ == "__main__":
    unittest.main()
