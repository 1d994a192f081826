"""The models that both sides train: parameters, inputs, optimizer.

Nothing here knows PyTorch or Weft; bench/README.md says the same in words.
"""

from dataclasses import dataclass
from math import sqrt

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Parameter:
    """One tensor of the weights file, and how it starts."""
    name: str
    shape: Shape
    bound: float = 0.0  # uniform in [-bound, bound)
    constant: float = 0.0  # used when bound is 0


@dataclass(frozen=True)
class Sgd:
    """v = momentum v + (g + decay w); w = w - lr v."""
    lr: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    clip_norm: float = 0.0  # 0: none


@dataclass(frozen=True)
class AdamW:
    """With the usual betas, 0.9 and 0.999, and an epsilon of 1e-8."""
    lr: float
    weight_decay: float = 0.01
    clip_norm: float = 0.0


@dataclass(frozen=True)
class Model:
    name: str
    image: Shape  # of one example, NHWC without N; empty for token ids
    classes: int  # a text whose tokens follow each other has its words here
    optimizer: Sgd | AdamW
    parameters: tuple[Parameter, ...]
    steps: int = 1  # time steps of one sequence
    words: int = 0  # of a text that has a class


def _conv(name: str, inputs: int, outputs: int) -> Parameter:
    return Parameter(f"{name}.weight", (3, 3, inputs, outputs),
                     bound=sqrt(6 / (9 * inputs)))


def _bias(name: str, size: int) -> Parameter:
    return Parameter(f"{name}.bias", (size,))


def _linear(name: str, inputs: int, outputs: int) -> list[Parameter]:
    weight = Parameter(f"{name}.weight", (inputs, outputs),
                       bound=1 / sqrt(inputs))
    return [weight, _bias(name, outputs)]


def _batch_norm(name: str, size: int, weight: float = 1) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (size,), constant=weight),
            Parameter(f"{name}.bias", (size,)),
            Parameter(f"{name}.running_mean", (size,)),
            Parameter(f"{name}.running_var", (size,), constant=1.0)]


def _mnist_cnn() -> Model:
    parameters = [_conv("conv1", 1, 32), _bias("conv1", 32),
                  _conv("conv2", 32, 64), _bias("conv2", 64),
                  *_linear("fc1", 7 * 7 * 64, 128), *_linear("fc2", 128, 10)]
    return Model("mnist-cnn", (28, 28, 1), 10, Sgd(0.01, 0.9),
                 tuple(parameters))


def _resnet20() -> Model:
    """Every block starts as its shortcut: the last scale is 0 (Goyal et al.,
    "Accurate, large minibatch SGD", 2017, section 5.1). Without that, rounding
    alone moves the losses of the first hundred steps by several per cent, and
    no two implementations can be compared."""
    parameters = [_conv("conv", 3, 16), *_batch_norm("bn", 16)]
    inputs = 16
    for stage, outputs in enumerate((16, 32, 64), start=1):
        for block in range(3):
            name = f"stage{stage}.{block}"
            parameters += [_conv(f"{name}.conv1", inputs, outputs),
                           *_batch_norm(f"{name}.bn1", outputs),
                           _conv(f"{name}.conv2", outputs, outputs),
                           *_batch_norm(f"{name}.bn2", outputs, 0)]
            inputs = outputs
    parameters += _linear("fc", 64, 10)
    return Model("resnet20", (32, 32, 3), 10, Sgd(0.02, 0.9, 1e-4),
                 tuple(parameters))


def _digits_cnn() -> Model:
    parameters = [_conv("conv1", 1, 16), _bias("conv1", 16),
                  _conv("conv2", 16, 32), _bias("conv2", 32),
                  *_linear("fc1", 4 * 4 * 32, 64), *_linear("fc2", 64, 10)]
    return Model("digits-cnn", (8, 8, 1), 10, Sgd(0.05, 0.9),
                 tuple(parameters))


def _mlp() -> Model:
    parameters = [*_linear("fc1", 784, 512), *_linear("fc2", 512, 512),
                  *_linear("fc3", 512, 10)]
    return Model("mlp", (784,), 10, Sgd(0.01, 0.9), tuple(parameters))


def _lstm_lm(vocabulary: int = 10000, hidden: int = 200) -> Model:
    parameters = [Parameter("embedding.weight", (vocabulary, hidden), 0.1)]
    bound = 1 / sqrt(hidden)
    for layer in range(2):
        parameters += [
            Parameter(f"lstm.{layer}.w_ih", (hidden, 4 * hidden), bound),
            Parameter(f"lstm.{layer}.w_hh", (hidden, 4 * hidden), bound),
            Parameter(f"lstm.{layer}.bias", (4 * hidden,))]
    parameters += _linear("decoder", hidden, vocabulary)
    return Model("lstm-lm", (), vocabulary, Sgd(1.0, clip_norm=0.25),
                 tuple(parameters), steps=35)


LAYERS, WIDTH = 12, 768  # of both Transformers


def _layer_norm(name: str) -> list[Parameter]:
    return [Parameter(f"{name}.weight", (WIDTH,), constant=1),
            _bias(name, WIDTH)]


def _tokens(words: int, length: int) -> list[Parameter]:
    return [Parameter("embedding.words.weight", (words, WIDTH), 0.04),
            Parameter("embedding.positions.weight", (length, WIDTH), 0.04)]


def _transformer_layers() -> list[Parameter]:
    return [parameter for layer in range(LAYERS) for parameter in (
        *(each for part in ("query", "key", "value", "out")
          for each in _linear(f"layers.{layer}.attention.{part}", WIDTH,
                              WIDTH)),
        *_layer_norm(f"layers.{layer}.norm1"),
        *_linear(f"layers.{layer}.up", WIDTH, 4 * WIDTH),
        *_linear(f"layers.{layer}.down", 4 * WIDTH, WIDTH),
        *_layer_norm(f"layers.{layer}.norm2"))]


def _bert(words: int = 30522, length: int = 128, classes: int = 2) -> Model:
    """BERT-base, 110 million parameters, and a classifier."""
    parameters = [*_tokens(words, length), *_layer_norm("norm"),
                  *_transformer_layers(), *_linear("pooler", WIDTH, WIDTH),
                  *_linear("classifier", WIDTH, classes)]
    return Model("bert", (), classes, AdamW(1e-4), tuple(parameters),
                 steps=length, words=words)


def _gpt(words: int = 50257, length: int = 256) -> Model:
    """GPT-2 small, 124 million parameters, for texts of 256 tokens."""
    parameters = [*_tokens(words, length), *_transformer_layers(),
                  *_layer_norm("norm")]
    return Model("gpt", (), words, AdamW(1e-4), tuple(parameters),
                 steps=length)


MODELS = {model.name: model
          for model in (_digits_cnn(), _mnist_cnn(), _resnet20(), _mlp(),
                        _lstm_lm(), _bert(), _gpt())}
