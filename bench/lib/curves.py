"""The loss curves that are compared step by step with PyTorch's."""

from dataclasses import dataclass

from lib.models import Sgd


@dataclass(frozen=True)
class Curve:
    name: str
    model: str
    data: str
    batch: int
    optimizer: Sgd
    carries_state: bool = False  # the LSTM's, from one window to the next
    steps: int = 100


CURVES = {curve.name: curve for curve in (
    Curve("cifar10-resnet20", "resnet20", "cifar10", 128,
          Sgd(lr=0.05, momentum=0.9, weight_decay=1e-4)),
    Curve("ptb-lstm", "lstm-lm", "ptb", 20, Sgd(lr=1.0, clip_norm=5.0),
          carries_state=True),
)}
