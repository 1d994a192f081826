"""Functions and variables in files: exports and checkpoints."""

import functools
import json
import os
import subprocess
import tempfile
import unittest

import weft

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

DIGITS = """
[model]
name = "mlp"
hidden = [16]
[data]
name = "digits"
[optimizer]
name = "adam"
[train]
epochs = 1
"""


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_a_model_that_stands_alone(self):
        step = weft.train.Step(DIGITS)
        for batch in step.batches():
            step.train(batch)
        path = self.path("digits.weft")
        step.export(path)
        model = weft.open_model(path)
        self.assertEqual(model.classes, list("0123456789"))
        self.assertIn("hidden = [16]", model.recipe)
        self.assertEqual(repr(model), f"<weft.Model mlp of digits, {path}>")
        self.assertEqual(model.evaluate(), step.evaluate("test"))
        sample = os.path.join(ROOT, "data", "digits", "sample.png")
        told = model.predict(sample)
        self.assertAlmostEqual(sum(told["classes"].values()), 1, 5)
        with open(sample, "rb") as file:
            self.assertEqual(model.predict(file.read())["class"],
                             told["class"])
        self.assertEqual(model(batch[0]).tolist(),
                         step.predict(batch[0])[0].tolist())
        with self.assertRaisesRegex(weft.Error, "no such file"):
            model.predict("nothing.png")
        with self.assertRaisesRegex(weft.Error, "no part 'tests'"):
            model.evaluate("tests")

    def test_export(self):
        w = weft.Variable([[1.0], [2.0]])
        predict = weft.jit(lambda x: x @ w.read())
        path = self.path("model.weft")
        predict.export(path, weft.TensorType("f32", ("N", 2)))
        loaded = weft.ExportedFunction(path)
        self.assertEqual(loaded(weft.ones((3, 2))).tolist(), [[3]] * 3)
        shown = subprocess.run(
            [
                os.environ["WEFT_BIN"],
                "run",
                path,
                "--input",
                "arg0=[[1, 2], [3, 4]]",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(
            json.loads(shown.stdout)["results"][0]["value"], [[5], [11]]
        )

    def test_frames_of_an_exported_recursion(self):
        number = weft.TensorType("i64")

        @weft.jit(results=[number])
        def count(n):
            return weft.cond(n <= 0, lambda: 0, lambda: 1 + count(n - 1))

        path = self.path("count.weft")
        count.export(path, weft.TensorType("i64"))
        few = weft.ExportedFunction(path, max_frames=50)
        self.assertEqual(few(weft.tensor(40)).item(), 40)
        with self.assertRaisesRegex(weft.Error, "more than 50 activations"):
            few(weft.tensor(60))
        command = [os.environ["WEFT_BIN"], "run", path, "--input", "arg0=60"]
        run = functools.partial(subprocess.run, capture_output=True, text=True)
        shown = run([*command, "--max-frames", "50"])
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("--max-frames of weft run", shown.stderr)
        shown = run([*command, "--max-frames", "70"], check=True)
        self.assertEqual(json.loads(shown.stdout)["results"][0]["value"], 60)

    def test_export_refuses_host_code(self):
        f = weft.jit(
            lambda x: weft.host_func(
                lambda y: y, x, results=weft.TensorType("f32")
            )
        )
        with self.assertRaises(weft.Unsupported):
            f.export(self.path("host.weft"), weft.tensor(1.0))

    def test_checkpoint(self):
        def make():
            model = weft.nn.Sequential(
                weft.nn.Linear(2, 3), weft.relu, weft.nn.Linear(3, 1)
            )
            model.initialize(seed=1)
            optimizer = weft.optim.adam(model.parameters(trainable_only=True))
            return model, optimizer

        model, optimizer = make()
        gradients = {
            name: weft.ones(v.shape) for name, v in model.parameters().items()
        }
        optimizer.update(gradients)
        path = self.path("run.safetensors")
        weft.save(path, model=model, optimizer=optimizer)

        again, other = make()
        restored = weft.restore(path, model=again, optimizer=other)
        restored.require_complete()
        for name, variable in model.parameters().items():
            self.assertEqual(
                again.parameters()[name].tolist(), variable.tolist()
            )
        self.assertEqual(other.step.item(), 1)
        # Two for each weight and bias of both layers.
        self.assertEqual(len(optimizer.slots()), 8)
        for name, slot in optimizer.slots().items():
            self.assertEqual(other.slots()[name].tolist(), slot.tolist())
        # Both go on alike, with variables in a list as well.
        gradients = {name: g * 0.5 for name, g in gradients.items()}
        optimizer.update(gradients)
        other.update(gradients)
        for name, variable in model.parameters().items():
            self.assertEqual(
                again.parameters()[name].tolist(), variable.tolist()
            )

    def test_checkpoint_of_variables_without_names(self):
        def make():
            variables = [weft.Variable([1.0]), weft.Variable([2.0])]
            return variables, weft.optim.momentum(variables, lr=0.5)

        gradients = [weft.tensor([1.0]), weft.tensor([10.0])]
        variables, optimizer = make()
        optimizer.update(gradients)
        path = self.path("list.safetensors")
        weft.save(path, variables=variables, optimizer=optimizer)
        again, other = make()
        weft.restore(path, variables=again, optimizer=other).require_complete()
        optimizer.update(gradients)
        other.update(gradients)
        self.assertEqual([v.tolist() for v in again],
                         [v.tolist() for v in variables])

    def test_checkpoint_of_plain_objects(self):
        class Program:
            def __init__(self, value):
                self.counts = [
                    weft.Variable(value),
                    {"b": weft.Variable(value + 1)},
                ]

        path = self.path("plain.safetensors")
        weft.save(path, program=Program(1.0))
        program = Program(0.0)
        program.extra = weft.Variable(9.0)
        restored = weft.restore(path, program=program)
        self.assertEqual(program.counts[1]["b"].item(), 2)
        self.assertEqual(restored.unexpected, ["program.extra"])
        self.assertEqual(restored.missing, [])

    def test_checkpoint_of_an_object_that_can_be_called(self):
        class Line:
            def __init__(self, slope):
                self.slope = weft.Variable(slope)
                self.function = lambda x: x

            def __call__(self, x):
                return self.function(x) * self.slope

        path = self.path("line.safetensors")
        weft.save(path, line=Line(3.0))
        line = Line(0.0)
        weft.restore(path, line=line).require_complete()
        self.assertEqual(line(2.0).item(), 6)


if __name__ == "__main__":
    unittest.main()
