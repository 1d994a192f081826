"""Attention, normalisation, convolutions along one axis and back, draws, images of
another size, Fourier transforms and factors of matrices, against NumPy.
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


class Layers(unittest.TestCase):
    def test_multi_head_attention(self):
        layer = nn.MultiHeadAttention(8, 2, causal=True)
        layer.initialize(1)
        p = {k: v.numpy() for k, v in layer.parameters().items()}
        x = drawn(2, 5, 8)

        def heads(name):
            rows = x @ p[name + ".weight"] + p[name + ".bias"]
            return rows.reshape(2, 5, 2, 4).transpose(0, 2, 1, 3)

        looks = np.tril(np.ones((5, 5), bool))
        y = attended(heads("query"), heads("key"), heads("value"), looks)
        y = y.transpose(0, 2, 1, 3).reshape(2, 5, 8)
        expected = y @ p["out.weight"] + p["out.bias"]
        np.testing.assert_allclose(layer(x), expected, rtol=1e-4, atol=1e-5)

    def test_attention_to_a_context(self):
        layer = nn.MultiHeadAttention(8, 4)
        layer.initialize(1)
        x, context = drawn(2, 3, 8), drawn(2, 6, 8, seed=2)
        mask = np.arange(6) < 4
        some = layer(x, context, mask)
        first = layer(x, context[:, :4])
        np.testing.assert_allclose(some, first, rtol=1e-4, atol=1e-5)

    def test_norms(self):
        x = drawn(2, 3, 3, 4)
        rms, group = nn.RmsNorm(4), nn.GroupNorm(2, 4)
        rms.initialize(1)
        group.initialize(1)
        root = np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(rms(x), x / root, rtol=1e-4, atol=1e-5)
        parts = x.reshape(2, 9, 2, 2)
        centred = parts - parts.mean(axis=(1, 3), keepdims=True)
        variance = (centred**2).mean(axis=(1, 3), keepdims=True)
        expected = (centred / np.sqrt(variance + 1e-5)).reshape(x.shape)
        np.testing.assert_allclose(group(x), expected, rtol=1e-4, atol=1e-4)

    def test_convolutions(self):
        line = nn.Conv1d(3, 5, 3, stride=2)
        back = nn.ConvTranspose2d(3, 5, 3, stride=2, padding=1, output_padding=1)
        line.initialize(1)
        back.initialize(1)
        self.assertEqual(line(drawn(2, 7, 3)).shape, (2, 4, 5))
        self.assertEqual(back(drawn(2, 4, 6, 3)).shape, (2, 8, 12, 5))


class Draws(unittest.TestCase):
    def test_randint(self):
        x = weft.randint([1, 2], 1000, -2, 3).numpy()
        self.assertEqual(x.dtype, np.int64)
        self.assertEqual(sorted(set(x)), [-2, -1, 0, 1, 2])

    def test_categorical(self):
        logits = np.array([[0, 100, 0], [100, 0, 0]], np.float32)
        self.assertEqual(weft.categorical([1, 2], logits).tolist(), [1, 0])

    def test_split_key(self):
        keys = weft.split_key([1, 2], 3)
        self.assertEqual(keys.shape, (3, 2))
        a, b = (weft.uniform(keys[i], 8).tolist() for i in (0, 1))
        self.assertNotEqual(a, b)


class Images(unittest.TestCase):
    def test_resize(self):
        x = np.array([0, 4], np.float32).reshape(1, 1, 2, 1)
        y = weft.ops.resize(x, size=(1, 4))
        self.assertEqual(y.numpy().ravel().tolist(), [0, 1, 3, 4])
        z = weft.ops.resize(x, size=(1, 4), method="nearest")
        self.assertEqual(z.numpy().ravel().tolist(), [0, 0, 4, 4])

    def test_nms(self):
        boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 1.5], [5, 5, 6, 6]], "f4")
        scores = np.array([0.5, 0.9, 0.1], "f4")
        indices, count = weft.ops.nms(boxes, scores, threshold=0.5, most=3)
        self.assertEqual(indices.tolist(), [1, 2, -1])
        self.assertEqual(count.item(), 2)


class Fourier(unittest.TestCase):
    def test_equals_numpy(self):
        for size in (1, 6, 64, 97, 210):
            x = drawn(3, size)
            expected = np.fft.rfft(x)
            real, imaginary = weft.ops.rfft(x)
            np.testing.assert_allclose(real, expected.real, atol=1e-4)
            np.testing.assert_allclose(imaginary, expected.imag, atol=1e-4)
            back = weft.ops.irfft(real, imaginary, size=size)
            np.testing.assert_allclose(back, x, atol=1e-5)


class Factors(unittest.TestCase):
    def setUp(self):
        self.x = drawn(2, 4, 4)
        self.definite = self.x @ self.x.transpose(0, 2, 1) + np.eye(4, dtype="f4")

    def check(self, actual, expected):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)

    def test_cholesky(self):
        factor = weft.ops.cholesky(self.definite)
        self.check(factor, np.linalg.cholesky(self.definite))
        solved = weft.ops.triangular_solve(factor, self.x)
        self.check(factor @ solved, self.x)

    def test_eigh(self):
        values, vectors = weft.ops.eigh(self.definite)
        self.check(values, np.linalg.eigvalsh(self.definite))
        self.check(self.definite @ vectors.numpy(), vectors * values[:, None])

    def test_svd_and_qr(self):
        tall = drawn(2, 5, 3)
        u, s, vt = weft.ops.svd(tall)
        self.check(s, np.linalg.svd(tall)[1])
        self.check((u * s[:, None]) @ vt, tall)
        q, r = weft.ops.qr(tall)
        self.check(q @ r, tall)


if __name__ == "__main__":
    unittest.main()
