#!/usr/bin/env python3
"""Models of PyTorch with random weights, exported to ONNX: writes NAME.onnx,
and NAME.npz with an input and what PyTorch makes of it.

    torch_onnx.py FOLDER [NAME…] [--batch N] [--form script|dynamo]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch
import torchvision

warnings.filterwarnings("ignore")


class Encoder(torch.nn.Module):
    """Like BERT's, with fewer and narrower layers: words, places, encoder."""

    def __init__(self, words: int = 1000, width: int = 128, layers: int = 4):
        super().__init__()
        self.words = torch.nn.Embedding(words, width)
        self.places = torch.nn.Embedding(512, width)
        layer = torch.nn.TransformerEncoderLayer(
            width, 4, 4 * width, activation="gelu", batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(
            layer, layers, enable_nested_tensor=False)
        self.classes = torch.nn.Linear(width, 10)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        x = self.words(words) + self.places(places)
        return self.classes(self.encoder(x)[:, 0])


class Lstm(torch.nn.Module):
    """Two layers, both directions."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(64, 128, num_layers=2, bidirectional=True,
                                  batch_first=True)
        self.classes = torch.nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classes(self.lstm(x)[0])


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(784, 512), torch.nn.ReLU(),
            torch.nn.Linear(512, 256), torch.nn.ReLU(),
            torch.nn.Linear(256, 10), torch.nn.Softmax(dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def image(side: int):
    return lambda batch: torch.randn(batch, 3, side, side)


zoo = torchvision.models
MODELS = {
    "resnet50": (lambda: zoo.resnet50(), image(224)),
    "mobilenet_v2": (lambda: zoo.mobilenet_v2(), image(224)),
    "densenet121": (lambda: zoo.densenet121(), image(224)),
    "squeezenet1_1": (lambda: zoo.squeezenet1_1(), image(224)),
    "inception_v3": (lambda: zoo.inception_v3(
        aux_logits=True, init_weights=False), image(299)),
    "encoder": (Encoder, lambda batch: torch.randint(0, 1000, (batch, 32))),
    "lstm": (Lstm, lambda batch: torch.randn(batch, 20, 64)),
    "mlp": (Mlp, lambda batch: torch.randn(batch, 784)),
}


def randomize_statistics(model: torch.nn.Module) -> None:
    """Those of a new batch norm, 0 and 1, would hide a mistake."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.1)


def export(name: str, folder: Path, batch: int, form: str) -> None:
    torch.manual_seed(1)
    # The fused layers of inference have no form in ONNX.
    torch.backends.mha.set_fastpath_enabled(False)
    make, inputs = MODELS[name]
    model = make().eval()
    randomize_statistics(model)
    x = inputs(batch)
    with torch.no_grad():
        y = model(x)
        path = folder / f"{name}.onnx"
        if form == "dynamo":
            torch.onnx.export(model, (x,), path, dynamo=True, verbose=False,
                              dynamic_shapes=({0: torch.export.Dim("batch")},)
                              if batch > 1 else None)
        else:
            torch.onnx.export(model, (x,), path, dynamo=False,
                              opset_version=20, input_names=["x"],
                              output_names=["y"],
                              dynamic_axes={"x": {0: "batch"},
                                            "y": {0: "batch"}})
    np.savez(folder / f"{name}.npz", x=x.numpy(), y=y.numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--form", choices=("script", "dynamo"),
                        default="script")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        export(name, arguments.folder, arguments.batch, arguments.form)


if __name__ == "__main__":
    main()
