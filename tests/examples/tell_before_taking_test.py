#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/tell-before-taking runs to its end, tells the story, and docs/resize.md shows it."""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VARYING = [
    (re.compile(r" +\d+\.\d{3}  "), " TIME "),
    (re.compile(r"in \d+\.\d\d ms"), "in TIME"),
    (re.compile(r"\bin (?:\d+s|0\.\ds)"), "in TIME"),
    (re.compile(r"^\d+s ", re.MULTILINE), "AGE "),
    (re.compile(r" \d+s$", re.MULTILINE), " AGE"),
]


def steady(text):
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return re.sub(r" +", " ", text)


class TellBeforeTaking(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="tell-test-") as place:
            cls.done = subprocess.run(
                [ROOT / "examples/tell-before-taking", "--simulate"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
                env={**os.environ, "TMPDIR": place})
            cls.left = glob.glob(place + "/*")

    def test_tells_and_takes_in_that_order(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        order = [
            r"^0-1$",
            r"app \| .* has 0-1; on 0-1; workers: 2$",
            r"^pod default/app resized: main has 0-5$",
            r"app \| .* has 0-5; on 2-5; workers: 6$",
            r"^pod default/app asked for: main cpu 6 -> 2$",
            r"^0-1$",
            r"app \| .* has 0-1; off 2-5 in \d+\.\d\d ms; workers: 2$",
            r"^default/app +main +0-5 +0-1 +0-1 in [123]s ",
            r"^corehold: in progress: main has 0-5, of which 2-5 will leave in ",
            r"^pod default/app resized: main has 0-1$",
            r"^default/app +main +0-1 +0-1 +- ",
            r" ScaleDelayStarted ",
            r" ScaleDelayTimerFired ",
        ]
        at = 0
        for pattern in order:
            found = re.compile(pattern, re.MULTILINE).search(self.done.stdout, at)
            self.assertIsNotNone(found, f"{pattern} is not in:\n{self.done.stdout[at:]}")
            at = found.end()

    def test_leaves_nothing_behind(self):
        self.assertEqual(self.left, [])

    def test_is_what_the_document_shows(self):
        text = (ROOT / "docs/resize.md").read_text(encoding="utf-8")
        shown = re.search(r"^```\n\$ examples/tell-before-taking --simulate\n(.*?)^```$", text, re.M | re.S)
        self.assertIsNotNone(shown)
        self.assertEqual(steady(self.done.stdout), steady(shown.group(1)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
