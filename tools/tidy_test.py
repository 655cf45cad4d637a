#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py looks at the latest changes first, and remembers what was clean."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import tidy  # noqa: E402


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        patch = mock.patch.object(tidy, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       cwd=self.root, check=True, capture_output=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def test_what_is_not_committed_comes_first_then_the_latest_commit(self):
        names = ["src/old.cc", "src/later.cc", "src/now.cc", "src/by_header.cc"]
        paths = [self.write(name, "1") for name in names]
        header = self.write("src/by_header.h", "1")
        self.git("init", "-q")
        for commit in (["src/old.cc", "src/now.cc", "src/by_header.cc", "src/by_header.h"],
                       ["src/later.cc"]):
            self.git("add", *commit)
            self.git("commit", "-qm", "a")
        header.write_text("2")
        self.git("commit", "-qam", "a")
        self.write("src/now.cc", "2")
        headers = {path: [] for path in paths} | {paths[3]: [header]}
        order = tidy.latest_first(paths, headers, tidy.ages_of_changes())
        self.assertEqual([path.name for path in order],
                         ["now.cc", "by_header.cc", "later.cc", "old.cc"])

    def test_files_of_one_age_are_drawn_anew_each_time(self):
        paths = [self.root / f"{number}.cc" for number in range(50)]
        headers = {path: [] for path in paths}
        orders = {tuple(tidy.latest_first(paths, headers, {})) for _ in range(5)}
        self.assertGreater(len(orders), 1)

    def test_without_a_repository_no_change_is_known(self):
        self.assertEqual(tidy.ages_of_changes(), {})

    def test_remembers_what_was_clean_until_it_changes(self):
        source = self.write("src/a.cc", "1")
        remembered = self.root / "clean.txt"
        self.assertEqual(tidy.read_clean(remembered), set())
        digest = tidy.digest_of(source, [], b"14")
        tidy.write_clean(remembered, {source: digest}, {digest})
        self.assertEqual(tidy.read_clean(remembered), {digest})
        source.write_text("2")
        self.assertNotIn(tidy.digest_of(source, [], b"14"), tidy.read_clean(remembered))


if __name__ == "__main__":
    unittest.main()
