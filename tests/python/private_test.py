"""Private training in loops of one's own, against NumPy and against recipes."""

import os
import pathlib
import tempfile
import unittest

import numpy as np

import weft

KEY = bytes(range(32))
RECIPE = """
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "sgd"
lr = 0.1
[train]
epochs = 2
batch = 100
max_steps = 10
[privacy]
noise = 1.2
[log]
folder = "{folder}"
"""


def logistic():
    """A loss over f32[n, 3] and i32[n], and its variables."""
    weight = weft.Variable(np.zeros((3, 2), np.float32), name="weight")
    bias = weft.Variable(np.zeros(2, np.float32), name="bias")

    def loss(x, label):
        logits = weft.matmul(x, weight) + bias
        return weft.mean(weft.cross_entropy(logits, label))

    return loss, {"weight": weight, "bias": bias}


def clipped_sum(x, labels, weight, bias, norm):
    """The gradients of all examples, each clipped, in float64."""
    logits = x @ weight + bias
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    sums = [np.zeros_like(weight), np.zeros_like(bias)]
    for row, back in zip(x, p):
        each = [np.outer(row, back), back]
        length = np.sqrt(sum((g * g).sum() for g in each))
        for total, g in zip(sums, each):
            total += g * min(1, norm / length)
    return sums


class Private(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.x = random.normal(size=(300, 3)).astype(np.float32)
        self.labels = (self.x.sum(1) > 0).astype(np.int32)

    def made(self, loss, variables, **options):
        settings = dict(examples=300, batch=30, noise=1.0, key=KEY)
        settings.update(options)
        return weft.optim.Private(
            weft.optim.sgd(variables, lr=0.5), loss, **settings
        )

    def test_sums_are_of_examples_that_are_clipped_each(self):
        for norm in (0.2, 1e3):
            loss, variables = logistic()
            private = self.made(loss, variables, noise=1e-9, clip_norm=norm)
            for _ in range(4):
                rows = private.sample()
                before = [v.numpy().astype(float) for v in variables.values()]
                private.update(self.x[rows], self.labels[rows])
                sums = clipped_sum(
                    self.x[rows].astype(float), self.labels[rows], *before, norm
                )
                for old, total, v in zip(before, sums, variables.values()):
                    np.testing.assert_allclose(
                        v.numpy(), old - 0.5 * total / 30, atol=2e-6
                    )

    def test_guarantees_are_counted_and_kept(self):
        loss, variables = logistic()
        private = self.made(
            loss, variables, noise=None, epsilon=3.0, steps=5, key=None
        )
        self.assertEqual(private.epsilon(1e-5), 0)
        for _ in range(5):
            rows = private.sample()
            private.update(self.x[rows], self.labels[rows])
        self.assertLessEqual(private.epsilon(1e-5), 3)
        self.assertGreater(private.epsilon(1e-5), 2.97)
        with self.assertRaisesRegex(weft.Error, "all 5 steps"):
            private.sample()

    def test_is_saved_with_its_optimizer(self):
        loss, variables = logistic()
        private = self.made(loss, variables)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "loop.safetensors")
            for step in range(6):
                if step == 3:
                    weft.save(path, private=private, variables=variables)
                rows = private.sample()
                private.update(self.x[rows], self.labels[rows])
            after = variables["weight"].numpy()
            weft.restore(path, private=private, variables=variables)
            self.assertEqual(private.step.numpy(), 3)
            for _ in range(3):
                rows = private.sample()
                private.update(self.x[rows], self.labels[rows])
        np.testing.assert_array_equal(variables["weight"].numpy(), after)

    def test_what_promises_nothing_is_refused(self):
        loss, variables = logistic()
        private = self.made(loss, variables)
        with self.assertRaisesRegex(weft.Error, "have joined"):
            private.update(self.x, self.labels)
        for options in (
            dict(noise=None),
            dict(epsilon=1.0),
            dict(clip_norm=0.0),
            dict(batch=400),
            dict(key=b"short"),
        ):
            with self.assertRaises(weft.Error):
                self.made(loss, variables, **options)
        with self.assertRaisesRegex(weft.Error, "weft.optim.Optimizer"):
            weft.optim.Private(3, loss, examples=3, batch=1, noise=1.0)
        with self.assertRaisesRegex(weft.Error, "not f32"):
            vector = self.made(lambda x, y: x, variables)
            rows = vector.sample()
            vector.update(self.x[rows], self.labels[rows])

    def test_an_error_of_the_loss_comes_out_as_itself(self):
        def loss(x, y):
            raise KeyError("mine")

        private = self.made(loss, logistic()[1])
        rows = private.sample()
        with self.assertRaisesRegex(KeyError, "mine"):
            private.update(self.x[rows], self.labels[rows])
        self.assertEqual(private.step.numpy(), 0)

    def test_does_what_a_recipe_does(self):
        model, same = (
            weft.nn.model("mlp", example=(8, 8, 1), classes=10, hidden=[16])
            for _ in range(2)
        )
        model.initialize(seed=1)

        def loss(image, label):
            return weft.mean(weft.cross_entropy(model(image), label))

        digits = weft.data.open("digits")["train"]
        ((images, labels),) = digits.batches(len(digits))
        images, labels = images.numpy().copy(), labels.numpy().copy()
        variables = model.parameters(trainable_only=True)
        private = weft.optim.Private(
            weft.optim.sgd(variables, lr=0.1), loss,
            examples=len(digits), batch=100, noise=1.2, key=KEY,
        )
        for _ in range(10):
            rows = private.sample()
            private.update(images[rows], labels[rows])
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder)
            key = run / "privacy.key"
            key.touch(0o600)
            key.write_bytes(KEY)
            weft.train.Trainer(
                RECIPE.format(folder=run), model=same, resume=True
            ).run()
        trained = same.parameters(trainable_only=True)
        for name, variable in variables.items():
            np.testing.assert_array_equal(
                trained[name].numpy(), variable.numpy(), err_msg=name
            )


if __name__ == "__main__":
    unittest.main()
