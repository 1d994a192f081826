"""The example in Python: eagerly, staged, and backward in time."""

import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/l2hmc"))

import l2hmc  # noqa: E402
import weft  # noqa: E402


class L2hmcTest(unittest.TestCase):
    def setUp(self):
        self.sampler = l2hmc.L2hmc()
        self.sampler.initialize(seed=1)

    def test_staged_as_eagerly(self):
        staged = weft.jit(self.sampler.move)
        x = weft.tensor(np.linspace(-2, 2, 12, dtype=np.float32).reshape(6, 2))
        for is_forward in (True, False):
            for i in range(3):
                key = weft.tensor([1, i])
                wanted, wanted_probability = self.sampler.move(
                    x, key, is_forward
                )
                found, probability = staged(x, key, is_forward)
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(
                    probability, wanted_probability, rtol=1e-4, atol=1e-4
                )
                x = wanted
        self.assertEqual(staged.trace_count, 2)

    def test_backward_undoes_forward(self):
        x = weft.tensor([[0.5, -1.0], [2.0, 1.0]])
        start = l2hmc.State(x, weft.normal([1, 7], (2, 2)), weft.zeros((2, 1)))
        state = start
        for step in range(10):
            state = self.sampler.forward(state, step)
        for step in reversed(range(10)):
            state = self.sampler.backward(state, step)
        for found, wanted in zip(state, start):
            np.testing.assert_allclose(found, wanted, atol=1e-3)

    def test_parameters_are_those_of_the_example_in_cpp(self):
        names = sorted(self.sampler.parameters())
        self.assertEqual(len(names), 28)
        self.assertEqual(names[0], "momentum.from_first.bias")


if __name__ == "__main__":
    unittest.main()
