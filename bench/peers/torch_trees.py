"""PyTorch's side of the race over parse trees: a binary tree LSTM by recursion,
eagerly. Protocol: bench/README.md."""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor  # noqa: E402

from lib import safetensors  # noqa: E402
from lib.serve import baseline, memory, serve, timed  # noqa: E402

CHECKED_STEPS, DISTINCT_BATCHES = 5, 8
LEARNING_RATE = 0.05


class Node:
    """A leaf has a word, an inner node two children."""

    def __init__(self, label: int):
        self.label, self.word, self.children = label, "", []


def parse(line: str) -> Node:
    """A tree in brackets: (3 (2 It) (4 lovely))."""
    stack, root = [], None
    for part in line.replace(")", " ) ").split(" "):
        if part.startswith("("):
            stack.append(Node(int(part[1:])))
        elif part == ")":
            root = stack.pop()
            if stack:
                stack[-1].children.append(root)
        elif part:
            stack[-1].word = part
    return root


def leaves(node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.children for leaf in leaves(child)]


class Trees:
    """The first batches of a treebank, words numbered as Weft numbers them:
    by how often they occur, then by their bytes; 0 is a word unknown."""

    def __init__(self, path: Path, size: int):
        roots = [parse(line) for line
                 in path.read_text(encoding="utf-8").split("\n") if line]
        counts = Counter(leaf.word for root in roots for leaf in leaves(root))
        order = sorted(counts, key=lambda w: (-counts[w], w.encode()))
        self.numbers = {word: i + 1 for i, word in enumerate(order)}
        self.batches = [roots[i * size:(i + 1) * size]
                        for i in range(DISTINCT_BATCHES)]


class TreeLstm:
    """Children first, by recursion. What need not recur does not: the words of
    a batch are looked up at once, and one product reads all nodes."""

    def __init__(self, weights: dict):
        self.parameters = {name: torch.tensor(value, requires_grad=True)
                           for name, value in weights.items()}
        self.weight = self.parameters["weight"]
        self.bias = self.parameters["bias"]
        self.hidden = self.weight.shape[0] // 2

    def loss(self, roots: list[Node], words: Tensor) -> Tensor:
        p = self.parameters
        vectors = F.embedding(words, p["embedding.weight"], sparse=True)
        self.leaves = iter(vectors.split(1))
        self.states, self.labels = [], []
        for root in roots:
            self.visit(root)
        logits = torch.addmm(p["classifier.bias"], torch.cat(self.states),
                             p["classifier.weight"])
        total = F.cross_entropy(logits, torch.tensor(self.labels),
                                reduction="sum")
        return total / len(roots)

    def visit(self, node: Node) -> tuple[Tensor, Tensor]:
        h, c = self.join(node) if node.children else self.leaf()
        self.states.append(h)
        self.labels.append(node.label)
        return h, c

    def leaf(self) -> tuple[Tensor, Tensor]:
        x = torch.addmm(self.parameters["leaf.bias"], next(self.leaves),
                        self.parameters["leaf.weight"])
        c, o = x.split(self.hidden, 1)
        return torch.sigmoid(o) * torch.tanh(c), c

    def join(self, node: Node) -> tuple[Tensor, Tensor]:
        left_h, left_c = self.visit(node.children[0])
        right_h, right_c = self.visit(node.children[1])
        x = torch.addmm(self.bias, torch.cat((left_h, right_h), 1),
                        self.weight)
        gates, update = x.split((4 * self.hidden, self.hidden), 1)
        i, left, right, o = torch.sigmoid(gates).split(self.hidden, 1)
        c = i * torch.tanh(update) + left * left_c + right * right_c
        return o * torch.tanh(c), c


class Racer:
    def __init__(self, options: argparse.Namespace):
        trees = Trees(options.data / "train.txt", options.batch)
        self.model = TreeLstm(safetensors.read(options.weights))
        self.optimizer = torch.optim.Adagrad(
            self.model.parameters.values(), lr=LEARNING_RATE, eps=1e-10)
        self.batches = [
            (roots, torch.tensor([trees.numbers[leaf.word] for root in roots
                                  for leaf in leaves(root)]))
            for roots in trees.batches]
        self.options, self.done = options, 0

    def step(self) -> float:
        roots, words = self.batches[self.done % len(self.batches)]
        self.done += 1
        self.optimizer.zero_grad()
        loss = self.model.loss(roots, words)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def check(self) -> dict:
        return {"losses": [self.step() for _ in range(CHECKED_STEPS)]}

    def block(self) -> int:
        for _ in range(self.options.steps):
            self.step()
        return self.options.steps * self.options.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=1, help="in one block")
    parser.add_argument("--data", type=Path, required=True,
                        help="the folder with train.txt")
    parser.add_argument("--weights", type=Path, required=True)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    torch.sparse.check_sparse_tensor_invariants.disable()  # and no warning
    empty = baseline()
    racer = Racer(options)
    serve({"check": racer.check, "run": lambda: timed(racer.block),
           "memory": lambda: memory(empty)})


if __name__ == "__main__":
    main()
