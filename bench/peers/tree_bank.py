"""Parse trees as PyTorch's side of the races reads them."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Node:
    """A leaf has a word, an inner node two children."""
    label: int
    word: str = ""
    children: list["Node"] = field(default_factory=list)


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
    """From left to right."""
    if not node.children:
        return [node]
    return [leaf for child in node.children for leaf in leaves(child)]


class Trees:
    """The first batches of a treebank, words numbered as Weft numbers them:
    by how often they occur, then by their bytes; 0 is a word unknown."""

    def __init__(self, path: Path, size: int, batches: int):
        roots = [parse(line) for line
                 in path.read_text(encoding="utf-8").split("\n") if line]
        counts = Counter(leaf.word for root in roots for leaf in leaves(root))
        order = sorted(counts, key=lambda w: (-counts[w], w.encode()))
        self.numbers = {word: i + 1 for i, word in enumerate(order)}
        self.batches = [roots[i * size:(i + 1) * size] for i in range(batches)]
