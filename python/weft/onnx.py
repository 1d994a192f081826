"""Models in ONNX's format.

    model = weft.onnx.load("resnet50.onnx")
    scores = model(images)

A model that is loaded is a weft.ExportedFunction: it runs, and save() writes it
to a file that `weft run` and weft.ExportedFunction take.
"""

from weft import _weft


def load(path, *, shapes=None, fixed=None):
    """Reads a model. `shapes` are those of inputs by name, in the place of what
    the model says; `fixed` are inputs that have the same value in every run,
    and are no arguments then: what decides shapes has to be."""
    return _weft.load_onnx(str(path), shapes or {}, fixed or {})
