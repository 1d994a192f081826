"""What JAX makes of many functions, and what weft does, in f64.

bench/reference/make_transforms.py has stored JAX's numbers, transformed.py has
the functions, written once for both.
"""

import json
import sys
import unittest
from pathlib import Path

import numpy as np

import weft

REFERENCE = Path(__file__).resolve().parents[2] / "bench" / "reference"
sys.path.insert(0, str(REFERENCE))

from transformed import FUNCTIONS, INSTANCES, weft_names  # noqa: E402


def tensors(arrays):
    return tuple(weft.tensor(array) for array in arrays)


def results(case, names):
    """What each way gives, eagerly and staged."""

    def f(*xs):
        return case.function(names, *xs)

    xs, many = tensors(case.arguments()), tensors(case.arguments((INSTANCES,)))
    tangents = tensors(case.tangents())
    seed = weft.tensor(case.seed(f(*xs).numpy()))
    slope = weft.grad(lambda *xs: (f(*xs) * seed).sum(), tuple(range(len(xs))))
    ways = {
        "value": (f, xs),
        "jvp": (lambda *xs: weft.jvp(f, xs, tangents)[1], xs),
        "vjp": (lambda *xs: weft.vjp(f, *xs)[1](seed), xs),
        "hessian": (lambda *xs: weft.jvp(slope, xs, tangents)[1], xs),
        "vmap": (weft.vmap(f), many),
        "vmap of grad": (weft.vmap(slope), many),
    }
    for way in case.ways:
        function, arguments = ways[way]
        yield way, "eager", function(*arguments)
        yield way, "staged", weft.jit(function)(*arguments)


def flat(result):
    leaves = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(leaf.numpy()) for leaf in leaves])


class AgainstJax(unittest.TestCase):
    def test_all_ways_of_all_functions(self):
        stored = json.loads((REFERENCE / "transforms.json").read_text())
        self.assertEqual(stored["functions"].keys(), FUNCTIONS.keys())
        names = weft_names()
        for name, case in FUNCTIONS.items():
            expected = stored["functions"][name]
            self.assertEqual(tuple(expected), case.ways, name)
            for way, mode, got in results(case, names):
                with self.subTest(name, way=way, mode=mode):
                    np.testing.assert_allclose(
                        flat(got), expected[way], rtol=1e-11, atol=1e-13
                    )


if __name__ == "__main__":
    unittest.main()
