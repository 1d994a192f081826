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
"""

from weft._weft.nn import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    GlobalAvgPool,
    Gru,
    Layer,
    LayerNorm,
    Linear,
    Lstm,
    MaxPool2d,
    Module,
    Relu,
    ResidualBlock,
    model,
    models,
    precision,
    random_key,
)


def _set_attribute(module, name, value):
    # What is set as an attribute is a child of that name.
    if isinstance(value, Module):
        module._adopt(name, value)
    object.__setattr__(module, name, value)


Module.__setattr__ = _set_attribute


class Sequential(Module):
    """Layers and plain functions, one behind the other."""

    def __init__(self, *parts):
        super().__init__()
        self._parts = parts
        for index, part in enumerate(parts):
            if isinstance(part, Module):
                self._adopt(str(index), part)

    def __call__(self, x):
        for part in self._parts:
            x = part(x)
        return x
