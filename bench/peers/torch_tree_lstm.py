"""A binary tree LSTM in PyTorch, in two forms. A form's `prepare` makes of a
batch of trees what needs no weights, once; `states` gives what reads the nodes,
and all labels in the same order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tree_bank import Node, leaves

State = tuple[Tensor, Tensor]  # h and c, a row a node


class TreeLstm:
    """What both forms share: the words of a batch are looked up at once, all
    leaves are one product, and one product reads all nodes."""

    def __init__(self, weights: dict):
        self.parameters = {name: torch.tensor(value, requires_grad=True)
                           for name, value in weights.items()}
        self.hidden = self.parameters["weight"].shape[0] // 2

    def loss(self, batch) -> Tensor:
        p = self.parameters
        h, labels = self.states(batch)
        logits = torch.addmm(p["classifier.bias"], h, p["classifier.weight"])
        return F.cross_entropy(logits, labels, reduction="sum") / batch.trees

    def leaves(self, words: Tensor) -> State:
        p = self.parameters
        vectors = F.embedding(words, p["embedding.weight"])
        c, o = torch.addmm(p["leaf.bias"], vectors,
                           p["leaf.weight"]).split(self.hidden, 1)
        return torch.sigmoid(o) * torch.tanh(c), c

    def join(self, left: State, right: State) -> State:
        """As many nodes as the states have rows."""
        x = torch.addmm(self.parameters["bias"],
                        torch.cat((left[0], right[0]), 1),
                        self.parameters["weight"])
        gates, update = x.split((4 * self.hidden, self.hidden), 1)
        i, f_left, f_right, o = torch.sigmoid(gates).split(self.hidden, 1)
        c = i * torch.tanh(update) + f_left * left[1] + f_right * right[1]
        return o * torch.tanh(c), c


# --- By recursion --------------------------------------------------------------

@dataclass(frozen=True)
class Roots:
    roots: list[Node]
    words: Tensor
    labels: Tensor  # children before their parents, left before right

    @property
    def trees(self) -> int:
        return len(self.roots)


class Recursive(TreeLstm):
    """Inner nodes are visited one by one."""

    @staticmethod
    def prepare(roots: list[Node], number: Callable[[str], int]) -> Roots:
        labels: list[int] = []

        def visit(node: Node) -> None:
            for child in node.children:
                visit(child)
            labels.append(node.label)
        for root in roots:
            visit(root)
        words = [number(leaf.word) for root in roots for leaf in leaves(root)]
        return Roots(roots, torch.tensor(words), torch.tensor(labels))

    def states(self, batch: Roots) -> tuple[Tensor, Tensor]:
        h, c = self.leaves(batch.words)
        found: list[Tensor] = []
        ready = zip(h.split(1), c.split(1))
        for root in batch.roots:
            self.visit(root, ready, found)
        return torch.cat(found), batch.labels

    def visit(self, node: Node, ready: Iterator[State],
              found: list[Tensor]) -> State:
        if node.children:
            left = self.visit(node.children[0], ready, found)
            right = self.visit(node.children[1], ready, found)
            state = self.join(left, right)
        else:
            state = next(ready)
        found.append(state[0])
        return state


# --- By levels -----------------------------------------------------------------

@dataclass(frozen=True)
class Levels:
    """Nodes are numbered by height, leaves first."""
    trees: int
    words: Tensor
    labels: Tensor
    children: list[tuple[Tensor, Tensor]]  # numbers, of each level from 1 on


class Levelled(TreeLstm):
    """All nodes of one height of all trees are joined at once, as TorchFold and
    DGL do."""

    @staticmethod
    def prepare(roots: list[Node], number: Callable[[str], int]) -> Levels:
        levels: list[list[Node]] = []

        def height(node: Node) -> int:
            own = 1 + max(map(height, node.children), default=-1)
            levels.extend([] for _ in range(own + 1 - len(levels)))
            levels[own].append(node)
            return own
        for root in roots:
            height(root)
        ordered = [node for level in levels for node in level]
        place = {id(node): i for i, node in enumerate(ordered)}
        children = [tuple(torch.tensor([place[id(node.children[side])]
                                        for node in level])
                          for side in (0, 1)) for level in levels[1:]]
        return Levels(len(roots),
                      torch.tensor([number(leaf.word) for leaf in levels[0]]),
                      torch.tensor([node.label for node in ordered]), children)

    def states(self, batch: Levels) -> tuple[Tensor, Tensor]:
        h, c = self.leaves(batch.words)
        for left, right in batch.children:
            joined = self.join(*((h.index_select(0, side),
                                  c.index_select(0, side))
                                 for side in (left, right)))
            h, c = torch.cat((h, joined[0])), torch.cat((c, joined[1]))
        return h, batch.labels


FORMS = {"recursion": Recursive, "levels": Levelled}
