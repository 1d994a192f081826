"""Methods of tensors that are functions of weft.functions, and operators of
variables that are those of what they hold."""

from weft import functions
from weft._weft import Tensor, Variable

_METHODS = """
    abs all any argmax argmin clip cumsum exp log max mean min prod round sqrt
    square std sum tanh transpose var
""".split()

_OPERATORS = """
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow
    rpow matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift
    neg abs invert lt le gt ge getitem len iter float int bool array
""".split()


def _on_value(name):
    def method(self, *arguments, **keywords):
        return getattr(self.read(), name)(*arguments, **keywords)

    method.__name__ = name
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
    for name in ("numpy", "item", "tolist"):
        setattr(Variable, name, _on_value(name))
    Variable.at = property(lambda self: self.read().at)
    Variable.__array_ufunc__ = None
