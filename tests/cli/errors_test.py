"""Errors about a recipe show its line, in colours where a terminal has them."""

import os
import subprocess
import sys
import unittest

from weft import BIN, DIGITS, CliTest, run

RED, PLAIN = "\033[1;31m", "\033[0m"


class ErrorsTest(CliTest):
    def error_of(self, text: str, *before: str) -> str:
        """What `weft train` says of such a recipe."""
        self.write("a.toml", text)
        done = run(*before, "train", "a.toml", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def in_terminal(self, *arguments: str, **variables: str) -> str:
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [BIN, *arguments], cwd=self.folder, stderr=theirs,
            env={**os.environ, "TERM": "xterm", **variables})
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # how a pty ends
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 2)
        return shown.decode().replace("\r\n", "\n")

    def test_marks_the_key(self) -> None:
        self.assertEqual(
            self.error_of('[model]\nname = "mlp"\n\thiden = [8] # units\n'),
            "weft: unknown key 'model.hiden' (did you mean 'model.hidden'?)\n"
            "  in: a.toml:3:2\n"
            "  3 |  hiden = [8] # units\n"
            "    |  ^~~~~\n"
            "  keys at this place: name, views, hidden, embedding\n")

    def test_marks_the_value(self) -> None:
        good = DIGITS.read_text()
        for old, new, marked in (
                ('"digits-cnn"', '"digits-cn"', '"digits-cn"'),
                ("epochs = 20", 'epochs = "viele"', '"viele"'),
                ("epochs = 20", "epochs = [1, 2] # ü", "[1, 2]"),
                ("epochs = 20", "epochs = -3", "-3"),
                ("[train]", "[train]\nx = = 3", "="),
                ("[train]", "[trian]", "trian")):
            self.assertIn(old, good)
            line, marks = [
                line.split("|", 1)[1]
                for line in self.error_of(good.replace(old, new)).splitlines()
                if " | " in line]
            begin = marks.index("^")
            self.assertEqual(line[begin:len(marks)], marked)
            self.assertEqual(marks.strip(), "^" + "~" * (len(marked) - 1))

    def test_what_is_found_when_the_text_is_gone(self) -> None:
        said = self.error_of(DIGITS.read_text() + (
            '\n[[optimizer.groups]]\nparameters = "fc9.*"\n'))
        self.assertIn(" | [[optimizer.groups]]\n", said)

    def test_a_long_line_is_cut(self) -> None:
        name = "ü" * 200
        said = self.error_of(
            f'[data]\nname = "{name}"\n[model]\nname = "mlp"\n'
            f'views = [{{parameters = "{name}", viev = 1, x = "{name}"}}]\n')
        line, marks = said.splitlines()[2:4]
        self.assertLess(len(line), 90)
        begin = marks.index("^")
        self.assertEqual(line[begin:len(marks)], "viev", said)
        self.assertRegex(line, "^  5 . ….*…$")

    def test_files_cannot_steer_the_terminal(self) -> None:
        said = self.error_of('[model]\nname = "\033[2Jmlp"\n')
        self.assertNotIn("\033", said)

    def test_schemas_too(self) -> None:
        self.write("rows.csv", "a\n1\n")
        self.write("s.toml", "[feature.a]\nmin_fractoin = 1\n")
        done = run("validate", "check", "rows.csv", "--schema", "s.toml",
                   cwd=self.folder)
        self.assertIn("  2 | min_fractoin = 1\n    | ^~~~~~~~~~~~\n",
                      done.stderr)

    def test_colours(self) -> None:
        self.write("a.toml", "[modle]\n")
        shown = self.in_terminal("train", "a.toml")
        self.assertTrue(shown.startswith(f"{RED}weft:{PLAIN} "), shown)
        self.assertIn(f"[{RED}modle{PLAIN}]", shown)
        self.assertIn(f"{RED}^~~~~{PLAIN}\n", shown)
        for plain in (
                self.in_terminal("train", "a.toml", NO_COLOR="1"),
                self.in_terminal("train", "a.toml", TERM="dumb"),
                self.in_terminal("--color", "never", "train", "a.toml"),
                self.error_of("[modle]\n")):
            self.assertNotIn("\033", plain)
            self.assertIn("modle", plain)
        self.assertIn(f"{RED}modle", self.error_of("[modle]\n", "--color",
                                                   "always"))
        self.refuse("--color", "green", "doctor", parts=("green", "always"))


if __name__ == "__main__":
    sys.exit(unittest.main())
