"""One training step in PyTorch, as the shared model description asks."""

import contextlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import torch_models
from lib.models import AdamW, Model


class Training:
    """A model with its optimizer and, if recurrent, its running state.

    Images are kept channels-last: measured, PyTorch's faster layout here.
    """

    def __init__(self, model: Model, weights: dict[str, np.ndarray],
                 dtype: str = "f32", compiled: bool = False):
        self.module = torch_models.build(model.name, weights)
        self.module = self.module.to(memory_format=torch.channels_last)
        self.parameters = [p for p in self.module.parameters()
                           if p.requires_grad]
        self.clip_norm = model.optimizer.clip_norm
        self.optimizer = _optimizer(model, self.parameters)
        self.loss = torch.compile(self._loss) if compiled else self._loss
        self.dtype = dtype
        self.state = None  # zero; each step goes on from the one before

    def step(self, inputs: Tensor, labels: Tensor) -> float:
        """The loss before the update."""
        self.optimizer.zero_grad()
        with self._autocast():
            loss = self.loss(inputs, labels)
        loss.backward()
        if self.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        self.optimizer.step()
        return loss.item()

    def _loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(self._forward(inputs), labels.flatten())

    def _forward(self, inputs: Tensor) -> Tensor:
        if not isinstance(self.module, torch_models.LstmLm):
            return self.module(inputs)
        logits, state = self.module(inputs, self.state)
        self.state = tuple(part.detach() for part in state)
        return logits

    def _autocast(self):
        if self.dtype == "bf16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return contextlib.nullcontext()


def _optimizer(model: Model, parameters: list) -> torch.optim.Optimizer:
    settings = model.optimizer
    if isinstance(settings, AdamW):
        return torch.optim.AdamW(parameters, lr=settings.lr, fused=True,
                                 weight_decay=settings.weight_decay)
    return torch.optim.SGD(parameters, lr=settings.lr,
                           momentum=settings.momentum,
                           weight_decay=settings.weight_decay)


def tensors(inputs: np.ndarray, labels: np.ndarray) -> tuple[Tensor, Tensor]:
    """A batch as PyTorch wants it: images NCHW in channels-last memory."""
    converted = torch.tensor(inputs)
    if converted.dim() == 4:
        # Copied in its own order, so that a single channel counts as
        # channels-last too.
        converted = converted.permute(0, 3, 1, 2).contiguous(
            memory_format=torch.channels_last)
    return converted, torch.tensor(labels)
