#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of mutate.py and must_fail.py."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
TABLE = """
[[edit]]
mutant = "m"
file = "a.cc"
original = "one"
mutated = "two"
"""


def run(*command):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True)


class MutateTest(unittest.TestCase):
    def make(self, text):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "table.toml").write_text(TABLE)
            (folder / "a.cc").write_text(text)
            done = run(HERE / "mutate.py", "make", folder / "table.toml", "m", folder,
                       folder / "out")
            made = folder / "out" / "a.cc"
            return done.returncode, made.read_text() if made.exists() else None

    def test_makes_the_edit(self):
        self.assertEqual(self.make("x one y"), (0, "x two y"))

    def test_fails_when_the_original_is_not_there(self):
        self.assertEqual(self.make("x"), (1, None))

    def test_fails_when_the_original_is_there_twice(self):
        self.assertEqual(self.make("one one"), (1, None))


class MustFailTest(unittest.TestCase):
    def outcome(self, code):
        return run(HERE / "must_fail.py", sys.executable, "-c", code).returncode

    def test_accepts_a_broken_promise(self):
        self.assertEqual(self.outcome("print('promise broken: x'); exit(1)"), 0)

    def test_refuses_success_a_crash_and_another_failure(self):
        for code in ["print('promise broken')",
                     "import os; print('promise broken', flush=True); os.abort()",
                     "exit(1)"]:
            self.assertEqual(self.outcome(code), 1, code)


if __name__ == "__main__":
    unittest.main()
