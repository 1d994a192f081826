"""Pickling and copies of tensors, variables and modules.

A tensor never changes, so that a copy of it is itself. What is written of a
module are the arguments that it was made with, its attributes, and the values
of its parameters: so a pickle can be read by another release, as a state dict.
Functions of C++, as weft.relu, cannot be pickled; nn.Relu() can.
"""

import copy
import functools
import weakref

from weft import _weft
from weft._weft import Tensor, Variable
from weft._weft.nn import Module

# What layers of C++ were made with, as they have no attributes of their own.
_arguments = weakref.WeakKeyDictionary()
# The parameters that modules of Python declared, by name.
_declared = weakref.WeakKeyDictionary()
# The modules whose parameters are seen through views.
_viewed = weakref.WeakSet()


def remember_arguments(layer):
    """Wraps __init__ of a layer's class, so that one like it can be made."""
    make = layer.__init__

    @functools.wraps(make)
    def __init__(self, *arguments, **keywords):
        make(self, *arguments, **keywords)
        if type(self) is layer:
            _arguments[self] = (layer, arguments, keywords)
        else:  # a subclass may take other arguments
            given = (type(self), layer, arguments, keywords)
            _arguments[self] = (_of_subclass, given, {})

    return __init__


def _of_subclass(cls, layer, arguments, keywords):
    made = cls.__new__(cls)
    layer.__init__(made, *arguments, **keywords)
    return made


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


def remember_views(view, parts_of):
    """Wraps view_parameters(), so that copies know of views."""

    def mark(module):
        _viewed.add(module)
        for _, part in parts_of(module):
            mark(part)

    @functools.wraps(view)
    def view_parameters(model, *arguments, **keywords):
        view(model, *arguments, **keywords)
        mark(model)

    return view_parameters


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


def _layer(make, arguments, keywords, name, is_training, values, more=None):
    layer = make(*arguments, **keywords)
    if more is not None:
        _set_attributes(layer, **more)
    layer._set_name(name)
    layer.train(is_training)
    _set_values(layer, values)
    return layer


class _Own:
    """Stands for a parameter that a module or a part of it has made, in the
    module's attributes: a copy makes its own."""

    def __init__(self, name):
        self.name = name


def _with_parts(value, change):
    """The value with other parts, also in the containers that modules look into."""
    if not isinstance(value, (dict, list, tuple)):
        return change(value)
    parts = list(value.values() if isinstance(value, dict) else value)
    changed = [_with_parts(part, change) for part in parts]
    if all(new is old for new, old in zip(changed, parts)):
        return value
    if isinstance(value, tuple):
        return getattr(value, "_make", type(value))(changed)
    made = copy.copy(value)
    for key, part in zip(value if isinstance(value, dict) else range(len(value)),
                         changed):
        made[key] = part
    return made


def _attributes(module):
    # A variable that only attributes hold is another object among these.
    variables = module.parameters()
    own = {id(variable): _Own(name) for name, variable in variables.items()}
    return {name: _with_parts(value, lambda part: own.get(id(part), part))
            for name, value in module.__dict__.items()}


def _set_attributes(module, declared, attributes):
    for name, (arguments, keywords) in declared.items():
        module.parameter(name, *arguments, **keywords)
    # All parts are there before any of their parameters is asked for.
    for name, value in attributes.items():
        setattr(module, name, value)
    variables = module.parameters()
    for name, value in attributes.items():
        whole = _with_parts(value, lambda part: variables[part.name]
                            if isinstance(part, _Own) else part)
        if whole is not value:
            setattr(module, name, whole)


def _more(layer):
    """What a subclass has beside what its layer was made with."""
    if not hasattr(layer, "__dict__"):
        return None
    return {"declared": _declared.get(layer, {}),
            "attributes": _attributes(layer)}


def _empty(cls):
    module = cls.__new__(cls)
    Module.__init__(module)
    return module


def _set_state(self, state):
    _set_attributes(self, state["declared"], state["attributes"])
    if hasattr(self, "_named_parts"):  # of a Sequential, whose parts are hidden
        for name, part in self._named_parts().items():
            if isinstance(part, Module):
                part._set_name(name)
    self._set_name(state["name"])
    _set_values(self, state["values"])
    self._set_training(state["is_training"])  # parts have modes of their own


def _reduce_module(self, _protocol):
    if self in _viewed:
        raise TypeError(f"cannot copy a {type(self).__name__} whose parameters "
                        "are seen through views\n"
                        "  hint: make it anew, view_parameters() of it, and "
                        "load_state_dict()")
    values = _values(self)
    if self in _arguments:
        make, arguments, keywords = _arguments[self]
        return _layer, (make, arguments, keywords, self.name, self.is_training,
                        values, _more(self))
    if not hasattr(self, "__dict__"):
        raise TypeError(f"cannot copy a {type(self).__name__}, whose arguments "
                        "are not known")
    declared = _declared.get(self, {})
    return _empty, (type(self),), {
        "attributes": _attributes(self),
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
