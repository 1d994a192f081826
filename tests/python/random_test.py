"""What weft.random draws is distributed as its name says, and follows from the key."""

import math
import unittest

import numpy as np

import weft
from weft import random

COUNT = 40_000
KEY = random.key(7)
# Draws that are as they should be are farther away in one of 1e8 cases, and these
# are always the same.
FAR = 3.2


def drawn(name, *parameters, key=KEY):
    parameters = [np.asarray(p, np.float64) for p in parameters]
    shape = (COUNT,)
    return getattr(random, name)(key, *parameters, shape=shape).numpy()


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gamma_cdf(x, a):
    # A whole a waits for so many events of a Poisson process.
    terms = [x**n / math.factorial(n) for n in range(a)]
    return 1 - np.exp(-x) * sum(terms)


class Distributions(unittest.TestCase):
    def assertContinuous(self, x, cdf):
        """The largest distance of both distributions (Kolmogorov and Smirnov)."""
        x = np.sort(np.asarray(x, np.float64))
        expected, size = cdf(x), len(x)
        above = np.arange(1, size + 1) / size - expected
        below = expected - np.arange(size) / size
        self.assertLess(max(above.max(), below.max()) * math.sqrt(size), FAR)

    def assertDiscrete(self, x, pmf):
        """Each value as often as it should be, and so all others together."""
        size, rest, seen = len(x), 1.0, 0
        for value in range(int(x.min()), int(x.max()) + 1):
            p = pmf(value)
            if size * p < 10:
                continue
            times = int((x == value).sum())
            rest, seen = rest - p, seen + times
            far = 6 * math.sqrt(size * p * (1 - p))
            self.assertLess(abs(times - size * p), far, value)
        rest = max(rest, 0.0)
        self.assertLess(abs(size - seen - size * rest), 6 * math.sqrt(size * rest) + 5)

    def test_of_a_shape_alone(self):
        shape = (COUNT,)
        for name, cdf in {
            "uniform": lambda x: x,
            "normal": normal_cdf,
            "exponential": lambda x: 1 - np.exp(-x),
            "gumbel": lambda x: np.exp(-np.exp(-x)),
            "laplace": lambda x: np.where(x < 0, np.exp(x), 2 - np.exp(-x)) / 2,
            "logistic": lambda x: 1 / (1 + np.exp(-x)),
            "cauchy": lambda x: 0.5 + np.arctan(x) / math.pi,
        }.items():
            for dtype in ("f32", "f64"):
                with self.subTest(name, dtype=dtype):
                    x = getattr(random, name)(KEY, shape, dtype=dtype)
                    self.assertEqual(x.dtype, dtype)
                    with np.errstate(over="ignore"):
                        self.assertContinuous(x, cdf)
        x = random.uniform(KEY, shape, -3.0, 5.0)
        self.assertContinuous(x, lambda x: (x + 3) / 8)
        self.assertDiscrete(random.rademacher(KEY, shape).numpy(), lambda x: abs(x) / 2)

    def test_gamma_and_what_follows_from_it(self):
        for a in (1, 2, 5, 40):
            with self.subTest(a=a):
                self.assertContinuous(drawn("gamma", a), lambda x, a=a: gamma_cdf(x, a))
        # Half a square of a normal number has the parameter 1 / 2.
        half = drawn("gamma", 0.5)
        self.assertContinuous(half, lambda x: 2 * normal_cdf(np.sqrt(2 * x)) - 1)
        self.assertContinuous(drawn("chisquare", 4), lambda x: gamma_cdf(x / 2, 2))
        self.assertContinuous(drawn("beta", 2, 1), lambda x: x**2)
        self.assertContinuous(drawn("beta", 2, 2), lambda x: x * x * (3 - 2 * x))
        self.assertContinuous(drawn("t", 1), lambda x: 0.5 + np.arctan(x) / math.pi)
        self.assertContinuous(
            drawn("t", 2), lambda x: 0.5 + x / (2 * np.sqrt(2 + x * x))
        )
        shares = random.dirichlet(KEY, [1.0, 1.0, 2.0], COUNT).numpy()
        np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-6)
        # Each share by itself is beta with the sum of the others.
        self.assertContinuous(shares[:, 0], lambda x: 1 - (1 - x) ** 3)
        self.assertContinuous(shares[:, 2], lambda x: x * x * (3 - 2 * x))

    def test_counts(self):
        for rate in (0.3, 4.0, 9.9, 10.0, 35.0, 1e4):
            with self.subTest(rate=rate):
                self.assertDiscrete(
                    drawn("poisson", rate),
                    lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)),
                )
        for n, p in ((5, 0.3), (40, 0.1), (40, 0.4), (100, 0.85), (3000, 0.5)):
            with self.subTest(n=n, p=p):
                self.assertDiscrete(
                    drawn("binomial", n, p),
                    lambda k: math.exp(
                        math.log(math.comb(n, k))
                        + k * math.log(p)
                        + (n - k) * math.log(1 - p)
                    ),
                )
        self.assertDiscrete(drawn("geometric", 0.3), lambda k: 0.3 * 0.7 ** (k - 1))
        self.assertDiscrete(
            drawn("bernoulli", 0.2).astype(int), lambda k: (0.8, 0.2)[k]
        )

    def test_vectors_have_their_covariance(self):
        mean, wanted = np.array([1.0, -2.0]), np.array([[2.0, 1.2], [1.2, 3.0]])
        x = random.multivariate_normal(KEY, mean, wanted, COUNT).numpy()
        np.testing.assert_allclose(x.mean(0), mean, atol=0.05)
        np.testing.assert_allclose(np.cov(x.T), wanted, atol=0.1)
        self.assertContinuous((x[:, 1] + 2) / math.sqrt(3), normal_cdf)

    def test_choices(self):
        p = np.array([0.1, 0.0, 0.6, 0.3], np.float32)
        x = weft.tensor([10, 20, 30, 40])
        chosen = random.choice(KEY, x, (COUNT,), p=p).numpy()
        self.assertDiscrete(chosen // 10 - 1, lambda k: float(p[k]))
        self.assertDiscrete(random.choice(KEY, 4, (COUNT,)).numpy(), lambda k: 0.25)
        keys = random.split(KEY, COUNT)
        for weights in (None, np.array([0.2, 0.3, 0.5])):
            apart = random.choice(keys, 3, (2,), replace=False, p=weights).numpy()
            self.assertTrue((apart[:, 0] != apart[:, 1]).all())
            first = (1 / 3,) * 3 if weights is None else weights
            self.assertDiscrete(apart[:, 0], lambda k: float(first[k]))
        self.assertEqual(sorted(random.permutation(KEY, 9).tolist()), list(range(9)))
        rows = random.permutation(KEY, [[1, 2, 3], [4, 5, 6]], axis=1).numpy()
        self.assertEqual((rows[1] - rows[0]).tolist(), [3, 3, 3])
        with self.assertRaisesRegex(weft.Error, "3 elements are fewer than 4 draws"):
            random.choice(KEY, 3, (4,), replace=False)


CALLS = {
    "beta": lambda key: random.beta(key, 0.4, 3.0, (3, 2)),
    "binomial": lambda key: random.binomial(key, [3, 90], [0.4, 0.5], (3, 2)),
    "choice": lambda key: random.choice(key, 9, (3, 2)),
    "gamma": lambda key: random.gamma(key, [0.3, 4.0]),
    "laplace": lambda key: random.laplace(key, (3, 2)),
    "poisson": lambda key: random.poisson(key, [2.0, 70.0], (3, 2)),
    "t": lambda key: random.t(key, 3.0, (3, 2)),
}


class Keys(unittest.TestCase):
    def test_draws_follow_from_the_key(self):
        keys = random.split(KEY, 3)
        for name, draw in CALLS.items():
            with self.subTest(name):
                together = draw(keys).numpy()
                ways = draw, weft.jit(draw)
                for way in ways:
                    for key, expected in zip(keys.tolist(), together):
                        actual = way(weft.tensor(key)).numpy()
                        np.testing.assert_allclose(actual, expected, rtol=2e-6)
                apart = weft.vmap(draw)(keys)
                np.testing.assert_allclose(apart, together, rtol=2e-6)
                self.assertFalse((together[0] == together[1]).all())

    def test_parameters_that_are_none(self):
        rates = [-1.0, math.nan, math.inf, 0.0]
        self.assertEqual(random.poisson(KEY, rates).tolist(), [-1, -1, -1, 0])
        found = random.binomial(
            KEY, [5, 5, 0, -1, 5, 5], [0.0, 1, 0.5, 0.5, 2, math.nan]
        )
        self.assertEqual(found.tolist(), [0, 5, 0, -1, -1, -1])
        self.assertEqual(str(random.gamma(KEY, [0.0, -1.0]).tolist()), "[nan, nan]")
        tries = random.geometric(KEY, [1.0, 0.0, -0.5, 1.5, math.nan])
        self.assertEqual(tries.tolist(), [1, -1, -1, -1, -1])
        with self.assertRaisesRegex(weft.Error, "from 0 to 1, not 1.5"):
            random.bernoulli(KEY, 1.5)

    def test_rejection_tells_that_it_has_no_derivative(self):
        slope = weft.grad(lambda a: random.gamma(KEY, a, (4,)).sum())
        self.assertTrue(math.isnan(slope(weft.tensor(2.0)).item()))
        scaled = weft.grad(lambda s: (s * random.gamma(KEY, 2.0, (4,))).sum())
        expected = random.gamma(KEY, 2.0, (4,)).sum()
        self.assertEqual(scaled(weft.tensor(3.0)).item(), expected.item())


if __name__ == "__main__":
    unittest.main()
