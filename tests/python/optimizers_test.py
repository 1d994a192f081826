"""The optimizers, with random settings, against their formulas in NumPy. A
failure names its seed (comparing.py)."""

import unittest

import numpy as np
from comparing import same, seeds

import weft


def momentum(o, p, g, s, t, look_ahead=False):
    g = g + o["weight_decay"] * p
    s["v"] = o.get("momentum", 0) * s.get("v", 0) + g
    return p - o["lr"] * (g + o["momentum"] * s["v"] if look_ahead else s["v"])


def adam(o, p, g, s, t, decoupled=False):
    if decoupled:
        p = p - o["lr"] * o["weight_decay"] * p
    else:
        g = g + o["weight_decay"] * p
    s["m"] = o["beta1"] * s.get("m", 0) + (1 - o["beta1"]) * g
    s["v"] = o["beta2"] * s.get("v", 0) + (1 - o["beta2"]) * g * g
    m = s["m"] / (1 - o["beta1"] ** t)
    v = s["v"] / (1 - o["beta2"] ** t)
    return p - o["lr"] * m / (np.sqrt(v) + o["epsilon"])


def adagrad(o, p, g, s, t):
    g = g + o["weight_decay"] * p
    s["s"] = s.get("s", 0) + g * g
    return p - o["lr"] * g / (np.sqrt(s["s"]) + o["epsilon"])


def rmsprop(o, p, g, s, t):
    g = g + o["weight_decay"] * p
    s["s"] = o["beta2"] * s.get("s", 0) + (1 - o["beta2"]) * g * g
    s["b"] = o["momentum"] * s.get("b", 0) + g / (
        np.sqrt(s["s"]) + o["epsilon"]
    )
    return p - o["lr"] * s["b"]


RULES = {
    "sgd": (momentum, "weight_decay"),
    "momentum": (momentum, "momentum weight_decay"),
    "nesterov": (
        lambda *a: momentum(*a, look_ahead=True),
        "momentum weight_decay",
    ),
    "adam": (adam, "beta1 beta2 epsilon weight_decay"),
    "adamw": (
        lambda *a: adam(*a, decoupled=True),
        "beta1 beta2 epsilon weight_decay",
    ),
    "adagrad": (adagrad, "epsilon weight_decay"),
    "rmsprop": (rmsprop, "beta2 epsilon momentum weight_decay"),
}
DRAWS = {
    "weight_decay": lambda r: float(r.choice([0.0, r.uniform(0, 0.1)])),
    "momentum": lambda r: float(r.uniform(0.1, 0.95)),
    "beta1": lambda r: float(r.uniform(0.1, 0.95)),
    "beta2": lambda r: float(r.uniform(0.5, 0.999)),
    "epsilon": lambda r: float(10 ** r.uniform(-8, -3)),
}


def followed(rule, options, start, target, steps):
    """Where the formula leads in f64, and how far the answer of f32 may be off:
    what divides by the size of gradients makes much of their rounding where
    they vanish, as it does of some bits that are turned at random."""

    def run(turned=None):
        p, state = start, {}
        for t in range(1, steps + 1):
            g = p - target
            if turned is not None:
                g = g + turned.normal(size=g.shape) * 2e-7 * (1 + np.abs(p))
            p = rule(options, p, g, state, t)
        return p

    expected = run()
    spread = max(
        np.abs(run(np.random.default_rng(n)) - expected).max()
        for n in range(8)
    )
    return expected, 2e-5 + 4 * spread


