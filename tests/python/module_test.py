"""Modules that are written in Python, models by name, and what staged functions
take from around them: modes, precision, the random key."""

import os
import tempfile
import unittest
from collections import deque

import numpy as np

import weft


class Net(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [weft.nn.Linear(2, 3), weft.nn.Linear(3, 3)]
        self.heads = {"a": weft.nn.Linear(3, 1), "b": (weft.nn.Linear(3, 2),)}
        self.scale = weft.Variable([2.0, 3.0], name="scale")
        self.count = weft.Variable(0, is_trainable=False)
        self.pair = (weft.Variable(1.0), weft.Variable(2.0))

    def __call__(self, x):
        for layer in self.layers:
            x = weft.tanh(layer(x))
        return self.heads["b"][0](x) * self.scale + self.pair[0]


NAMES = {
    "scale": (2,),
    "count": (),
    "pair.0": (),
    "pair.1": (),
    "layers.0.weight": (2, 3),
    "layers.0.bias": (3,),
    "layers.1.weight": (3, 3),
    "layers.1.bias": (3,),
    "heads.a.weight": (3, 1),
    "heads.a.bias": (1,),
    "heads.b.0.weight": (3, 2),
    "heads.b.0.bias": (2,),
}


class Views(unittest.TestCase):
    def test_a_model_sees_its_weights_through_them(self):
        model = Net()
        model.initialize(seed=1)
        weft.nn.view_parameters(model, {"layers.*.weight": "masked(density=0.5)"})
        mask = model.parameters()["layers.1.weight.mask"].numpy()
        self.assertEqual(mask.sum(), 5)  # 4.5, rounded
        own = model.parameters()["layers.1.weight"].numpy()
        seen = weft.nn.seen_values(model)["layers.1.weight"].numpy()
        np.testing.assert_array_equal(seen, np.where(mask, own, 0))
        x = np.ones((1, 2), np.float32)
        before = model(x).numpy()
        staged = weft.jit(model)
        np.testing.assert_allclose(staged(x).numpy(), before, rtol=1e-6)

    def test_they_are_listed_and_others_refused(self):
        self.assertIn("ternary", weft.nn.views())
        with self.assertRaisesRegex(weft.Error, "did you mean 'ternary'"):
            weft.nn.view_parameters(Net(), {"layers.0.weight": "ternery"})
        with self.assertRaisesRegex(weft.Error, "its module reads it by itself"):
            weft.nn.view_parameters(Net(), {"scale": "ternary"})


class Parts(unittest.TestCase):
    def test_containers_and_variables_are_found(self):
        model = Net()
        model.initialize(seed=1)
        self.assertEqual(
            {name: v.shape for name, v in model.parameters().items()}, NAMES
        )
        self.assertNotIn("count", model.parameters(trainable_only=True))
        self.assertEqual(
            model.parameter_count, 2 + 2 + 6 + 3 + 9 + 3 + 3 + 1 + 6 + 2
        )
        # A variable keeps the value that it came with.
        self.assertEqual(model.scale.tolist(), [2, 3])
        self.assertEqual(model.parameters()["scale"].tolist(), [2, 3])
        model.scale.assign([5.0, 6.0])
        self.assertEqual(model.parameters()["scale"].tolist(), [5, 6])

    def test_lists_may_grow_and_attributes_change(self):
        model = Net()
        model.layers.append(weft.nn.Linear(3, 3))
        model.initialize(seed=1)
        self.assertIn("layers.2.weight", model.parameters())
        del model.layers[1:]
        del model.heads["a"]
        model.pair = None
        self.assertEqual(
            set(model.parameters()),
            {
                "scale",
                "count",
                "layers.0.weight",
                "layers.0.bias",
                "heads.b.0.weight",
                "heads.b.0.bias",
            },
        )

    def test_all_are_trained(self):
        model = Net()
        model.initialize(seed=1)
        optimizer = weft.optim.momentum(
            model.parameters(trainable_only=True), lr=0.1
        )
        before = {n: v.numpy().copy() for n, v in model.parameters().items()}

        @weft.jit
        def step(x):
            loss, slopes = weft.value_and_grad(
                lambda x: (model(x) ** 2).sum(), wrt=model
            )(x)
            optimizer.update(slopes)
            return loss

        step(weft.ones((4, 2)))
        unused = {"count", "pair.1", "heads.a.weight", "heads.a.bias"}
        for name, variable in model.parameters().items():
            self.assertEqual(
                bool((variable.numpy() == before[name]).all()),
                name in unused,
                name,
            )

    def test_modes_reach_them(self):
        class Drops(weft.nn.Module):
            def __init__(self):
                super().__init__()
                self.all = {"deep": [weft.nn.Dropout(0.5)]}

        model = Drops()
        model.train(False)
        self.assertFalse(model.all["deep"][0].is_training)

    def test_files_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.safetensors")
            model = Net()
            model.initialize(seed=1)
            model.count.assign(7)
            weft.save(path, model=model)
            other = Net()
            other.initialize(seed=2)
            restored = weft.restore(path, model=other)
            restored.require_complete()
            self.assertEqual((restored.missing, restored.unexpected), ([], []))
            for name, variable in model.parameters().items():
                self.assertEqual(
                    other.parameters()[name].tolist(), variable.tolist(), name
                )

    def test_one_that_is_met_twice_is_one(self):
        class Twice(weft.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = weft.nn.Linear(2, 2)
                self.again = [self.first, self]
                self.weight = self.parameter("w", (3,))

        model = Twice()
        model.initialize(seed=1)
        self.assertEqual(
            set(model.parameters()), {"w", "first.weight", "first.bias"}
        )

    def test_what_is_tied_is_one(self):
        class Scores(weft.nn.Module):
            def __init__(self, table):
                super().__init__()
                self.table = table

            def __call__(self, x):
                return x @ self.table.read().T

        class Tied(weft.nn.Module):
            def __init__(self, scores_first):
                super().__init__()
                words = weft.nn.Embedding(5, 3)
                scores = Scores(words.parameters()["weight"])
                self.parts = [scores, words] if scores_first else [words, scores]

            def __call__(self, x):
                words, scores = self.parts
                if isinstance(words, Scores):
                    words, scores = scores, words
                return scores(words(x))

        for scores_first, name in ((False, "parts.0"), (True, "parts.1")):
            model = Tied(scores_first)
            model.initialize(seed=1)
            # The layer that made it gives it its name.
            self.assertEqual(list(model.parameters()), [f"{name}.weight"])
            self.assertEqual(model.parameter_count, 15)
            self.assertIn("Tied(15 parameters", repr(model))

            def loss(model=model):
                return (model(weft.tensor([1, 4])) ** 2).sum()

            gradients = weft.grad(loss, wrt=model)()
            norm = np.linalg.norm(gradients[f"{name}.weight"].numpy())
            clipped = weft.optim.clip_by_global_norm(gradients, norm / 2)
            self.assertAlmostEqual(
                np.linalg.norm(clipped[f"{name}.weight"].numpy()) / norm, 0.5,
                places=5)
            weft.optim.sgd(model.parameters(), lr=0.1).update(clipped)
            with self.assertRaisesRegex(weft.Error, "is there twice"):
                weft.optim.sgd([*model.parameters().values()] * 2)

    def test_what_has_no_names_is_refused(self):
        model = Net()
        for parts in ({weft.nn.Relu()}, deque([weft.Variable(1.0)])):
            with self.assertRaisesRegex(weft.Error, r"Net.parts.*no names"):
                model.parts = parts
        model.parts = {1, 2}  # a set of something else

    def test_layers_of_two_blocks_draw_apart(self):
        class Block(weft.nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = weft.nn.Dropout(0.5)

            def __call__(self, x):
                return self.drop(x)

        model = weft.nn.Sequential(Block(), Block())
        with weft.nn.random_key([1, 0]):
            first = Block()(weft.ones(64)).tolist()
            both = model(weft.ones(64)).tolist()
        self.assertEqual(set(both), {0, 2, 4} & set(both))
        self.assertIn(0.0, first)
        kept = sum(x == 4 for x in both)
        self.assertLess(kept, 28)  # a quarter; half if they drew alike


class Models(unittest.TestCase):
    ARGUMENTS = {
        "mlp": dict(example=(4,), classes=3),
        "wide-and-deep": dict(example=(4,), classes=3, categories=[3, 2]),
        "digits-cnn": dict(example=(8, 8, 1), classes=10),
        "mnist-cnn": dict(example=(28, 28, 1), classes=10),
        "resnet20": dict(example=(32, 32, 3), classes=10),
        "lstm-lm": dict(example=(5,), classes=30, lanes=2, hidden=8),
        "gpt": dict(example=(5,), classes=30, layers=2, width=8, heads=2),
        "bert": dict(
            example=(5,), classes=3, words=20, layers=2, width=8, heads=2
        ),
        "sequential": dict(
            example=(8, 8, 1),
            classes=10,
            layers=["conv2d(4)", "relu", "flatten", "linear"],
        ),
        "vae": dict(example=(8, 8, 1), hidden=16, code=4),
        "alexnet": dict(example=(63, 63, 3), classes=3, hidden=8),
        "densenet121": dict(example=(29, 29, 3), classes=3, growth=4),
        "densenet-bc": dict(example=(8, 8, 3), classes=3, depth=10),
        "inception-v3": dict(example=(75, 75, 3), classes=3),
        "mobilenet-v2": dict(example=(32, 32, 3), classes=3, width=0.25),
        "resnet18": dict(example=(8, 8, 3), classes=3, width=4, small=True),
        "resnet34": dict(example=(8, 8, 3), classes=3, width=4, small=True),
        "resnet50": dict(example=(8, 8, 3), classes=3, width=4, small=True),
        "squeezenet": dict(example=(21, 21, 3), classes=3, bypass="complex"),
        "vgg16": dict(example=(32, 32, 3), classes=3, width=4, hidden=8),
        "vgg19": dict(example=(32, 32, 3), classes=3, width=4, hidden=8),
        "lstm-classifier": dict(example=(5,), classes=3, words=20),
        "sru-classifier": dict(example=(5,), classes=3, words=20),
        "tree-rnn": dict(example=(7, 2), classes=5, words=20),
        "tree-lstm": dict(example=(7, 2), classes=5, words=20),
    }

    def test_every_listed_one_can_be_built_and_called(self):
        # A translator takes two sequences, and nodes are scored in pairs:
        # these are no layers.
        self.assertEqual(set(weft.nn.models()),
                         set(self.ARGUMENTS)
                         | {"seq2seq", "gnmt", "node-embedding"})
        for name, arguments in self.ARGUMENTS.items():
            model = weft.nn.model(name, **arguments)
            model.initialize(seed=1)
            shape = (2, *arguments["example"])
            if name in ("lstm-lm", "gpt"):
                x = weft.zeros(shape, "i32")
                wanted = (5, 2, 30)
            elif name == "bert" or name.endswith("classifier"):
                x, wanted = weft.zeros(shape, "i32"), (2, 3)
            elif name.startswith("tree"):
                # A node of two leaves: its left child lies two rows further.
                tree = [[0, 2], [3, 0], [4, 0]] + [[0, 0]] * 4
                x = weft.tensor(np.array([tree, tree], np.int32))
                wanted = (2, 5)
            elif name == "vae":
                x, wanted = weft.ones(shape), shape
            else:
                x, wanted = weft.ones(shape), (2, arguments["classes"])
            for call in (model, weft.jit(model)):
                with weft.nn.random_key([1, 0]):
                    self.assertEqual(call(x).shape, wanted, name)

    def test_layers_are_listed_and_refused_by_their_place(self):
        self.assertIn("conv2d", weft.nn.layers())
        model = weft.nn.model("sequential", **self.ARGUMENTS["sequential"])
        self.assertIn("conv2d1.weight", model.parameters())
        with self.assertRaisesRegex(weft.Error, "(?s)'relu'.*layers.1"):
            weft.nn.model(
                "sequential", example=(4,), layers=["linear(3)", "rely"]
            )
        for layers in (["relu", 1], [1, "relu"], "relu", [[]]):
            with self.assertRaises(weft.InvalidArgument):
                weft.nn.model("sequential", example=(4,), layers=layers)

    def test_lanes_are_the_streams(self):
        model = weft.nn.model("lstm-lm", **self.ARGUMENTS["lstm-lm"])
        self.assertIn((2, 8), {v.shape for v in model.parameters().values()})

    def test_what_a_tree_needs_is_said(self):
        with self.assertRaisesRegex(weft.Error, "how many words"):
            weft.nn.model("tree-lstm", example=(7, 2), classes=5)


class Surroundings(unittest.TestCase):
    def test_staged_dropout_follows_its_mode(self):
        layer = weft.nn.Dropout(0.5)
        f = weft.jit(lambda x: layer(x))
        x = weft.ones(32)
        with weft.nn.random_key([1, 0]):
            for _ in range(3):
                layer.train(True)
                self.assertIn(0.0, f(x).tolist())
                layer.train(False)
                self.assertEqual(f(x).tolist(), [1.0] * 32)
        self.assertEqual(f.trace_count, 2)

    def test_a_mode_that_python_reads(self):
        class Noisy(weft.nn.Module):
            def __call__(self, x):
                return x + 1 if self.is_training else x

        model = Noisy()
        f = weft.jit(model)
        self.assertEqual(f(weft.tensor(1.0)).item(), 2)
        model.train(False)
        self.assertEqual(f(weft.tensor(1.0)).item(), 1)

    def test_every_key_has_its_mask_and_no_trace(self):
        layer = weft.nn.Dropout(0.5)
        f = weft.jit(layer)
        x = weft.ones(64)
        masks = []
        for step in (0, 1, 2, 0):
            with weft.nn.random_key([1, step]):
                masks.append(f(x).tolist())
                self.assertEqual(masks[-1], layer(x).tolist())
        self.assertEqual(masks[0], masks[3])
        self.assertEqual(len({tuple(mask) for mask in masks}), 3)
        self.assertEqual(f.trace_count, 1)
        with self.assertRaisesRegex(weft.Error, "nn.random_key"):
            f(x)

    def test_precision(self):
        layer = weft.nn.Linear(2, 2)
        layer.initialize(seed=1)
        f = weft.jit(layer)
        x = weft.ones((1, 2))
        self.assertEqual(f(x).dtype, "f32")
        with weft.nn.precision("bf16"):
            self.assertEqual(f(x).dtype, "bf16")
        self.assertEqual(f(x).dtype, "f32")

    def test_recurrent_weights(self):
        layer = weft.nn.Lstm(6, 20)
        layer.initialize(seed=1)
        f = weft.jit(layer)
        x = weft.ones((5, 2, 6))
        exact = np.asarray(f(x))
        for dtype in ("bf16", "i8"):
            with weft.nn.recurrent_weights(dtype):
                narrow = np.asarray(f(x))
                np.testing.assert_array_equal(narrow, layer(x))
            self.assertTrue(0 < abs(narrow - exact).max() < 1e-2, dtype)
        np.testing.assert_array_equal(f(x), exact)
        with weft.nn.recurrent_weights("i8"):
            with self.assertRaisesRegex(weft.Error, "serving"):
                weft.grad(lambda x: layer(x).sum())(x)
        with self.assertRaisesRegex(weft.Error, "f16"):
            weft.nn.recurrent_weights("f16").__enter__()

    def test_batch_norm_by_its_statistics(self):
        layer = weft.nn.BatchNorm(2)
        layer.initialize(seed=1)
        f = weft.jit(layer)
        x = weft.tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
        f(x)
        layer.train(False)
        np.testing.assert_allclose(f(x), layer(x), rtol=1e-5)
        self.assertGreater(f(x).mean().item(), 1)

    def test_export_asks_for_inference(self):
        layer = weft.nn.Dropout(0.5)
        f = weft.jit(layer)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.weft")
            with self.assertRaisesRegex(weft.Unsupported, "random key"):
                f.export(path, weft.TensorType("f32", (4,)))
            layer.train(False)
            f.export(path, weft.TensorType("f32", (4,)))
            self.assertEqual(
                weft.ExportedFunction(path)(weft.ones(4)).tolist(), [1] * 4
            )


if __name__ == "__main__":
    unittest.main()
