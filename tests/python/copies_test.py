"""Pickled, copied and loaded: tensors, variables and modules."""

import copy
import pickle
import unittest

import numpy as np

import weft
from weft import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.scale = self.parameter("scale", (width,), init="constant",
                                    scale=1.0)
        self.bias = weft.Variable(weft.zeros((width,)), name="bias")

    def __call__(self, x):
        for layer in self.layers:
            x = weft.relu(layer(x))
        return x * self.scale.read() + self.bias.read()


class Scaled(nn.Linear):
    def __init__(self, scale):
        super().__init__(3, 2)
        self.scale = scale
        self.shift = self.parameter("shift", (2,), init="normal", scale=1.0)

    def __call__(self, x):
        return super().__call__(x) * self.scale + self.shift


def copies(value):
    return (copy.deepcopy(value), pickle.loads(pickle.dumps(value)))


class Copies(unittest.TestCase):
    def test_tensors(self):
        for dtype in ("f32", "f64", "f16", "bf16", "i8", "u8", "i16", "i32",
                      "i64", "bool"):
            tensor = weft.tensor([[0.0, 1.0], [1.0, 0.0]]).cast(dtype)
            for other in copies(tensor):
                self.assertEqual(other.dtype, dtype)
                self.assertEqual(other.tolist(), tensor.tolist())
        special = weft.tensor(np.array([np.nan, np.inf, -0.0], np.float32))
        again = pickle.loads(pickle.dumps(special)).numpy()
        self.assertEqual(again.tobytes(), special.numpy().tobytes())

    def test_variables(self):
        variable = weft.Variable([1.0, 2.0], name="w", is_trainable=False)
        for other in copies(variable):
            self.assertEqual((other.name, other.is_trainable), ("w", False))
            other.assign([3.0, 4.0])
            self.assertEqual(variable.tolist(), [1, 2])

    def test_layers_keep_arguments_values_and_mode(self):
        x = weft.tensor(np.random.default_rng(1).standard_normal(
            (2, 6, 6, 3)).astype(np.float32))
        layer = nn.Conv2d(3, 4, (3, 1), stride=2, bias=False)
        norm = nn.BatchNorm(4)
        for part in (layer, norm):
            part.initialize(3)
        norm.train(False)
        for other, fresh in zip(copies(layer), copies(norm)):
            self.assertEqual(fresh.is_training, False)
            self.assertEqual(fresh(other(x)).tolist(),
                             norm(layer(x)).tolist())
        # What has no values yet may be copied, too.
        self.assertEqual(list(copy.deepcopy(nn.Linear(2, 3)).parameters()),
                         ["weight", "bias"])

    def test_modules_of_modules(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.Relu(), Block(4))
        model.initialize(1)
        x = weft.ones((2, 3))
        for other in copies(model):
            self.assertEqual(other(x).tolist(), model(x).tolist())
            self.assertEqual(list(other.parameters()),
                             list(model.parameters()))
            before = model(x).tolist()
            for variable in other.parameters().values():
                variable.assign(variable.read() + 1)
            self.assertEqual(model(x).tolist(), before)

    def test_own_parameters_stay_one_with_attributes(self):
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = self.parameter("first", (2,), "normal", 1.0)
                self.more = {"b": [self.parameter("second", (1,), "normal", 1.0)]}

            def __call__(self, x):
                return x * self.first.read() + self.more["b"][0].read()

        model = Own()
        # What has no values yet may be copied, too.
        self.assertEqual(copy.deepcopy(model).parameter_count, 3)
        model.initialize(1)
        other = copy.deepcopy(model)
        self.assertEqual(other.parameter_count, 3)
        self.assertIs(other.first, other.parameters()["first"])
        self.assertIs(other.more["b"][0], other.parameters()["second"])
        self.assertEqual(other(weft.ones(2)).tolist(),
                         model(weft.ones(2)).tolist())
        gradients = weft.grad(lambda: other(weft.ones(2)).sum(), wrt=other)()
        self.assertEqual(gradients["first"].tolist(), [1, 1])
        other.first.assign([0.0, 0.0])
        self.assertNotEqual(model.first.tolist(), [0, 0])

    def test_what_is_one_stays_one(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = None
                self.words = nn.Embedding(5, 3)
                self.out = self.words.parameters()["weight"]

        model = Tied()
        model.initialize(1)
        other = copy.deepcopy(model)
        self.assertEqual(other.out.tolist(), model.out.tolist())
        other.out.assign(weft.zeros((5, 3)))
        self.assertEqual(other.words(weft.tensor([4])).tolist(), [[0, 0, 0]])
        self.assertNotEqual(model.words(weft.tensor([4])).tolist(), [[0, 0, 0]])

    def test_parts_keep_modes_of_their_own(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4))
        model.initialize(1)
        model._parts[1].train(False)  # its statistics are frozen
        for other in copies(model):
            self.assertEqual(
                [part.is_training for part in (other, *other._parts)],
                [True, True, False],
            )

    def test_models_of_the_registry(self):
        model = nn.model("mlp", (5,), classes=3, hidden=[4])
        model.initialize(2)
        x = weft.ones((1, 5))
        for other in copies(model):
            self.assertEqual(other(x).tolist(), model(x).tolist())

    def test_state_dicts(self):
        model, other = Block(3), Block(3)
        model.initialize(1)
        other.initialize(2)
        state = {name: value.numpy()
                 for name, value in model.state_dict().items()}
        self.assertIn("layers.1.weight", state)
        self.assertEqual(other.load_state_dict(state), ([], []))
        self.assertEqual(other(weft.ones((1, 3))).tolist(),
                         model(weft.ones((1, 3))).tolist())
        # The copies are the other's own.
        other.bias.assign([1.0, 1.0, 1.0])
        self.assertEqual(model.bias.tolist(), [0, 0, 0])

        del state["bias"]
        state["more"] = np.zeros(2)
        with self.assertRaisesRegex(weft.Error, "missing: bias"):
            model.load_state_dict(state)
        self.assertEqual(model.load_state_dict(state, strict=False),
                         (["bias"], ["more"]))
        before = model.state_dict()["layers.0.weight"].tolist()
        state["layers.0.weight"] = np.ones((3, 3), np.float32)
        state["scale"] = np.zeros(5, np.float32)
        with self.assertRaisesRegex(weft.Error, r"'scale' is \[5\]"):
            model.load_state_dict(state, strict=False)
        self.assertEqual(model.state_dict()["layers.0.weight"].tolist(), before)
        state["scale"] = np.zeros(3, np.float64)
        with self.assertRaisesRegex(weft.Error, "'scale' is f64"):
            model.load_state_dict(state, strict=False)
        self.assertEqual(model.state_dict()["layers.0.weight"].tolist(), before)

    def test_a_subclass_of_a_layer(self):
        layer = Scaled(0.5)
        layer.initialize(1)
        x = weft.ones((1, 3))
        for other in copies(layer):
            self.assertEqual(other(x).tolist(), layer(x).tolist())
            self.assertIs(other.shift, other.parameters()["shift"])
        with self.assertRaisesRegex(weft.Error, "Scaled.more"):
            layer.more = weft.Variable([1.0])

    def test_views_are_not_forgotten(self):
        model = nn.Sequential(nn.Linear(4, 4))
        model.initialize(1)
        nn.view_parameters(model, {"*weight": "quantized(bits=2)"})
        for each in (model, model._parts[0]):
            with self.assertRaisesRegex(TypeError, "through views"):
                copy.deepcopy(each)

    def test_variables_own_their_values(self):
        array = np.ones(2, np.float32)
        first = weft.Variable(array)
        second = weft.Variable([0.0, 0.0])
        second.assign(array)
        layer = nn.Linear(2, 1, bias=False)
        column = array.reshape(2, 1)
        layer.load_state_dict({"weight": column})
        array[:] = 2
        self.assertEqual(first.tolist(), [1, 1])
        self.assertEqual(second.tolist(), [1, 1])
        self.assertEqual(layer.state_dict()["weight"].tolist(), [[1], [1]])

    def test_modules_are_shown(self):
        model = nn.Sequential(nn.Linear(3, 4), nn.Relu(), Block(4))
        text = repr(model)
        self.assertIn("Sequential(64 parameters", text)
        self.assertIn("0: Linear(16 parameters: weight [3, 4], bias [4])", text)
        self.assertIn("    layers.1: Linear(20 parameters", text)
        self.assertEqual(repr(nn.Relu()), "Relu()")


if __name__ == "__main__":
    unittest.main()
