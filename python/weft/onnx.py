"""Models in ONNX's format.

    model = weft.onnx.load("resnet50.onnx")
    scores = model(images)
    weft.onnx.save(weft.jit(net), "net.onnx", images)

A model that is loaded is a weft.ExportedFunction: it runs, and save() writes it
to a file that `weft run` and weft.ExportedFunction take.
"""

from weft import _weft
from weft.transforms import jit

__all__ = ["load", "save"]


def load(path, *, shapes=None, fixed=None):
    """Reads a model. `shapes` are those of inputs by name, in the place of what
    the model says; `fixed` are inputs that have the same value in every run,
    and are no arguments then: what decides shapes has to be."""
    return _weft.load_onnx(str(path), shapes or {}, fixed or {})


def save(function, path, *examples, **named):
    """Writes a function as a model. It is a weft.ExportedFunction, or anything
    that weft.jit takes, with examples of its arguments, or their
    weft.TensorType, whose dims may be names for any size."""
    if isinstance(function, _weft.ExportedFunction):
        _weft.save_onnx(function, str(path))
        return
    if not isinstance(function, _weft.Jit):
        function = jit(function)
    _weft.save_onnx(function.graph(*examples, **named), str(path))
