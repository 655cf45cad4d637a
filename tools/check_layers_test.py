#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py catches each thing it is there for, and nothing else."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check_layers  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        (self.root / "layers.txt").write_bytes((ROOT / "layers.txt").read_bytes())

    def violations(self, name, text):
        path = self.root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return list(check_layers.check(self.root))

    def assert_refused(self, name, text, words):
        found = self.violations(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_allows_what_the_row_names_and_the_folder_itself(self):
        text = '#include "alloc/take.h"\n#include "topology/topology.h"\n#include <vector>\n'
        self.assertEqual(self.violations("alloc/take.cc", text), [])

    def test_refuses_an_include_the_row_does_not_name(self):
        self.assert_refused("alloc/take.cc", '\n#include "pod/pod.h"\n',
                            "src/alloc/take.cc:2: alloc may not include pod")

    def test_refuses_an_include_upwards(self):
        self.assert_refused("base/text.h", '#  include "cli/table.h"\n', "may not include cli")

    def test_ranges_mean_levels_and_minus_takes_out(self):
        self.assertEqual(self.violations("policy/a.cc", '#include "hints/hint.h"\n'), [])
        self.assert_refused("policy/a.cc", '#include "features/feature.h"\n',
                            "may not include features")

    def test_outside_a_folder_its_name_means_its_subfolders_too(self):
        self.assertEqual(self.violations("store/a.cc", '#include "sys/file/file.h"\n'), [])
        self.assertEqual(self.violations("agent/api/a.cc", '#include "runtime/cgroup/a.h"\n'), [])

    def test_a_subfolder_includes_only_what_its_own_row_names(self):
        self.assertEqual(self.violations("sys/http/a.cc", '#include "sys/socket/channel.h"\n'), [])
        self.assertEqual(self.violations("sys/http/b.cc", '#include "sys/clock.h"\n'), [])
        self.assert_refused("sys/socket/a.cc", '#include "sys/http/http_server.h"\n',
                            "src/sys/socket/a.cc:1: sys/socket may not include sys/http")

    def test_files_directly_in_a_folder_do_not_include_its_subfolders_unasked(self):
        self.assert_refused("sys/clock.cc", '#include "sys/file/file.h"\n',
                            "sys may not include sys/file")

    def test_one_subfolder_may_be_named_alone(self):
        rows = check_layers.read_table("0 a:\n0 a/one: a\n0 a/two: a\n1 b: a/one\n2 c: 0-1 -a\n")
        self.assertEqual(rows["b"].allowed, {"b", "a/one"})
        self.assertEqual(rows["a/two"].allowed, {"a/two", "a"})
        self.assertEqual(rows["c"].allowed, {"c", "b"})

    def test_refuses_a_subfolder_without_a_row(self):
        self.assert_refused("sys/misc/a.h", "", "folder sys/misc has no row")
        self.setUp()
        self.assert_refused("store/a.cc", '#include "sys/misc/a.h"\n', "does not name a folder")

    def test_production_code_includes_no_test_double(self):
        for header in ("sim/world.h", "pod/testing.h", "policy/resize_testing.h"):
            self.assert_refused("agent/agent.cc", f'#include "{header}"\n',
                                f'production code includes the test double "{header}"')
        text = '#include "sim/world.h"\n#include "pod/testing.h"\n'
        for name in ("agent/shell/shell_test.cc", "agent/shell/testing.h", "main/plan_testing.cc",
                     "agent/agent_test_main.cc"):
            self.setUp()
            self.assertEqual(self.violations(name, text), [])
        self.setUp()
        self.assertEqual(self.violations("sim/story.cc", '#include "pod/testing.h"\n'), [])

    def test_main_may_include_anything(self):
        self.assertEqual(self.violations("main/main.cc", '#include "agent/agent.h"\n'), [])

    def test_tests_and_helpers_obey_too(self):
        self.assert_refused("cpuset/cpu_set_test.cc", '#include "state/state.h"\n',
                            "may not include state")
        self.setUp()
        self.assert_refused("cpuset/testing.h", '#include "state/state.h"\n',
                            "may not include state")

    def test_refuses_includes_without_a_known_folder(self):
        self.assert_refused("base/text.h", '#include "result.h"\n', "does not name a folder")
        self.assert_refused("base/text.h", '#include "utils/result.h"\n', "does not name a folder")

    def test_refuses_a_folder_without_a_row(self):
        self.assert_refused("utils/misc.h", "", "folder utils has no row")

    def test_refuses_each_forbidden_header_above_the_line(self):
        for header in ("thread", "mutex", "fstream", "random"):
            self.assert_refused("state/state.cc", f"#include <{header}>\n", f"no <{header}> there")

    def test_refuses_clock_reads_above_the_line(self):
        self.assert_refused("manager/step.cc", "auto t = std::chrono::steady_clock::now();\n",
                            "no now() there")
        self.assert_refused("manager/step.cc", "auto t = clock . now ( );\n", "no now() there")

    def test_refuses_the_environment_above_the_line(self):
        self.assert_refused("config/read.cc", 'auto* home = std::getenv("HOME");\n',
                            "no getenv there")

    def test_comments_and_strings_are_not_code(self):
        text = ('// now() is never called, nor getenv\n/* now()\n getenv */\n'
                'const char* kText = "now() \\" getenv";\nint big = 1\'000;\n'
                'const char* kRaw = R"(getenv")";\n')
        self.assertEqual(self.violations("state/state.cc", text), [])

    def test_code_after_a_comment_is_seen_at_its_line(self):
        self.assert_refused("state/state.cc", "/* a\nb */ int t = now();\n",
                            "src/state/state.cc:2:")

    def test_below_the_line_all_of_it_is_allowed(self):
        text = '#include <thread>\n#include <fstream>\nauto t = now(); auto* e = getenv("A");\n'
        self.assertEqual(self.violations("sys/clock.cc", text), [])

    def test_a_table_that_names_an_unknown_folder_is_an_error(self):
        with self.assertRaises(check_layers.BadTable):
            check_layers.read_table("0 base: nowhere\n")
        with self.assertRaises(check_layers.BadTable):
            check_layers.read_table("base\n")

    def test_exit_codes(self):
        command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(self.root)]
        self.violations("base/a.h", "")
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        self.violations("base/a.h", '#include "cpuset/cpu_set.h"\n')
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 1)
        (self.root / "layers.txt").write_text("nonsense\n")
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
