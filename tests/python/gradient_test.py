"""Gradients, layers and optimizers from Python."""

import unittest

import numpy as np

import weft


class Gradients(unittest.TestCase):
    def test_first_and_second_derivative(self):
        square = lambda x: x * x
        self.assertEqual(weft.grad(square)(3.0).item(), 6)
        self.assertEqual(weft.grad(weft.grad(square))(3.0).item(), 2)
        self.assertEqual(
            weft.jit(weft.grad(weft.grad(square)))(weft.tensor(3.0)).item(), 2
        )
        self.assertEqual(weft.grad(weft.grad(weft.jit(square)))(3.0).item(), 2)

    def test_structures(self):
        def loss(parameters, x):
            return ((x * parameters["w"] + parameters["b"][0]) ** 2).sum()

        parameters = {
            "w": weft.tensor([1.0, 2.0]),
            "b": [weft.tensor(0.5)],
            "name": "n",
        }
        x = weft.tensor([3.0, 4.0])
        value, grads = weft.value_and_grad(loss)(parameters, x)
        self.assertAlmostEqual(value.item(), 3.5**2 + 8.5**2, places=4)
        self.assertEqual(grads["w"].tolist(), [21, 68])
        self.assertEqual(grads["b"][0].item(), 24)
        self.assertIsNone(grads["name"])
        _, (first, second) = weft.value_and_grad(loss, argnums=(0, 1))(
            parameters, x
        )
        self.assertEqual(first["w"].tolist(), [21, 68])
        self.assertEqual(second.tolist(), [7, 34])

    def test_stop_gradient_is_a_constant(self):
        loss = lambda x: (x * weft.stop_gradient(x * x)).sum()
        branch = lambda x: weft.cond(
            x > 1.0, lambda x: x * weft.stop_gradient(x * x), weft.exp, x
        )
        loop = lambda x: weft.while_loop(
            lambda c: c[0] < 1,
            lambda c: (c[0] + 1, c[1] * weft.stop_gradient(c[1] * x)),
            (0, x),
        )[1]

        def scan(x):
            def body(y, row):
                y = y * weft.stop_gradient(y) * row
                return y, y

            return weft.scan(body, x, weft.ones(2))[0]

        slopes = {loss: 9.0, branch: 9.0, loop: 9.0, scan: 3.0 * 9.0}
        for function, slope in slopes.items():
            for way in (
                weft.grad(function),
                weft.jit(weft.grad(function)),
                weft.grad(weft.jit(function)),
            ):
                self.assertEqual(way(weft.tensor(3.0)).item(), slope)
        # Twice: of x * c, where c is x² at that place, nothing is left.
        second = weft.grad(weft.grad(loss))
        self.assertEqual(second(weft.tensor(3.0)).item(), 0.0)

    def test_integers_have_none(self):
        self.assertIsNone(
            weft.grad(lambda n, x: x * 2, argnums=0)(3, weft.tensor(1.0))
        )

    def test_further_results(self):
        (value, extra), grads = weft.value_and_grad(lambda x: (x * x, "extra"))(
            2.0
        )
        self.assertEqual((value.item(), extra, grads.item()), (4, "extra", 4))

    def test_only_of_numbers(self):
        with self.assertRaisesRegex(weft.Error, r"returned f32\[2\]"):
            weft.grad(lambda x: x)(weft.ones(2))

    def test_tape(self):
        x = weft.tensor(3.0)
        v = weft.Variable(2.0)
        with weft.Tape() as tape:
            tape.watch(x)
            y = x * x * v
        dx, [dv] = tape.gradient(y, (x, [v]))
        self.assertEqual((dx.item(), dv.item()), (12, 9))
        with self.assertRaisesRegex(weft.Error, "already"):
            tape.gradient(y, x)

    def test_tapes_nest(self):
        x = weft.tensor(3.0)
        with weft.Tape() as outer:
            outer.watch(x)
            with weft.Tape() as inner:
                inner.watch(x)
                y = x * x * x
            first = inner.gradient(y, x)
        self.assertEqual(
            (first.item(), outer.gradient(first, x).item()), (27, 18)
        )

    def test_persistent_tape(self):
        v = weft.Variable(2.0)
        with weft.Tape(persistent=True) as tape:
            y = v * v
        self.assertEqual([tape.gradient(y, v).item() for _ in range(2)], [4, 4])

    def test_a_failing_block_ends_its_tape(self):
        with self.assertRaises(ZeroDivisionError):
            with weft.Tape():
                1 / 0
        self.assertEqual(weft.grad(lambda x: x * x)(3.0).item(), 6)

    def test_through_staged_functions(self):
        w = weft.Variable([[1.0], [2.0]])
        staged = weft.jit(lambda x: weft.tanh(x @ w).sum())
        x = np.ones((3, 2), np.float32)
        eager = weft.grad(lambda x: weft.tanh(x @ w).sum(), wrt=w)(x)
        np.testing.assert_allclose(
            weft.grad(staged, wrt=w)(x), eager, rtol=1e-6
        )

    def test_against_differences(self):
        rng = np.random.default_rng(1)
        x = rng.uniform(0.5, 1.5, (2, 3))
        functions = {
            "softmax": lambda t: (weft.softmax(t) ** 2).sum(),
            "indexing": lambda t: (t[0, 1:] * t[1, :-1]).sum(),
            "concat": lambda t: weft.concatenate([t * t, t], 1).mean(),
            "max": lambda t: weft.max(t, axis=1).sum(),
        }
        for name, f in functions.items():
            found = np.asarray(weft.grad(f)(x))
            for at in np.ndindex(x.shape):
                step = np.zeros_like(x)
                step[at] = 1e-6
                wanted = (
                    f(weft.tensor(x + step)) - f(weft.tensor(x - step))
                ).item() / 2e-6
                self.assertAlmostEqual(found[at], wanted, places=6, msg=name)


