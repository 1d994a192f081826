"""The loss curves that are compared step by step with PyTorch's.

The optimizer is the model's own, gentle enough that rounding moves none of
the losses by a tenth of the bar.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    name: str
    model: str
    data: str
    batch: int
    steps: int = 100


CURVES = {curve.name: curve for curve in (
    Curve("digits", "digits-cnn", "digits", 32),
    Curve("cifar10-resnet20", "resnet20", "cifar10", 128),
    Curve("ptb-lstm", "lstm-lm", "ptb", 20),
)}
