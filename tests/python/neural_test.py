"""Attention, normalisation, convolutions along one axis and back, draws, images of
another size and Fourier transforms, against NumPy.
"""

import unittest

import numpy as np

import weft
from weft import nn


def drawn(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def softmax(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def attended(query, key, value, looks=True, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * query @ np.swapaxes(key, -1, -2)
    return softmax(np.where(looks, scores, -np.inf)) @ value


class Attention(unittest.TestCase):
    def setUp(self):
        self.query = drawn(2, 3, 5, 4, seed=1)
        self.key = drawn(2, 3, 7, 4, seed=2)
        self.value = drawn(2, 3, 7, 6, seed=3)

    def check(self, expected, **options):
        for attention in (weft.attention, weft.jit(weft.attention)):
            actual = attention(self.query, self.key, self.value, **options)
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)

    def test_equals_its_definition(self):
        operands = self.query, self.key, self.value
        self.check(attended(*operands))
        self.check(attended(*operands, scale=0.3), scale=0.3)

    def test_causal(self):
        looks = np.tril(np.ones((5, 7), bool))
        self.check(
            attended(self.query, self.key, self.value, looks), causal=True
        )

    def test_mask(self):
        looks = np.array([1, 0, 1, 1, 0, 1, 0], bool)
        operands = self.query, self.key, self.value
        expected = attended(*operands, looks)
        actual = weft.attention(*operands, mask=looks)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)

    def test_gradient(self):
        # Softmax of equal scores: each value has an equal share.
        query = np.zeros((1, 4), np.float32)
        value = drawn(3, 4)
        gradient = weft.grad(
            lambda v: weft.attention(query, drawn(3, 4, seed=2), v).sum()
        )(weft.tensor(value))
        np.testing.assert_allclose(gradient, np.full((3, 4), 1 / 3), rtol=1e-5)

    def test_refuses_a_mask_of_numbers(self):
        with self.assertRaisesRegex(weft.InvalidArgument, "not bool"):
            weft.attention(
                self.query, self.key, self.value, mask=np.zeros(7, np.float32)
            )


if __name__ == "__main__":
    unittest.main()
