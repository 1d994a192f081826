"""Methods of tensors that are functions of weft.functions, and operators of
variables that are those of what they hold."""

import operator

from weft import functions
from weft._weft import Tensor, Variable

_METHODS = """
    abs all any argmax argmin argsort clip cumprod cumsum diagonal dot exp log max mean min
    prod ptp ravel repeat round sqrt square squeeze std sum swapaxes take tanh trace
    transpose var
""".split()

_OPERATORS = """
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow
    rpow matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift
    neg abs invert eq ne lt le gt ge getitem len iter float int bool array
""".split()

_IN_PLACE = """
    iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift
    irshift
""".split()


def _on_value(name):
    def method(self, *arguments, **keywords):
        return getattr(self.read(), name)(*arguments, **keywords)

    method.__name__ = name
    return method


def _in_place(name):
    # Without it Python would put a tensor in place of the variable.
    compute = getattr(operator, name)

    def method(self, other):
        self.assign(compute(self.read(), other))
        return self

    method.__name__ = f"__{name}__"
    return method


def _of_function(function):
    # Builtin functions do not become methods by themselves.
    def method(self, *arguments, **keywords):
        return function(self, *arguments, **keywords)

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def install():
    for name in _METHODS:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, _of_function(getattr(functions, name)))
    Tensor.astype = Tensor.cast
    for name in _OPERATORS:
        setattr(Variable, f"__{name}__", _on_value(f"__{name}__"))
    for name in _IN_PLACE:
        setattr(Variable, f"__{name}__", _in_place(name))
    for name in ("numpy", "item", "tolist"):
        setattr(Variable, name, _on_value(name))
    Variable.at = property(lambda self: self.read().at)
    Variable.__array_ufunc__ = None
