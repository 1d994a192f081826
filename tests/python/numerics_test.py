"""Elementwise ops and casts against NumPy, or C's library where NumPy has none:
NaN, infinities, signed zeros, the smallest and the largest numbers, in every
dtype, eager, staged, and inside of a fused loop."""

import math
import unittest

import numpy as np
from comparing import FLOATS, INTEGERS, Same, bf16, edges, every

import weft

SIGMOID = lambda x: np.where(
    x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x))
)
ERF = np.vectorize(math.erf, otypes=[np.float64])
ERFC = np.vectorize(math.erfc, otypes=[np.float64])
UNARY = {
    "negate": np.negative,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": np.square,
    "tanh": np.tanh,
    "sigmoid": SIGMOID,
    "relu": lambda x: np.where(x < 0, 0, x),
    "gelu": lambda x: 0.5 * x * ERFC(-x * math.sqrt(0.5)),
    "erf": ERF,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "expm1": np.expm1,
    "log1p": np.log1p,
}
PREDICATES = {"is_finite": np.isfinite, "is_nan": np.isnan}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "atan2": np.arctan2,
}
# Those of two operands that are not exact, or round twice.
ROUNDED = {"power", "floor_divide", "remainder", "atan2"}
COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
OF_ONE_INTEGER = {
    "negate",
    "square",
    "abs",
    "bitwise_not",
    "is_finite",
    "is_nan",
}
# Whose results near zero are exact to the precision of 1 only.
SUMS = {"sigmoid", "gelu"}
# IEEE leaves open which zero a maximum of two zeros is.
ANY_ZERO = {"maximum", "minimum"}


class Elementwise(Same):
    def dtypes(self):
        for name, dtype in FLOATS.items():
            yield name, edges(dtype), np.finfo(dtype)
        yield "bf16", bf16(edges(np.float32)), None

    def test_functions_of_one_operand(self):
        for dtype, x, info in self.dtypes():
            eps, least = (
                (2**-7, 2.0**-133)
                if info is None
                else (float(info.eps), float(info.smallest_subnormal))
            )
            for name, expected in UNARY.items():
                slack = eps if name in SUMS else 4 * least
                self.check(
                    name,
                    getattr(weft.ops, name),
                    expected,
                    [x],
                    dtype,
                    near=4 * eps,
                    slack=slack,
                )
            for name, expected in PREDICATES.items():
                self.check(name, getattr(weft.ops, name), expected, [x], dtype)

    def test_functions_of_two_operands(self):
        for dtype, x, info in self.dtypes():
            eps, least = (
                (2**-7, 2.0**-133)
                if info is None
                else (float(info.eps), float(info.smallest_subnormal))
            )
            a, b = (m.ravel().copy() for m in np.meshgrid(x, x))
            for name, expected in BINARY.items():
                near = 4 * eps if name in ROUNDED else 0
                self.check(
                    name,
                    getattr(weft.ops, name),
                    expected,
                    [a, b],
                    dtype,
                    near=near,
                    slack=4 * least if near else 0,
                    zeros=name not in ANY_ZERO,
                )
            for name, expected in COMPARISONS.items():
                self.check(
                    name, getattr(weft.ops, name), expected, [a, b], dtype
                )

    def test_clamp_and_where(self):
        for dtype, x, _ in self.dtypes():
            self.check(
                "clamp",
                lambda t: weft.clip(t, -1.5, 2),
                lambda t: np.clip(t, -1.5, 2),
                [x],
                dtype,
            )
            self.check(
                "where",
                lambda t: weft.where(weft.less(t, 0.5), t, -t),
                lambda t: np.where(t < 0.5, t, -t),
                [x],
                dtype,
            )

    def test_logic_takes_nan_for_true(self):
        x = weft.tensor(np.array([0.0, -0.0, np.nan, np.inf, 1e-45], "f4"))
        expected = [False, False, True, True, True]
        for way, run in every(lambda t: t.cast("bool")).items():
            self.assertEqual(run(x).tolist(), expected, way)

    def test_integers_wrap_around(self):
        for dtype, kind in INTEGERS.items():
            info = np.iinfo(kind)
            x = np.array(
                [
                    info.min,
                    info.min + 1,
                    0,
                    1,
                    2,
                    7,
                    100,
                    127,
                    info.max // 2,
                    info.max - 1,
                    info.max,
                ],
                kind,
            )
            if info.min < 0:
                x = np.concatenate([x, np.array([-1, -2, -100], kind)])
            a, b = (m.ravel().copy() for m in np.meshgrid(x, x))
            with np.errstate(all="ignore"):
                cases = {
                    "add": a + b,
                    "subtract": a - b,
                    "multiply": a * b,
                    "maximum": np.maximum(a, b),
                    "minimum": np.minimum(a, b),
                    "negate": -a,
                    "square": a * a,
                    "abs": np.abs(a),
                    "less": a < b,
                    "equal": a == b,
                    "floor_divide": a // b,
                    "remainder": a % b,
                    "bitwise_and": a & b,
                    "bitwise_or": a | b,
                    "bitwise_xor": a ^ b,
                    "bitwise_not": ~a,
                    "shift_left": a << b,
                    "shift_right": a >> b,
                    "is_finite": np.isfinite(a),
                    "is_nan": np.isnan(a),
                }
            for name, expected in cases.items():
                op = getattr(weft.ops, name)
                operands = [a] if name in OF_ONE_INTEGER else [a, b]
                for way, run in every(op).items():
                    actual = np.asarray(run(*map(weft.tensor, operands)))
                    self.assertTrue(
                        (actual == expected).all(), f"{name} {dtype} {way}"
                    )


