"""Layers, models by name, and modules of one's own.

class Classifier(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = weft.nn.Linear(784, 128)
        self.out = weft.nn.Linear(128, 10)

    def __call__(self, x):
        return self.out(weft.relu(self.hidden(x)))

model = Classifier()
model.initialize(seed=1)

What attributes hold is part of a module, also in lists, tuples and dicts: the
weight of self.layers[0] is the parameter "layers.0.weight".
"""

import functools
import inspect
from collections.abc import Mapping, Sequence, Set

from weft._weft import InvalidArgument, Variable

from weft._weft.nn import (
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    Dropout,
    Embedding,
    Flatten,
    GlobalAvgPool,
    GroupNorm,
    Gru,
    Layer,
    LayerNorm,
    Linear,
    Lstm,
    MaxPool2d,
    Module,
    MultiHeadAttention,
    Relu,
    ResidualBlock,
    RmsNorm,
    Sru,
    _layer_scope,
    layers,
    model,
    models,
    precision,
    random_key,
    recurrent_weights,
    seen_values,
    view_parameters,
    views,
)


def _parts_of(value):
    """What a module would find in an attribute: (suffix of its name, part)."""
    if isinstance(value, (Module, Variable)):
        yield "", value
    elif isinstance(value, dict):
        for key, item in value.items():
            for suffix, part in _parts_of(item):
                yield f".{key}{suffix}", part
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            for suffix, part in _parts_of(item):
                yield f".{index}{suffix}", part


def _set_attribute(module, name, value):
    # Layers know their place from here on. What modules could not find later
    # is refused: a set has no names for its parts.
    if isinstance(value, (Set, Sequence, Mapping)) and not isinstance(
        value, (list, tuple, dict, str, bytes)
    ):
        if any(isinstance(part, (Module, Variable)) for part in value):
            raise InvalidArgument(
                f"{type(module).__name__}.{name}: the parts of a "
                f"{type(value).__name__} have no names\n"
                "  hint: keep modules and variables in a list, tuple or dict"
            )
    for suffix, part in _parts_of(value):
        if isinstance(part, Module):
            part._set_name(name + suffix)
    object.__setattr__(module, name, value)


def _in_layer_scope(call):
    # Random layers draw by their place, so a module says where its parts are.
    @functools.wraps(call)
    def called(self, *arguments, **keywords):
        with _layer_scope(self.name):
            return call(self, *arguments, **keywords)

    return called


def _init_subclass(cls, **keywords):
    super(Module, cls).__init_subclass__(**keywords)
    call = cls.__dict__.get("__call__")
    if inspect.isfunction(call):
        cls.__call__ = _in_layer_scope(call)


Module.__setattr__ = _set_attribute
Module.__init_subclass__ = classmethod(_init_subclass)


class Sequential(Module):
    """Layers and plain functions, one behind the other."""

    def __init__(self, *parts):
        super().__init__()
        self._parts = parts
        for index, part in enumerate(parts):
            if isinstance(part, Module):
                part._set_name(str(index))

    def _named_parts(self):
        return {str(index): part for index, part in enumerate(self._parts)}

    def __call__(self, x):
        for part in self._parts:
            x = part(x)
        return x
