"""Quantization and products of small integers against NumPy."""

import unittest

import numpy as np

import weft


def quantized(x, scale, zero, dtype):
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min,
                   limits.max).astype(dtype)


class Quantization(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def test_a_scale_for_each_channel(self):
        x = self.random.normal(0, 3, (4, 5, 6)).astype(np.float32)
        scale = self.random.uniform(0.01, 0.1, 5).astype(np.float32)
        for dtype, name in (np.int8, "i8"), (np.uint8, "u8"):
            zero = self.random.integers(0, 100, 5).astype(dtype)
            y = weft.ops.quantize(x, scale, zero, axis=1, dtype=name)
            wide = (5, 1)
            expected = quantized(x, scale.reshape(wide), zero.reshape(wide),
                                 dtype)
            np.testing.assert_array_equal(np.asarray(y), expected)
            np.testing.assert_array_equal(
                np.asarray(weft.ops.dequantize(y, scale, zero, axis=1)),
                (expected.astype(np.float32) - zero.reshape(wide))
                * scale.reshape(wide))

    def test_a_quantized_product_is_near_the_product(self):
        a = self.random.uniform(0, 1, (32, 64)).astype(np.float32)
        b = self.random.normal(0, 1, (64, 16)).astype(np.float32)
        scale_a = np.float32(1 / 255)
        scale_b = (abs(b).max(0) / 127).astype(np.float32)

        @weft.jit
        def product(a, b):
            integers = weft.ops.integer_matmul(
                weft.ops.quantize(a, scale_a, dtype="u8"),
                weft.ops.quantize(b, scale_b))
            return weft.ops.dequantize(integers, scale_a * scale_b)

        np.testing.assert_allclose(np.asarray(product(a, b)), a @ b, atol=0.2)

    def test_integer_products_are_exact(self):
        a = self.random.integers(0, 256, (3, 20, 70)).astype(np.uint8)
        b = self.random.integers(-128, 128, (70, 33)).astype(np.int8)
        y = np.asarray(weft.ops.integer_matmul(a, b))
        self.assertEqual(y.dtype, np.int32)
        np.testing.assert_array_equal(y, a.astype(int) @ b.astype(int))


if __name__ == "__main__":
    unittest.main()