class Casts(Same):
    def test_floats_to_integers_truncate_and_saturate(self):
        for source, kind in FLOATS.items():
            with np.errstate(over="ignore"):
                more = np.array(
                    [
                        127.5,
                        128,
                        255.9,
                        256,
                        300,
                        -5,
                        -128.9,
                        -129,
                        32767.5,
                        32768,
                        -0.5,
                        2.0**31,
                        2.0**63,
                    ],
                    np.float64,
                ).astype(kind)
            x = np.concatenate([edges(kind), more])
            for target, to in INTEGERS.items():
                info = np.iinfo(to)
                wide = np.nan_to_num(
                    np.trunc(x.astype(np.float64)),
                    nan=0,
                    posinf=1e300,
                    neginf=-1e300,
                )
                expected = [min(max(int(v), info.min), info.max) for v in wide]
                for way, run in every(lambda t: t.astype(target)).items():
                    self.assertEqual(
                        run(weft.tensor(x)).tolist(),
                        expected,
                        f"{source} to {target} {way}",
                    )

    def test_integers_to_integers_keep_the_low_bits(self):
        for source, kind in INTEGERS.items():
            info = np.iinfo(kind)
            x = np.array(
                [
                    v
                    for v in (
                        0,
                        1,
                        -1,
                        127,
                        128,
                        255,
                        256,
                        300,
                        -129,
                        32768,
                        65535,
                        2**31,
                        -(2**31),
                        2**40 + 7,
                        info.min,
                        info.max,
                    )
                    if info.min <= v <= info.max
                ],
                kind,
            )
            for target, to in INTEGERS.items():
                for way, run in every(lambda t: t.astype(target)).items():
                    actual = np.asarray(run(weft.tensor(x)))
                    self.assertTrue(
                        (actual == x.astype(to)).all(),
                        f"{source} to {target} {way}",
                    )

    def test_between_floats(self):
        for source, kind in FLOATS.items():
            x = np.concatenate(
                [edges(kind), np.linspace(-3, 3, 999).astype(kind)]
            )
            if kind == np.float64:
                # Beside the middle of two halves, nearer than an f32 can be.
                x = np.concatenate([x, 1 + 2.0**-11 + 2.0**-40 * edges(kind)[:5]])
            for target, to in FLOATS.items():
                with np.errstate(all="ignore"):
                    expected = x.astype(to)
                for way, run in every(lambda t: t.cast(target)).items():
                    self.assertSame(
                        run(weft.tensor(x)),
                        expected,
                        f"{source} to {target} {way}",
                        [x],
                    )
            for way, run in every(lambda t: t.cast("bf16")).items():
                actual = run(weft.tensor(x)).cast("f32")
                self.assertSame(
                    actual,
                    bf16(x),
                    f"{source} to bf16 {way}",
                    [x],
                )


if __name__ == "__main__":
    unittest.main()
