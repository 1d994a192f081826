"""What tests against NumPy share: special numbers, and when results agree."""

import math
import os
import unittest
import warnings
from operator import attrgetter

import numpy as np

import weft

# How many times the usual number of seeds tests try, and the first of them.
ROUNDS = int(os.environ.get("WEFT_TEST_ROUNDS", "1"))
FIRST = int(os.environ.get("WEFT_TEST_SEED", "0"))
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
INTEGERS = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


def seeds(count):
    return range(FIRST, FIRST + count * ROUNDS)


def same(actual, expected, near=0.0):
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        good = (actual == expected) | (
            (actual != actual) & (expected != expected)
        )
        if near:
            gap = np.abs(actual.astype(float) - expected.astype(float))
            good |= gap <= near * (1 + np.abs(expected.astype(float)))
    return bool(good.all())


def bf16(array):
    """Numbers rounded to what bf16 holds, as f32."""
    array = np.ascontiguousarray(array)
    with np.errstate(all="ignore"):
        bits = array.astype(np.float32).view(np.uint32)
        if array.dtype == np.float64:
            # Rounded to f32 first, what lies beside a tie would be one: an odd
            # last bit keeps it apart.
            nearest = bits.view(np.float32).astype(np.float64)
            bits = bits - (np.abs(nearest) > np.abs(array)).astype(np.uint32)
            bits = bits | (nearest != array).astype(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    rounded = rounded.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(array), array, rounded).astype(np.float32)


def edges(dtype):
    """What something can go wrong with, of both signs."""
    info = np.finfo(dtype)
    values = [0, 1, 0.5, 1.5, 2, 7.25, 11, 87.9, 88.8, 104.5, 709, 746, 3e4]
    values += [info.tiny, info.tiny / 4, info.smallest_subnormal, info.max]
    values += [1 + info.eps, 1e9, 1e30, math.inf, math.nan]
    with np.errstate(over="ignore"):
        half = np.array(values, dtype)
    return np.concatenate([half, -half])


def every(function):
    """The function eagerly, staged, and with neighbours in its loop."""
    twice = weft.jit(
        lambda *xs: weft.where(
            weft.equal(xs[0], xs[0]), function(*xs), function(*xs)
        )
    )
    return {"eager": function, "staged": weft.jit(function), "fused": twice}


def specials(shape, seed, count=3, dtype=np.float32):
    """Numbers in [-2, 2], among them some NaN, infinities and zeros."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, shape).astype(dtype)
    flat = x.reshape(-1)
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    for _ in range(count):
        flat[random.integers(flat.size)] = values[random.integers(5)]
    return x


class Same(unittest.TestCase):
    def assertSame(
        self,
        actual,
        expected,
        what,
        operands=(),
        near=0.0,
        zeros=True,
        slack=0.0,
    ):
        """NaN, infinities and the signs of zeros agree; the rest is near."""
        actual = np.asarray(actual, np.float64)
        expected = np.asarray(expected, np.float64)
        self.assertEqual(actual.shape, expected.shape, what)
        with np.errstate(invalid="ignore"):
            gap = np.abs(actual - expected)
            good = (actual == expected) | (
                gap <= near * np.abs(expected) + slack
            )
        good &= np.isfinite(actual) == np.isfinite(expected)
        good |= np.isnan(actual) & np.isnan(expected)
        good |= actual == expected
        if zeros:
            good &= (
                (expected != 0)
                | (actual != 0)
                | (np.signbit(actual) == np.signbit(expected))
            )
        if good.all():
            return
        at = tuple(np.argwhere(~good)[0])
        of = [np.asarray(x)[at] for x in operands]
        self.fail(f"{what}: {actual[at]}, not {expected[at]}, of {of} at {at}")

    def check(self, name, function, numpy_function, operands, dtype, **options):
        """`operands` are NumPy's; bf16 is given as f32 that it can hold."""
        wide = [np.asarray(x, np.float64) for x in operands]
        with np.errstate(all="ignore"):
            expected = numpy_function(*wide)
            if dtype == "bf16":
                expected = bf16(expected)
            elif expected.dtype != bool:
                expected = expected.astype(FLOATS[dtype])
        tensors = [weft.tensor(x).cast(dtype) for x in operands]
        for way, run in every(function).items():
            result = run(*tensors)
            if result.dtype != "bool":
                result = result.cast("f64")
            self.assertSame(
                result, expected, f"{name} {dtype} {way}", operands, **options
            )


class LikeNumPy(unittest.TestCase):
    """A function of weft and NumPy's of that name say the same, also when staged."""

    def assertLike(self, name, *arguments, reference=None, near=2e-6, **options):
        reference = reference or attrgetter(name)(np)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = reference(*arguments, **options)
        function = attrgetter(name)(weft)
        tensors = [as_tensors(each) for each in arguments]
        holes = [i for i, x in enumerate(tensors) if isinstance(x, weft.Tensor)]

        def staged(*values):
            filled = list(tensors)
            for place, value in zip(holes, values):
                filled[place] = value
            return function(*filled, **options)

        ways = {"eager": function(*tensors, **options)}
        ways["staged"] = weft.jit(staged)(*[tensors[i] for i in holes])
        for way, actual in ways.items():
            with self.subTest(name, way=way, **options):
                self.assertAgree(actual, expected, near)

    def assertAgree(self, actual, expected, near):
        if isinstance(expected, (list, tuple)):
            self.assertEqual(len(actual), len(expected))
            for each, other in zip(actual, expected):
                self.assertAgree(each, other, near)
            return
        self.assertEqual(actual.shape, np.shape(expected))
        actual, expected = (
            np.asarray(x).astype(np.float64) for x in (actual, expected)
        )
        np.testing.assert_allclose(actual, expected, rtol=near, atol=near)


def as_tensors(argument):
    """Arrays, and lists of them, as tensors; all else as it is."""
    if isinstance(argument, np.ndarray):
        return weft.tensor(argument)
    is_list = isinstance(argument, list) and len(argument) > 0
    is_arrays = is_list and isinstance(argument[0], np.ndarray)
    return [weft.tensor(x) for x in argument] if is_arrays else argument
