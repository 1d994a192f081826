"""weft.train: recipes with callbacks, and the step by itself."""

import _thread
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

import weft

RECIPE = """
[model]
name = "digits-cnn"
[data]
name = "digits"
[optimizer]
name = "adam"
lr = 0.003
[train]
epochs = 2
"""


class Net(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = weft.nn.Linear(64, 10)

    def __call__(self, image):
        return self.out(weft.reshape(image, (-1, 64)))


class TrainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-train-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trainer(self, name="run", **more):
        settings = {"log.folder": str(self.folder / name),
                    **more.pop("settings", {})}
        return weft.train.Trainer(RECIPE, settings, **more)

    def state_of(self, name="run"):
        return json.loads((self.folder / name / "run.json").read_text())

    def test_callbacks_see_the_run(self):
        calls = []

        class Callback:
            def on_start(self, loop):
                calls.append(("start", loop.steps_done))

            def on_step(self, loop):
                calls.append(("step", loop.steps_done))
                assert loop.train["loss"] > 0

            def on_measure(self, loop):
                calls.append(("measure", loop.epoch["held_out"]["accuracy"]))

            def on_epoch(self, loop):
                calls.append(("epoch", loop.epoch["epoch"]))
                self.loop = loop

        callback = Callback()
        trainer = self.trainer()
        result = trainer.run([callback])
        self.assertEqual(result.epochs, 2)
        self.assertEqual(calls[0], ("start", 0))
        self.assertEqual([c for c in calls if c[0] == "epoch"],
                         [("epoch", 1), ("epoch", 2)])
        self.assertEqual(sum(c[0] == "step" for c in calls), result.steps)
        self.assertEqual(result.steps, callback.loop.steps_in_all)
        best = max(value for what, value in calls if what == "measure")
        self.assertAlmostEqual(result.test["accuracy"], best)
        self.assertTrue(Path(result.checkpoint).is_file())
        self.assertEqual(self.state_of()["state"], "done")
        # What is kept of a run says that the run is gone.
        with self.assertRaisesRegex(weft.InvalidArgument, "run already"):
            trainer.run()
        del trainer
        with self.assertRaisesRegex(weft.InvalidArgument, "Trainer is gone"):
            callback.loop.steps_done

    def test_what_a_callback_raises_ends_the_run(self):
        class Failing:
            def on_epoch(self, loop):
                if loop.epoch["epoch"] == 1:
                    raise LookupError("no more")

        with self.assertRaisesRegex(LookupError, "no more"):
            self.trainer().run([Failing()])
        self.assertIn("no more", self.state_of()["reason"])
        self.assertTrue((self.folder / "run/last.safetensors").is_file())
        whole = self.trainer("whole").run()
        resumed = self.trainer(resume=True).run()
        self.assertEqual(resumed.test, whole.test)

    def test_an_interrupt_leaves_a_checkpoint(self):
        told = []

        class Interrupting:
            def on_step(self, loop):
                if loop.steps_done == 3:
                    _thread.interrupt_main()

            def on_interrupt(self, loop, reason):
                told.append(reason)

        with self.assertRaises(KeyboardInterrupt):
            self.trainer().run([Interrupting()])
        self.assertIn("interrupted after step 4", told[0])
        self.assertEqual(self.state_of()["state"], "interrupted")
        self.assertEqual(self.trainer(resume=True).run().epochs, 2)

    def test_a_failure_is_told(self):
        told = []

        class Watching:
            def on_failure(self, loop, reason):
                told.append(reason)

        with self.assertRaises(weft.Error) as raised:
            self.trainer(settings={"optimizer.lr": 1e38}).run([Watching()])
        self.assertEqual(raised.exception.code, "not a number")
        self.assertEqual(len(told), 1)

    def test_refuses_what_makes_no_sense(self):
        class Mistyped:
            def on_epoc(self, loop):
                pass

        with self.assertRaisesRegex(weft.InvalidArgument, "'on_epoch'"):
            self.trainer().run([Mistyped()])
        with self.assertRaisesRegex(weft.InvalidArgument, "no method"):
            self.trainer().run([object()])
        with self.assertRaisesRegex(weft.InvalidArgument, "'train.epochs'"):
            self.trainer(settings={"train.epoch": 1})
        with self.assertRaisesRegex(weft.InvalidArgument, "at least|in \\["):
            self.trainer(settings={"train.epochs": 0})
        with self.assertRaisesRegex(weft.InvalidArgument, "log.folder"):
            weft.train.Trainer(RECIPE)
        with self.assertRaisesRegex(weft.Error, "none.toml"):
            weft.train.Trainer(self.folder / "none.toml")
        with self.assertRaisesRegex(weft.InvalidArgument, "Module"):
            weft.train.Step(RECIPE, model=3)
        with self.assertRaisesRegex(weft.InvalidArgument, "train, valid"):
            weft.train.Step(RECIPE).evaluate("tset")

    def test_a_loop_by_hand_takes_the_trainers_steps(self):
        whole = self.trainer().run()
        step = weft.train.Step(RECIPE)
        for batch in step.batches():
            measured = step.train(batch)
        self.assertGreater(measured["loss"], 0)
        step.save(self.folder / "half.safetensors")
        other = weft.train.Step(RECIPE, {"train.seed": 1})
        other.load(self.folder / "half.safetensors")
        self.assertEqual(other.steps_done, step.batches_per_epoch)
        for batch in other.batches():
            other.train(batch)
        self.assertEqual(other.evaluate()["loss"], whole.test["loss"])
        # What is left of an epoch is what batches() gives.
        for _ in zip(range(5), other.batches()):
            pass
        self.assertLess(len(list(other.batches())), other.batches_per_epoch)

    def test_exports_run_by_themselves(self):
        step = weft.train.Step(RECIPE)
        for batch in step.batches():
            step.train(batch)
        step.save(self.folder / "net.safetensors")
        step.export(self.folder / "step.weft")
        weft.train.export(self.folder / "net.safetensors",
                          self.folder / "trained.weft", data="data/digits")
        (expected,) = step.predict(batch[0])
        for name in ("step.weft", "trained.weft"):
            function = weft.ExportedFunction(str(self.folder / name))
            self.assertEqual([name for name, _ in function.arguments],
                             ["image"])
            np.testing.assert_array_equal(np.asarray(function(batch[0])),
                                          np.asarray(expected))
        with self.assertRaisesRegex(weft.InvalidArgument, "net.safetensors"):
            step.export(self.folder / "net.safetensors")
        with self.assertRaisesRegex(weft.Error, "none.safetensors"):
            weft.train.export(self.folder / "none.safetensors",
                              self.folder / "x.weft")

    def test_batches_may_come_from_anywhere(self):
        step = weft.train.Step(RECIPE)
        images = np.zeros((3, 8, 8, 1), np.float32)
        labels = np.array([1, 2, 3], np.int32)
        first = step.train((images, labels), lr=0.1)["loss"]
        for _ in range(20):
            last = step.train((images, labels), lr=0.01)["loss"]
        self.assertLess(last, first)
        (scores,) = step.predict(images)
        self.assertEqual(scores.shape, (3, 10))
        with self.assertRaises(weft.Error):
            step.train((images,))
        # A batch that was kept is not overwritten by the next one.
        batches = step.batches()
        kept = next(batches)[0]
        before = np.array(kept)
        for _ in batches:
            pass
        np.testing.assert_array_equal(before, np.asarray(kept))

    def test_a_model_of_python_stands_in(self):
        model = Net()
        step = weft.train.Step(RECIPE, model=model)
        before = step.evaluate()["loss"]
        first = np.array(model.out.parameters()["weight"])
        for batch in step.batches():
            step.train(batch)
        self.assertLess(step.evaluate()["loss"], before)
        # It is the object's own weights that have changed.
        self.assertTrue(np.any(first != np.asarray(
            model.out.parameters()["weight"])))
        result = self.trainer(model=Net()).run()
        self.assertEqual(result.epochs, 2)

        class Broken(Net):
            def __call__(self, image):
                raise LookupError("broken")

        with self.assertRaisesRegex(LookupError, "broken"):
            weft.train.Step(RECIPE, model=Broken())


if __name__ == "__main__":
    unittest.main()
