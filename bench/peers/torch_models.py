"""The models of lib/models.py in PyTorch, loaded from the shared weights."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torch_transformers


class DigitsCnn(nn.Module):
    """Without the dropout that a recipe may ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(4 * 4 * 32, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = F.max_pool2d(x, 2).permute(0, 2, 3, 1).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


class MnistCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.fc1 = nn.Linear(7 * 7 * 64, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        # Flattened in the order (row, column, channel), which the weights
        # file has too; for channels-last tensors this is a view.
        x = x.permute(0, 2, 3, 1).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(784, 512)
        self.fc2 = nn.Linear(512, 512)
        self.fc3 = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut without parameters (option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride = stride
        self.padding = (outputs - inputs) // 2

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.padding:
            x = x[:, :, ::self.stride, ::self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.padding, self.padding))
        return F.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.stage1 = self._stage(16, 16, stride=1)
        self.stage2 = self._stage(16, 32, stride=2)
        self.stage3 = self._stage(32, 64, stride=2)
        self.fc = nn.Linear(64, 10)

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        return nn.Sequential(ResidualBlock(inputs, outputs, stride),
                             ResidualBlock(outputs, outputs, 1),
                             ResidualBlock(outputs, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn(self.conv(x)))
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.fc(x.mean((2, 3)))


class LstmLm(nn.Module):
    """Tokens [time, batch] to logits [time × batch, vocabulary]."""

    def __init__(self, vocabulary: int = 10000, hidden: int = 200) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2)
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, tokens: Tensor, state=None):
        outputs, state = self.lstm(self.embedding(tokens), state)
        return self.decoder(outputs).flatten(0, 1), state


_CLASSES = {"digits-cnn": DigitsCnn, "mnist-cnn": MnistCnn, "mlp": Mlp,
            "resnet20": ResNet20, "lstm-lm": LstmLm}


def build(name: str, weights: dict[str, np.ndarray]) -> nn.Module:
    """The model, holding `weights`; a name or shape that is off raises."""
    if name in torch_transformers.CLASSES:
        return torch_transformers.build(name, weights)
    module = _CLASSES[name]()
    converted: dict[str, Tensor] = {}
    for key, array in weights.items():
        converted.update(_converted(key, torch.tensor(array)))
    for key, buffer in module.named_buffers():
        if key.endswith("num_batches_tracked"):
            converted[key] = buffer
    for key, parameter in module.named_parameters():
        if key.startswith("lstm.bias_hh"):
            # One bias per gate: PyTorch's second one stays zero and untrained.
            converted[key] = torch.zeros_like(parameter)
            parameter.requires_grad_(False)
    module.load_state_dict(converted)
    return module


def _converted(key: str, value: Tensor) -> dict[str, Tensor]:
    """One tensor under PyTorch's name and in its layout."""
    if key.startswith("lstm."):
        _, layer, part = key.split(".")
        if part == "bias":
            return {f"lstm.bias_ih_l{layer}": value}
        return {f"lstm.weight_{part[2:]}_l{layer}": value.T.contiguous()}
    if key.startswith("embedding.") or value.dim() == 1:
        return {key: value}
    if value.dim() == 4:
        return {key: value.permute(3, 2, 0, 1).contiguous()}  # HWIO to OIHW
    return {key: value.T.contiguous()}  # [in, out] to [out, in]
