"""What a page of the documentation shows to be typed: its blocks of code, and
what comments before them say of how they are tested.

    <!-- not run: needs MNIST -->       the next block is not, and why
    <!-- run by: tests/c/…_test.py -->  another test runs it
    <!-- file: clicks.toml -->          it is written there, for commands below
    <!-- run: COMMANDS -->              commands that readers do not see
"""

import re
from dataclasses import dataclass, field

# What a line begins with that belongs into a shell.
COMMAND = re.compile(
    r"(\./test|bin/|build/bin/|bench/|examples/|tools/|weft |cmake |curl |"
    r"cp |head |mkdir |mpirun |openssl |source |srun |([A-Z_]+=\S+ )+bench/)")
SETTING = re.compile(r"\[+[\w.]+\]+\s*(#.*)?$|[\w.]+ = ", re.MULTILINE)
NOTE = re.compile(r"<!-- (not run|run by|file|run):\s(.*?)\s*-->", re.DOTALL)
FENCE = re.compile(r"```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:    .*\n|\n)+")


@dataclass
class Block:
    kind: str  # python, sh, console, toml, cpp, c, cmake, or text
    text: str
    line: int
    notes: dict[str, str] = field(default_factory=dict)


def kind_of(text: str, is_fenced: bool) -> str:
    """What a block without a language is."""
    if text.startswith("$ "):
        return "console"
    if is_fenced:
        return "text"
    if COMMAND.match(text):
        return "sh"
    return "toml" if SETTING.match(text) else "text"


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page in their order. Hidden commands are blocks of the
    kind sh; whatever a page only shows is of the kind text."""
    blocks: list[Block] = []
    notes: dict[str, str] = {}
    at, after_blank = 0, True
    page += "\n"

    def add(kind: str, text: str) -> None:
        line = page.count("\n", 0, at) + 1
        blocks.append(Block(kind, text, line, dict(notes)))
        notes.clear()

    while at < len(page):
        if found := NOTE.match(page, at):
            if found[1] == "run":
                blocks.append(Block("sh", found[2] + "\n",
                                    page.count("\n", 0, at) + 1))
            else:
                notes[found[1]] = " ".join(found[2].split())
        elif found := FENCE.match(page, at):
            kind = found[1] or kind_of(found[2], is_fenced=True)
            add(kind.replace("bash", "sh"), found[2])
        elif page.startswith("    ", at) and after_blank:
            found = INDENTED.match(page, at)
            assert found
            text = re.sub("^    ", "", found[0], flags=re.MULTILINE)
            add(kind_of(text, is_fenced=False), text.rstrip() + "\n")
        else:
            end = page.find("\n", at) + 1
            after_blank = not page[at:end].strip()
            at = end
            continue
        at, after_blank = found.end(), True
    return blocks