class Optimizers(unittest.TestCase):
    def test_follow_their_formulas(self):
        for seed in seeds(6):
            for name, (rule, options) in RULES.items():
                random = np.random.default_rng([seed, len(name)])
                chosen = {o: DRAWS[o](random) for o in options.split()}
                lr = float(10 ** random.uniform(-3, -1))
                target = random.normal(size=7)
                start = random.normal(size=7)
                goal = weft.tensor(target.astype(np.float32))
                expected, tolerance = followed(
                    rule,
                    {**chosen, "lr": lr},
                    start.astype(np.float32).astype(float),
                    target.astype(np.float32).astype(float),
                    20,
                )

                for staged in (False, True):
                    p = weft.Variable(start.astype(np.float32))
                    optimizer = getattr(weft.optim, name)([p], lr, **chosen)

                    def step():
                        value = p.read()
                        optimizer.update([value - goal])

                    run = weft.jit(step) if staged else step
                    for _ in range(20):
                        run()
                    self.assertTrue(
                        same(p.read(), expected, tolerance),
                        f"{name}, seed {seed}, staged {staged}, {chosen}:\n"
                        f"{p.read().numpy()}\nnot\n{expected}",
                    )

    def test_wrappers_go_around_them(self):
        p = weft.Variable(np.zeros(2, np.float32))
        optimizer = weft.optim.sgd(
            [p], 1.0, wrap=["clip_value(0.5)", "accumulate(2)"]
        )
        for gradient in ([0, 0], [4, -0.5]):
            optimizer.update([weft.tensor(gradient, "f32")])
        np.testing.assert_allclose(p.read().numpy(), [-0.5, 0.25])
        self.assertEqual(
            [name.split(".")[-1] for name in optimizer.slots()],
            ["accumulated"],
        )
        with self.assertRaisesRegex(weft.Error, "did you mean 'lookahead'"):
            weft.optim.sgd([p], wrap=["lookahed"])


class Refusals(unittest.TestCase):
    def test_clipped_gradients_keep_their_names(self):
        p = {"w": weft.Variable([1.0, 1.0]), "b": weft.Variable([0.0, 0.0])}
        optimizer = weft.optim.sgd(p, lr=1.0)
        gradients = weft.grad(
            lambda: (p["w"] + p["b"] * 100.0).sum(), wrt=p
        )()
        clipped = weft.optim.clip_by_global_norm(gradients, 1e9)
        self.assertEqual(list(clipped), ["w", "b"])
        optimizer.update(clipped)
        self.assertEqual(p["w"].tolist(), [0, 0])
        self.assertEqual(p["b"].tolist(), [-100, -100])

    def test_no_gradients_are_clipped_to_none(self):
        for none in ([], {}, ()):
            self.assertEqual(weft.optim.clip_by_global_norm(none, 1.0), none)

    def test_names_want_names(self):
        p = {"w": weft.Variable([1.0]), "b": weft.Variable([0.0])}
        optimizer = weft.optim.sgd(p.values(), lr=1.0)
        with self.assertRaisesRegex(weft.Error, "the variables have none"):
            optimizer.update({"b": weft.ones(1), "w": weft.ones(1)})

    def test_a_refused_step_changes_nothing(self):
        v = weft.Variable([1.0, 2.0, 3.0], name="v")
        for name in ("sgd", "adam"):
            optimizer = getattr(weft.optim, name)([v], lr=1.0)
            for wrong in (weft.ones((2, 3)), np.ones(3)):
                with self.assertRaisesRegex(weft.Error, "gradient of 'v' is"):
                    optimizer.update([wrong])
            self.assertEqual(optimizer.step.item(), 0)
        self.assertEqual(v.tolist(), [1, 2, 3])

    def test_only_f32(self):
        for dtype in ("f64", "f16"):
            v = weft.Variable(weft.zeros(2, dtype), name="v")
            with self.assertRaisesRegex(weft.Error, f"'v' is {dtype}"):
                weft.optim.lion([v])


class Schedules(unittest.TestCase):
    def test_rates_of_a_run(self):
        rate = weft.optim.schedule("cosine(from=0.1, to=0.0, warmup=10)",
                                   steps=110)
        self.assertAlmostEqual(rate(9), 0.1, 6)
        self.assertAlmostEqual(rate(109), 0.0, 6)
        self.assertAlmostEqual(rate(60), 0.05, 2)
        self.assertIn("cosine", repr(rate))
        self.assertIn("constant", weft.optim.schedules())
        with self.assertRaisesRegex(weft.Error, "cosin"):
            weft.optim.schedule("cosin(from=1)", steps=3)
        with self.assertRaisesRegex(weft.Error, "no step -1"):
            rate(-1)
        with self.assertRaisesRegex(weft.Error, "one at least"):
            weft.optim.schedule("constant", steps=0)
        optimizer = weft.optim.sgd([weft.Variable([1.0])], lr=1.0)
        optimizer.learning_rate.assign(rate(0))
        optimizer.update([weft.tensor([1.0])])


if __name__ == "__main__":
    unittest.main()
