"""Pickling and copies of tensors, variables and modules.

A tensor never changes, so that a copy of it is itself. What is written of a
module are the arguments that it was made with, its attributes, and the values
of its parameters: so a pickle can be read by another release, as a state dict.
Functions of C++, as weft.relu, cannot be pickled; nn.Relu() can.
"""

import functools
import weakref

from weft import _weft
from weft._weft import Tensor, Variable
from weft._weft.nn import Module

# What layers of C++ were made with, as they have no attributes of their own.
_arguments = weakref.WeakKeyDictionary()
# The parameters that modules of Python declared, by name.
_declared = weakref.WeakKeyDictionary()


def remember_arguments(make):
    """Wraps __init__ of a layer, so that one like it can be made."""

    @functools.wraps(make)
    def __init__(self, *arguments, **keywords):
        make(self, *arguments, **keywords)
        _arguments[self] = (type(self), arguments, keywords)

    return __init__


def remember_model(make):
    """Wraps the function that makes a model of the registry."""

    @functools.wraps(make)
    def model(*arguments, **keywords):
        made = make(*arguments, **keywords)
        _arguments[made] = (model, arguments, keywords)
        return made

    # Pickles find it by these names, where C++ has others.
    model.__module__, model.__qualname__ = "weft.nn", "model"
    return model


def _remember_declared(declare):
    @functools.wraps(declare)
    def parameter(self, name, *arguments, **keywords):
        declared = declare(self, name, *arguments, **keywords)
        _declared.setdefault(self, {})[name] = (arguments, keywords)
        return declared

    return parameter


def _tensor(values, dtype):
    return _weft.tensor(values).cast(dtype)


def _reduce_tensor(self):
    # It takes longer to import than all of Weft, and few programs come here.
    import numpy as np

    # NumPy has no bf16, and f32 holds all of its numbers.
    wide = self.cast("f32") if self.dtype == "bf16" else self
    return _tensor, (np.array(wide), self.dtype)


def _variable(value, name, trainable):
    return Variable(value, name=name, is_trainable=trainable)


def _reduce_variable(self):
    return _variable, (self.read(), self.name, self.is_trainable)


def _values(module):
    """The values of all parameters that have one."""
    values = {}
    for name, variable in module.parameters().items():
        try:
            values[name] = variable.read()
        except _weft.Error:  # it was not initialized
            pass
    return values


def _set_values(module, values):
    variables = module.parameters()
    for name, value in values.items():
        variables[name].assign(value)


def _layer(make, arguments, keywords, name, is_training, values):
    layer = make(*arguments, **keywords)
    layer._set_name(name)
    layer.train(is_training)
    _set_values(layer, values)
    return layer


def _empty(cls):
    module = cls.__new__(cls)
    Module.__init__(module)
    return module


def _set_state(self, state):
    for name, (arguments, keywords) in state["declared"].items():
        self.parameter(name, *arguments, **keywords)
    for name, value in state["attributes"].items():
        setattr(self, name, value)
    if hasattr(self, "_named_parts"):  # of a Sequential, whose parts are hidden
        for name, part in self._named_parts().items():
            if isinstance(part, Module):
                part._set_name(name)
    self._set_name(state["name"])
    _set_values(self, state["values"])
    self.train(state["is_training"])


def _reduce_module(self, _protocol):
    values = _values(self)
    if self in _arguments:
        make, arguments, keywords = _arguments[self]
        return _layer, (make, arguments, keywords, self.name, self.is_training,
                        values)
    if not hasattr(self, "__dict__"):
        raise TypeError(f"cannot copy a {type(self).__name__}, whose arguments "
                        "are not known")
    declared = _declared.get(self, {})
    return _empty, (type(self),), {
        "attributes": dict(self.__dict__),
        "declared": declared,
        # Those of parts are in these.
        "values": {name: value for name, value in values.items()
                   if name in declared},
        "name": self.name,
        "is_training": self.is_training,
    }


def install():
    Tensor.__reduce__ = _reduce_tensor
    Tensor.__copy__ = lambda self: self
    Tensor.__deepcopy__ = lambda self, _memo: self
    Variable.__reduce__ = _reduce_variable
    Module.parameter = _remember_declared(Module.parameter)
    Module.__reduce_ex__ = _reduce_module
    Module.__setstate__ = _set_state
