"""weft.train: recipes with callbacks, and the step by itself."""

import _thread
import json
import tempfile
import threading
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

    def simulate(self, **settings):
        return weft.train.simulate(RECIPE, {
            "log.folder": str(self.folder / "simulated"),
            "simulate.network": "4@50us,100Mbit/s",
            "simulate.compute": "constant(20ms)",
            **{key.replace("_", ".", 1): value
               for key, value in settings.items()}})

    def test_a_simulated_cluster_trains(self):
        result = self.simulate()
        self.assertEqual(result.workers, 4)
        self.assertGreater(result.test["accuracy"], 0.6)
        # 20 ms of computing for each step, on a clock of its own.
        self.assertGreater(result.seconds, 0.02 * result.steps)
        self.assertGreater(result.seconds_here, 0)
        self.assertEqual(self.simulate().seconds, result.seconds)

    def test_a_simulated_cluster_must_be_named(self):
        with self.assertRaisesRegex(weft.InvalidArgument, "which cluster"):
            self.simulate(simulate_network="")

    def test_ctrl_c_ends_a_simulated_cluster(self):
        record = self.folder / "simulated" / "run.json"

        def interrupt():
            # Once it trains, which it would do for hours.
            while not record.exists():
                pass
            _thread.interrupt_main()

        with self.assertRaises(KeyboardInterrupt):
            threading.Thread(target=interrupt).start()
            self.simulate(train_epochs=100_000)
        self.assertEqual(self.state_of("simulated")["state"], "interrupted")

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
        self.assertEqual(self.state_of()["state"], "failed")
        self.assertTrue((self.folder / "run/last.safetensors").is_file())
        whole = self.trainer("whole").run()
        resumed = self.trainer(resume=True).run()
        self.assertEqual(resumed.test, whole.test)

    def test_a_callback_that_asks_to_exit_interrupts_the_run(self):
        class Leaving:
            def on_step(self, loop):
                raise SystemExit(3)

        with self.assertRaises(SystemExit):
            self.trainer().run([Leaving()])
        self.assertEqual(self.state_of()["state"], "interrupted")

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

    def test_a_tied_parameter_moves_once(self):
        class Again(weft.nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.weight = weight

            def __call__(self, x):
                return x @ self.weight.read()

        class Tied(weft.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = weft.nn.Linear(64, 64, bias=False)
                self.again = Again(self.first.parameters()["weight"])
                self.out = weft.nn.Linear(64, 10, bias=False)

            def __call__(self, image):
                x = weft.reshape(image, (-1, 64))
                return self.out(self.again(weft.tanh(self.first(x))))

        model = Tied()
        step = weft.train.Step(RECIPE, {
            "optimizer.name": "sgd", "optimizer.lr": 1.0,
            "optimizer.clip_norm": 0.01}, model=model)
        before = {name: np.array(each)
                  for name, each in model.parameters().items()}
        self.assertEqual(len(before), 2)
        step.train(next(step.batches()))
        moved = [np.array(each) - before[name]
                 for name, each in model.parameters().items()]
        norm = np.sqrt(sum((each ** 2).sum() for each in moved))
        self.assertAlmostEqual(norm, 0.01, places=5)


def spirals(count, seed):
    """Two classes of points, which a straight line does not part."""
    chance = np.random.default_rng(seed)
    label = np.arange(count) % 2
    angle = chance.uniform(0, 2.5, count) + np.pi * label
    radius = chance.uniform(0.3, 1, count)
    near = np.stack([np.cos(angle) * radius, np.sin(angle) * radius], 1)
    return {"point": near, "side": label}


class Classifier(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = weft.nn.Linear(2, 32)
        self.out = weft.nn.Linear(32, 2)

    def __call__(self, point):
        return self.out(weft.relu(self.hidden(point)))


class Batches:
    """Made as they are asked for."""

    inputs = {"point": weft.TensorType("f32", (32, 2)),
              "side": weft.TensorType("i32", (32,))}
    batches = 10

    def __init__(self, seed):
        self.seed = seed
        self.asked = []

    def batch(self, epoch, number):
        self.asked.append((epoch, number))
        return tuple(spirals(32, (self.seed, epoch, number)).values())


class ObjectsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-train-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, data, name="run", resume=False, **settings):
        model = Classifier()
        trainer = weft.train.Trainer(
            settings={"log.folder": str(self.folder / name),
                      "train.epochs": 10, "train.batch": 32, **settings},
            model=model, data=data, resume=resume,
            optimizer=weft.optim.adam(model.parameters(trainable_only=True),
                                      lr=0.02))
        return trainer.run()

    def test_arrays_are_learned_from(self):
        data = weft.train.Data(train=spirals(512, 1), test=spirals(128, 2))
        result = self.train(data)
        self.assertGreater(result.test["accuracy"], 0.8)
        # Without a part to measure on, a fifth is held out.
        alone = self.train(weft.train.Data(train=spirals(512, 1)), "alone")
        self.assertGreater(alone.test["accuracy"], 0.8)

    def test_integers_that_do_not_fit_are_refused(self):
        points = spirals(64, 1)
        points["side"] = points["side"] + 2**32
        model = Classifier()
        with self.assertRaisesRegex(weft.Error, "4294967296 does not fit i32"):
            weft.train.Step(model=model, data=weft.train.Data(points),
                            optimizer=weft.optim.sgd(model.parameters()))

    def test_settings_may_hold_any_character(self):
        self.train(weft.train.Data(spirals(64, 1)), "läufe \U0001F600",
                   **{"train.max_steps": 1})
        self.assertTrue((self.folder / "läufe \U0001F600").is_dir())

    def test_batches_of_python_are_learned_from(self):
        made = Batches(1)
        data = weft.train.Data(train=made, test=Batches(2), classes=2)
        whole = self.train(data)
        self.assertGreater(whole.test["accuracy"], 0.8)
        self.assertEqual(made.asked[:2], [(0, 0), (0, 1)])
        self.assertEqual(made.asked[-1], (9, 9))
        # A run goes on with the batches that come next.
        self.train(data, "parts", **{"train.max_steps": 25})
        parts = self.train(data, "parts", resume=True)
        self.assertEqual(parts.test, whole.test)

    def test_the_rate_is_the_optimizers_unless_settings_say_more(self):
        rates = []

        class Watching:
            def on_epoch(self, loop):
                rates.append(loop.epoch["lr"])

        model = Classifier()
        for more in ({}, {"optimizer.lr": 0.5}):
            weft.train.Trainer(
                settings={"log.folder": str(self.folder / f"run{len(more)}"),
                          "train.epochs": 1, **more},
                model=model, data=weft.train.Data(train=spirals(64, 1)),
                optimizer=weft.optim.sgd(model.parameters(), lr=0.25),
            ).run([Watching()])
        self.assertEqual(rates, [0.25, 0.5])

    def test_an_optimizer_of_python_is_as_good(self):
        class Heavy:
            def slots(self, name, type):
                return {"speed": 0.0}

            def update(self, parameter, gradient, slots, lr, step):
                speed = slots["speed"] * 0.9 + gradient
                return parameter - speed * lr, {"speed": speed}

        class Plain:
            def update(self, parameter, gradient, slots, lr, step):
                assert slots == {}
                return parameter - gradient * lr

        def losses(optimizer, rate):
            step = weft.train.Step(RECIPE, {"optimizer.lr": rate},
                                   optimizer=optimizer)
            losses = []
            for batch in step.batches():
                losses.append(step.train(batch)["loss"])
            return step, losses

        for own, known in ((Heavy(), weft.optim.momentum([], momentum=0.9)),
                           (Plain(), weft.optim.sgd([]))):
            step, ours = losses(own, 0.05)
            np.testing.assert_allclose(ours, losses(known, 0.05)[1], rtol=1e-4)
        step, _ = losses(Heavy(), 0.05)
        step.save(self.folder / "heavy.safetensors")
        other = weft.train.Step(RECIPE, {"optimizer.lr": 0.05},
                                optimizer=Heavy())
        other.load(self.folder / "heavy.safetensors")
        batch = next(step.batches())
        self.assertEqual(other.train(batch), step.train(batch))
        self.assertEqual(other.train(batch), step.train(batch))

    def test_one_object_may_stand_in_a_recipe(self):
        step = weft.train.Step(RECIPE, optimizer=weft.optim.sgd([], lr=0.1))
        before = step.evaluate()["loss"]
        for batch in step.batches():
            step.train(batch)
        self.assertLess(step.evaluate()["loss"], before)

    def test_refusals(self):
        model = Classifier()
        objects = {"model": model, "data": weft.train.Data(spirals(64, 1)),
                   "optimizer": weft.optim.sgd(model.parameters())}
        for missing in objects:
            given = {**objects, missing: None}
            with self.assertRaisesRegex(weft.Unsupported,
                                        f"{missing} 'object'"):
                weft.train.Step(**given)
        with self.assertRaisesRegex(weft.InvalidArgument, "log.folder"):
            weft.train.Trainer(**objects)
        with self.assertRaisesRegex(weft.InvalidArgument, "'train.batch' is"):
            weft.train.Step(**objects, settings={"train.batch": object()})
        step = weft.train.Step(**objects,
                               settings={"train.batch": np.int64(16)})
        batch = next(step.batches())
        self.assertEqual(batch[0].shape[0], 16)
        for rate in (-1.0, float("nan"), float("inf")):
            with self.assertRaisesRegex(weft.InvalidArgument, "a rate of"):
                step.train(batch, rate)
        with self.assertRaisesRegex(weft.InvalidArgument, "no weft.train.Data"):
            weft.train.Step(**{**objects, "data": spirals(64, 1)})
        with self.assertRaisesRegex(weft.InvalidArgument, "Optimizer"):
            weft.train.Step(**{**objects, "optimizer": "sgd"})
        class Wrong:
            def __init__(self, told):
                self.told = told

            def slots(self, name, type):
                return {"speed": 0.0}

            def update(self, parameter, gradient, slots, lr, step):
                return self.told(parameter)

        for told, said in (
                (lambda p: p, "no parameter and dict of slots"),
                (lambda p: (p, {}), "leaves out 'speed'"),
                (lambda p: (weft.sum(p), {"speed": p}), "parameter f32"),
                (lambda p: (p, {"speed": 0.5}), "'speed' f32")):
            with self.assertRaisesRegex(weft.InvalidArgument, said):
                weft.train.Step(**{**objects, "optimizer": Wrong(told)})
        with self.assertRaisesRegex(weft.InvalidArgument, "no 'batches'"):
            class Half:
                inputs = {}
            weft.train.Step(**{**objects, "data": weft.train.Data(Half())})

        with self.assertRaisesRegex(weft.InvalidArgument, "label 2 is none"):
            weft.train.Step(**{**objects, "data": weft.train.Data(
                spirals(8, 1), test={"point": np.zeros((2, 2)),
                                     "side": np.array([0, 2])})})

        class Parted(Batches):
            batches = 2.5

        with self.assertRaisesRegex(weft.InvalidArgument, "integer is due"):
            weft.train.Step(**{**objects, "data": weft.train.Data(
                Parted(1), test=Batches(2), classes=2)})

        class Flat(Batches):
            inputs = {**Batches.inputs,
                      "point": weft.TensorType("f32", (32, 3))}

        with self.assertRaisesRegex(weft.InvalidArgument, "other inputs"):
            weft.train.Step(**{**objects, "data": weft.train.Data(
                Batches(1), test=Flat(2), classes=2)})

        class Renamed(Batches):
            inputs = {"spot": Batches.inputs["point"],
                      "side": Batches.inputs["side"]}

        with self.assertRaisesRegex(weft.InvalidArgument, "other inputs"):
            weft.train.Step(**{**objects, "data": weft.train.Data(
                Batches(1), test=Renamed(2), classes=2)})

        class Broken(Batches):
            def batch(self, epoch, number):
                raise LookupError("no more")

        step = weft.train.Step(**{**objects, "data": weft.train.Data(
            Broken(1), test=Batches(2), classes=2)})
        with self.assertRaisesRegex(LookupError, "no more"):
            next(step.batches())

        class Wide(Batches):
            def batch(self, epoch, number):
                point, side = super().batch(epoch, number)
                return np.concatenate([point, point], 1), side

        step = weft.train.Step(**{**objects, "data": weft.train.Data(
            Wide(1), test=Batches(2), classes=2)})
        with self.assertRaisesRegex(weft.Error, "point"):
            next(step.batches())


if __name__ == "__main__":
    unittest.main()
