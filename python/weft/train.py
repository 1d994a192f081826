"""Training what recipes describe.

result = weft.train.Trainer("recipes/digits.toml").run()
print(result.test["accuracy"], result.checkpoint)

A loop of one's own is one over weft.train.Step. Settings are keys of the recipe
(docs/recipes.md), as {"train.epochs": 5}.
"""

import json
import os

from weft._weft import InvalidArgument
from weft._weft.optim import Optimizer
from weft._weft.train import (
    Loop, TrainResult, _export, _simulate, _Step, _Trainer)

__all__ = ["Data", "Loop", "Step", "TrainResult", "Trainer", "export",
           "simulate"]


def _overrides(settings, optimizer):
    settings = dict(settings or {})
    if isinstance(optimizer, Optimizer):
        settings.setdefault("optimizer.lr", optimizer.learning_rate.item())
    return [f"{key}={_toml(key, value)}" for key, value in settings.items()]


def _toml(key, value):
    """The values of JSON are values of TOML. Scalars of NumPy are numbers."""
    def plain(other):
        if getattr(other, "shape", None) == ():
            return other.item()
        raise InvalidArgument(f"settings: {key!r} is of {type(other)}, and no "
                              "value of a recipe")
    # TOML knows no halves of a character, as JSON may write those beyond 16 bits.
    return json.dumps(value, default=plain, ensure_ascii=False)


def _source(recipe):
    return None if recipe is None else os.fspath(recipe)


class Data:
    """What is learned from, as a program has it.

    train, test, valid: the parts. Without one to measure on, a fifth of the
        training part is held out. A part is a dict of arrays by name, whose
        first axis counts examples, the last of which is the label; or an object
        that makes batches as they are asked for:

            inputs    the types of a full batch, a dict by name
            batches   of an epoch
            batch(epoch, number)   a tuple of arrays, counted from 0; the same
                for the same numbers, so that a run can be resumed

        Floats of 64 bits become f32, integers of 64 bits i32.
    classes: how many a label tells apart, or their names; counted if the labels
        are an array of integers.
    """

    def __init__(self, train, *, test=None, valid=None, classes=None,
                 name="data"):
        self.train = train
        self.test = test
        self.valid = valid
        self.classes = classes
        self.name = name


class Trainer:
    """Trains a recipe as `weft train` does: it measures, and keeps checkpoints,
    metrics and curves in the recipe's folder.

    recipe: the path of a file, or a text of several lines; None where model,
        data and optimizer are given.
    model: a weft.nn.Module in place of the recipe's model. It gets its first
        values by the recipe's seed.
    data: a Data in place of the recipe's.
    optimizer: a weft.optim.Optimizer, whose formula and rate are used in place
        of the recipe's; what it remembers of its own variables stays as it is.
        Or an object that is written in Python, a formula for each parameter:

            slots(name, type)   what it remembers, a dict of first values; may
                be left out
            update(parameter, gradient, slots, lr, step)   the next parameter,
                and the dict of its slots if there are any
    resume: goes on from the folder's last checkpoint, with the same objects.
    """

    def __init__(self, recipe=None, settings=None, *, model=None, data=None,
                 optimizer=None, resume=False):
        self._trainer = _Trainer(_source(recipe),
                                 _overrides(settings, optimizer), model, data,
                                 optimizer, resume)

    def run(self, callbacks=()):
        """Once. Callbacks are objects with any of these methods:

        on_start(loop), on_batch(loop), on_step(loop), on_measure(loop),
        on_epoch(loop), on_interrupt(loop, reason), on_failure(loop, reason)

        What they raise ends the run and is raised here; the last checkpoint
        stays, and resume=True goes on from it. So does Ctrl-C, after a
        checkpoint of the last step.
        """
        return self._trainer.run(callbacks)


def simulate(recipe, settings=None, *, resume=False):
    """Trains a recipe by all workers of a cluster that is not there, as
    `weft train --simulate` does: for real, on a virtual clock.

        result = weft.train.simulate("recipes/digits.toml", {
            "simulate.network": "64@50us,100Mbit/s", "train.batch": 256})
        print(result.test["accuracy"], result.seconds)

    The result's seconds are of that clock, and seconds_here of this machine.
    """
    return _simulate(_source(recipe), _overrides(settings, None), resume)


class Step:
    """The training step of a recipe, and what goes with it.

    recipe, settings and objects are as those of Trainer; nothing is written but
    by save().
    """

    def __init__(self, recipe=None, settings=None, *, model=None, data=None,
                 optimizer=None):
        self._step = _Step(_source(recipe), _overrides(settings, optimizer),
                           model, data, optimizer)

    def batches(self):
        """The batches of the current epoch that are left, or of the next one:
        tuples of tensors, as the task takes them."""
        for _ in range(self._step.batches_left):
            yield self._step.next()

    def train(self, batch, lr=None):
        """One step on a batch of any size, at the rate that the recipe has for
        it unless lr is given. The metrics of the batch, by name."""
        return self._step.train(batch, lr)

    def evaluate(self, part=None):
        """The metrics on the held-out data, or on "train", "valid" or
        "test"."""
        return self._step.evaluate(part)

    def predict(self, *inputs):
        """What the model makes of inputs, as the task tells it: a tuple of
        tensors."""
        return self._step.predict(*inputs)

    def save(self, path):
        """Writes a checkpoint as a Trainer does."""
        self._step.save(os.fspath(path))

    def export(self, path):
        """Writes what predict() does into a file by itself, which
        weft.ExportedFunction and `weft run` run."""
        self._step.export(os.fspath(path))

    def load(self, path):
        """Goes on from a checkpoint, in the middle of an epoch too."""
        self._step.load(os.fspath(path))

    @property
    def steps_done(self):
        """How often train() was called, also before what load() read."""
        return self._step.steps_done

    @property
    def batches_per_epoch(self):
        return self._step.batches_per_epoch


def export(checkpoint, path, *, data=""):
    """Writes what a trained model predicts into a file by itself, which
    weft.ExportedFunction and `weft run` run. As `weft export` does.

    checkpoint: a file, or the folder of a run, whose best one it is.
    data: the folder of the data in place of the recipe's; the model is built
        to fit them.
    """
    _export(os.fspath(checkpoint), os.fspath(path), os.fspath(data))