class Classifier(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = weft.nn.Linear(2, 16)
        self.out = weft.nn.Linear(16, 2)
        self.scale = self.parameter("scale", (), init="constant", scale=1.0)

    def __call__(self, x):
        return self.out(weft.tanh(self.hidden(x))) * self.scale


class Layers(unittest.TestCase):
    def test_modules_of_python(self):
        model = Classifier()
        model.initialize(seed=1)
        self.assertEqual(
            sorted(model.parameters()),
            ["hidden.bias", "hidden.weight", "out.bias", "out.weight", "scale"],
        )
        self.assertEqual(model.parameter_count, 2 * 16 + 16 + 16 * 2 + 2 + 1)
        self.assertEqual(model(weft.ones((5, 2))).shape, (5, 2))

    def test_needs_values(self):
        with self.assertRaisesRegex(weft.Error, "initialize"):
            weft.nn.Linear(2, 3)(weft.ones((1, 2)))

    def test_linear_is_what_it_says(self):
        layer = weft.nn.Linear(2, 3)
        layer.initialize(seed=2)
        x = np.array([[1.0, 2.0]], np.float32)
        w, b = layer.parameters()["weight"], layer.parameters()["bias"]
        np.testing.assert_allclose(
            layer(x), x @ w.numpy() + b.numpy(), rtol=1e-6
        )

    def test_sequential_trains(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(64, 2)).astype(np.float32)
        labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
        for optimizer_name in ("adam", "momentum"):
            model = Classifier()
            model.initialize(seed=1)
            make = getattr(weft.optim, optimizer_name)
            optimizer = make(model.parameters(trainable_only=True), lr=0.05)

            def loss_of(x, labels):
                return weft.cross_entropy(model(x), labels).mean()

            def step(x, labels):
                loss, grads = weft.value_and_grad(loss_of, wrt=model)(x, labels)
                optimizer.update(grads)
                return loss

            staged = weft.jit(step)
            first = step(weft.tensor(x), weft.tensor(labels)).item()
            for _ in range(150):
                last = staged(x, labels).item()
            self.assertLess(last, first / 3)
            self.assertEqual(optimizer.step.item(), 151)
            self.assertEqual(staged.trace_count, 1)

    def test_averages_stand_in_for_variables(self):
        v = weft.Variable([1.0, -2.0], name="v")
        averaged = weft.optim.sgd({"v": v}, lr=0.1, wrap=["ema(0.5)"])
        step = weft.jit(lambda: averaged.update({"v": weft.tensor([1.0, 2.0])}))
        for _ in range(2):
            step()
        np.testing.assert_allclose(v.numpy(), [0.8, -2.4], rtol=1e-6)
        # The later iterate weighs twice as much.
        np.testing.assert_allclose(
            averaged.used()["v"].numpy(), [2.5 / 3, -7 / 3], rtol=1e-6
        )
        plain = weft.optim.sgd([v], lr=0.1)
        self.assertEqual(len(plain.used()), 1)
        np.testing.assert_array_equal(plain.used()[0].numpy(), v.numpy())

    def test_eager_and_staged_updates_agree(self):
        def run(wrap):
            v = weft.Variable([1.0, -2.0], name="v")
            optimizer = weft.optim.adamw({"v": v}, lr=0.1)
            step = wrap(
                lambda: optimizer.update(
                    weft.grad(lambda: (v * v).sum(), wrt={"v": v})()
                )
            )
            for _ in range(5):
                step()
            return v.numpy().copy(), optimizer.learning_rate

        eager, _ = run(lambda f: f)
        staged, rate = run(weft.jit)
        np.testing.assert_allclose(eager, staged, rtol=1e-6)
        self.assertAlmostEqual(rate.item(), 0.1, places=6)

    def test_unknown_option(self):
        with self.assertRaisesRegex(weft.Error, "momentum"):
            weft.optim.momentum([], momentun=0.9)

    def test_batch_norm_keeps_statistics(self):
        layer = weft.nn.BatchNorm(3)
        layer.initialize(seed=1)
        weft.jit(lambda x: layer(x))(weft.ones((4, 3)) * 5)
        np.testing.assert_allclose(
            layer.parameters()["running_mean"].numpy(), [0.5] * 3, rtol=1e-5
        )
        layer.train(False)
        self.assertFalse(layer.is_training)

    def test_dropout_needs_a_key(self):
        layer = weft.nn.Dropout(0.5)
        with self.assertRaises(weft.Error):
            layer(weft.ones(10))
        with weft.nn.random_key([1, 0]):
            kept = layer(weft.ones(1000)).mean().item()
        self.assertAlmostEqual(kept, 1, delta=0.2)

    def test_models_by_name(self):
        self.assertIn("resnet20", weft.nn.models())
        model = weft.nn.model("mlp", example=(4,), classes=3)
        model.initialize(seed=1)
        self.assertEqual(model(weft.ones((2, 4))).shape, (2, 3))
        with self.assertRaisesRegex(weft.Error, "resnet20"):
            weft.nn.model("resnet21", example=(32, 32, 3), classes=10)

    def test_precision(self):
        layer = weft.nn.Linear(2, 2)
        layer.initialize(seed=1)
        with weft.nn.precision("bf16"):
            self.assertEqual(layer(weft.ones((1, 2))).dtype, "bf16")

    def test_clipping(self):
        [clipped] = weft.optim.clip_by_global_norm(
            [weft.tensor([3.0, 4.0])], 1.0
        )
        np.testing.assert_allclose(clipped, [0.6, 0.8], rtol=1e-4)

    def test_arguments_from_the_end(self):
        x, y = weft.tensor(2.0), weft.tensor(3.0)
        product = weft.grad(lambda a, b: a * a * b, argnums=-1)
        self.assertEqual(product(x, y).item(), 4)
        second = weft.grad(lambda a, b: a * a * b, argnums=np.int64(1))
        self.assertEqual(second(x, y).item(), 4)
        with self.assertRaisesRegex(weft.Error, "argnums has 2"):
            weft.grad(lambda a, b: a * b, argnums=2)(x, y)


if __name__ == "__main__":
    unittest.main()
