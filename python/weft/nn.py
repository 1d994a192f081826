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
import math
from collections.abc import Mapping, Sequence, Set

from weft import _copies, _weft
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


def _refuse_parts_of_layer(layer, name, value):
    # A layer of C++ knows what it declared, and would not find others.
    parts = [part for _, part in _parts_of(value)]
    own = [id(each) for each in layer.parameters().values()] if parts else []
    if all(id(part) in own for part in parts):
        return
    kind = type(layer).__name__
    raise InvalidArgument(
        f"{kind}.{name}: a subclass of a layer cannot own further parameters "
        "or modules\n"
        f"  hint: derive {kind} from nn.Module and keep the layer in an "
        "attribute, or declare parameters by self.parameter()"
    )


def _set_attribute(module, name, value):
    if isinstance(module, Layer) and hasattr(module, "__dict__"):
        _refuse_parts_of_layer(module, name, value)
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


def _state_dict(self):
    """The values of all parameters and statistics, by name."""
    return {name: variable.read()
            for name, variable in self.parameters().items()}


def _load_state_dict(self, state, strict=True):
    """Gives parameters the values of `state`, which are tensors or arrays.

    Unless `strict` is false, both must have the same names. Returns the names
    that are missing in `state`, and those that it has besides. Nothing changes
    where a value has another shape or dtype.
    """
    variables = self.parameters()
    missing = [name for name in variables if name not in state]
    unexpected = [name for name in state if name not in variables]
    if strict and (missing or unexpected):
        raise InvalidArgument(
            f"{type(self).__name__}.load_state_dict: the names differ\n"
            f"  missing: {', '.join(missing) or 'none'}\n"
            f"  not of this module: {', '.join(unexpected) or 'none'}\n"
            "  hint: strict=False takes what fits"
        )
    found = {name: _weft.tensor(state[name])
             for name in variables if name in state}
    for name, value in found.items():
        wanted = _shape_of(variables[name])
        if tuple(value.shape) != wanted:
            raise InvalidArgument(
                f"{type(self).__name__}.load_state_dict: '{name}' is "
                f"{list(value.shape)}, where {list(wanted)} is wanted")
        if value.dtype != variables[name].dtype:
            raise InvalidArgument(
                f"{type(self).__name__}.load_state_dict: '{name}' is "
                f"{value.dtype}, where {variables[name].dtype} is wanted\n"
                "  hint: cast it first")
    for name in found:
        # As it was given: a variable copies what shares the bytes of an array.
        variables[name].assign(state[name])
    return missing, unexpected


def _shape_of(variable):
    # Also of one that has no value yet: "Variable(weight: f32[3, 4])".
    text = repr(variable)
    dims = text[text.rindex("[") + 1 : text.rindex("]")]
    return tuple(int(dim) for dim in dims.split(", ") if dim)


def _own_parts(module):
    if hasattr(module, "_named_parts"):
        yield from module._named_parts().items()
        return
    for name, value in getattr(module, "__dict__", {}).items():
        for suffix, part in _parts_of(value):
            if isinstance(part, Module):
                yield name + suffix, part


def _describe(self):
    count = sum(math.prod(_shape_of(variable))
                for variable in self.parameters(trainable_only=True).values())
    head = f"{type(self).__name__}({count:,} parameters"
    parts = list(_own_parts(self))
    if not parts:
        own = [f"{name} {list(_shape_of(variable))}"
               for name, variable in self.parameters().items()]
        if not own:
            return f"{type(self).__name__}()"
        if len(own) > 4:  # a model of the registry is one layer of C++
            return head + "\n  " + "\n  ".join(own) + ")"
        return f"{head}: {', '.join(own)})"
    lines = [f"{name}: {part!r}".replace("\n", "\n  ") for name, part in parts]
    return head + "\n  " + "\n  ".join(lines) + ")"


Module.__setattr__ = _set_attribute
Module.__init_subclass__ = classmethod(_init_subclass)
Module.__repr__ = _describe
Module.state_dict = _state_dict
Module.load_state_dict = _load_state_dict
for _layer in (
    AdaptiveAvgPool2d, AvgPool2d, BatchNorm, Conv1d, Conv2d, ConvTranspose2d,
    Dropout, Embedding, Flatten, GlobalAvgPool, GroupNorm, Gru, LayerNorm,
    Linear, Lstm, MaxPool2d, MultiHeadAttention, Relu, ResidualBlock, RmsNorm,
    Sru,
):
    _layer.__init__ = _copies.remember_arguments(_layer)
model = _copies.remember_model(model)
view_parameters = _copies.remember_views(view_parameters, _own_parts)
_copies.install()


class ModuleList(list):
    """A list of modules, as any list that is an attribute of a module."""


class ModuleDict(dict):
    """Modules by name, as any dict that is an attribute of a module."""


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
