#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/tell-before-taking runs to its end, tells the story, and docs/resize.md shows it.

Its delay is held until somebody waits for its end, so that what comes before that is in time.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

DEADLINE = 600  # seconds; nothing here takes long unless it hangs
LEAVES = "corehold: in progress: main has 0-5, of which 2-5 will leave"
ROOT = Path(__file__).resolve().parent.parent.parent
VARYING = [
    (re.compile(r" +\d+\.\d{3}  "), " TIME "),
    (re.compile(r"in \d+\.\d\d ms"), "in TIME"),
    # What is left of a delay is shown until it has passed, and a resize that takes a second is told of.
    (re.compile(r" in (?:\d+s|0\.\ds)\b"), ""),
    (re.compile(r"^corehold: in progress: main has \S+\n", re.MULTILINE), ""),
    (re.compile(r"^\d+[smh]\w* ", re.MULTILINE), "AGE "),
    (re.compile(r" \d+[smh]\w*$", re.MULTILINE), " AGE"),
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
            cls.code, cls.said = cls.run_example(place)
            cls.left = glob.glob(place + "/*")

    @staticmethod
    def run_example(place):
        said = ""
        hold = Path(place) / "hold-delays"
        hold.touch()
        with subprocess.Popen(
            [ROOT / "examples/tell-before-taking", "--simulate"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "TMPDIR": place, "COREHOLD_HOLD_DELAYS": str(hold)},
        ) as process:
            hangs = threading.Timer(DEADLINE, process.terminate)
            hangs.start()
            for line in process.stdout:
                said += line
                if line.startswith(LEAVES):
                    hold.unlink()
            hangs.cancel()
        return process.returncode, said

    def test_tells_and_takes_in_that_order(self):
        self.assertEqual(self.code, 0, self.said)
        order = [
            r"^0-1$",
            r"app \| .* has 0-1; on 0-1; workers: 2$",
            r"^pod default/app resized: main has 0-5$",
            r"app \| .* has 0-5; on 2-5; workers: 6$",
            r"^pod default/app asked for: main cpu 6 -> 2$",
            r"^0-1$",
            r"app \| .* has 0-1; off 2-5 in \d+\.\d\d ms; workers: 2$",
            r"^default/app +main +0-5 +0-1 +0-1 ",
            f"^{LEAVES}",
            r"^pod default/app resized: main has 0-1$",
            r"^default/app +main +0-1 +0-1 +- ",
            r" ScaleDelayStarted ",
            r" ScaleDelayTimerFired ",
        ]
        at = 0
        for pattern in order:
            found = re.compile(pattern, re.MULTILINE).search(self.said, at)
            self.assertIsNotNone(found, f"{pattern} is not in:\n{self.said[at:]}")
            at = found.end()

    def test_leaves_nothing_behind(self):
        self.assertEqual(self.left, [])

    def test_is_what_the_document_shows(self):
        text = (ROOT / "docs/resize.md").read_text(encoding="utf-8")
        shown = re.search(r"^```\n\$ examples/tell-before-taking --simulate\n(.*?)^```$", text, re.M | re.S)
        self.assertIsNotNone(shown)
        self.assertEqual(steady(self.said), steady(shown.group(1)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
