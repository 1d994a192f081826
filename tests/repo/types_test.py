#!/usr/bin/env python3
"""No type is defined twice: two classes of one name in one namespace are one
type for the linker, which takes the members of either."""

import re
import sys
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Comments, strings and characters, none of whose braces count.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![\w])'(?:\\.|[^'\\\n])+'|^\s*#[^\n]*(?:\\\n[^\n]*)*",
    re.DOTALL | re.MULTILINE)
SCOPE = re.compile(
    r"\b(?:inline\s+)?namespace\s*(?P<namespace>[\w:]*)\s*\{"
    r"|\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+"
    r"(?:alignas\([^)]*\)\s*)?(?:\[\[.*?\]\]\s*)?"
    r"(?P<type>\w[\w:]*(?:<[^;{}()]*>)?)\s*(?:final\s*)?"
    r"(?::[^;{}()=]*)?\{"
    r"|(?P<open>\{)|(?P<close>\})")


def types_of(text: str) -> list[str]:
    """The qualified names of the types that a source defines, without those
    of anonymous namespaces and of functions' bodies."""
    found = []
    scopes: list[str | None] = []  # None: what is inside is local
    for match in SCOPE.finditer(NO_CODE.sub(" ", text)):
        if match["close"]:
            if scopes:
                scopes.pop()
            continue
        if match["open"]:
            scopes.append(None)
            continue
        name = match["namespace"] if match["type"] is None else match["type"]
        if match["type"] is not None and None not in scopes:
            found.append("::".join([*(s for s in scopes if s), name]))
        scopes.append(name or None)
    return found


class TypesTest(unittest.TestCase):
    def test_no_type_is_defined_twice(self) -> None:
        places = defaultdict(list)
        for path in sorted((ROOT / "weft").rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            # One file may define a type by either branch of an #if.
            for name in set(types_of(path.read_text())):
                places[name].append(str(path.relative_to(ROOT)))
        self.assertGreater(len(places), 500)
        twice = [f"{name}: {', '.join(where)}"
                 for name, where in places.items() if len(where) > 1]
        self.assertEqual(twice, [], "\n" + "\n".join(twice))

    def test_what_is_a_type_of_ours(self) -> None:
        self.assertEqual(types_of("""
            namespace a { namespace { struct Hidden { int x; }; }
            class Declared;
            // class Commented {
            class B final : public C { struct D { }; enum class E { kF }; };
            template <class T> struct B<T*> { };
            void f(struct B b) { struct Local { }; const char* s = "{"; }
            namespace b::c { enum G : int { kH }; } }
            """), ["a::B", "a::B::D", "a::B::E", "a::B<T*>", "a::b::c::G"])


if __name__ == "__main__":
    sys.exit(unittest.main())
