#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks src/ against layers.txt.

    tools/check_layers.py [ROOT]

Every `#include "folder/..."` must be allowed by the row of the including folder or
sub-folder, and what lies above the no-I/O line must not reach for clocks, threads, files,
random numbers or the environment. Tests and their helpers obey the same table; what is
neither a test nor a helper of tests is production code and includes no test double: nothing
of sim/, no testing.h. Prints one line per violation and exits 1; exits 2 when layers.txt
itself is wrong.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROW = re.compile(r"^(\d+)\s+(\w+(?:/\w+)?):\s*(.*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Test doubles, by the names of their headers; and files that only tests are built from.
TEST_DOUBLE = re.compile(r"^sim/|(?:^|/)(?:\w+_)?testing\.h$")
FOR_TESTS = re.compile(r"^sim/|_test\.cc$|_test_main\.cc$|(?:^|/)(?:\w+_)?testing\.(?:h|cc)$")
# What deciding code must not touch: a name for the message, and what gives it away.
FORBIDDEN_HEADERS = {"thread", "mutex", "shared_mutex", "fstream", "random", "future",
                     "condition_variable", "stop_token", "semaphore"}
FORBIDDEN_CALLS = {
    "now()": re.compile(r"\bnow\s*\(\s*\)"),
    "getenv": re.compile(r"\b(?:secure_)?getenv\b"),
}
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)


class BadTable(Exception):
    """layers.txt does not make sense."""


@dataclass
class Layer:
    level: int
    allowed: set
    pure: bool  # above the no-I/O line


def read_table(text):
    """The layers by folder."""
    rows, pure = {}, True
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line.startswith("---"):
            pure = False
        elif line:
            match = ROW.match(line)
            if not match:
                raise BadTable(f"layers.txt:{number}: not `level folder: folders`: {line}")
            rows[match[2]] = (int(match[1]), match[3].split(), pure)
    return {folder: Layer(level, allowed_by(words, rows, folder), pure)
            for folder, (level, words, pure) in rows.items()}


def allowed_by(words, rows, folder):
    """The rows whose files `folder` may include. A top folder named from outside stands for
    its sub-folders too; named by one of its own rows it stands for the files directly in it."""
    own = folder.split("/")[0]

    def with_subfolders(name):
        if name == own:
            return {name}
        return {row for row in rows if row == name or row.startswith(f"{name}/")}

    allowed = {folder}
    for word in words:
        levels = re.fullmatch(r"(\d+)-(\d+)", word)
        if word == "*":
            allowed |= rows.keys()
        elif levels:
            first, last = int(levels[1]), int(levels[2])
            allowed |= {name for name, (level, _, _) in rows.items() if first <= level <= last}
        elif word.lstrip("-") not in rows:
            raise BadTable(f"layers.txt: {folder} names {word}, which has no row")
        elif word.startswith("-"):
            allowed -= with_subfolders(word[1:])
        else:
            allowed |= with_subfolders(word)
    return allowed


def blank(match):
    """Comments and strings, emptied but with their line ends kept."""
    return "\n" * match[0].count("\n")


def row_of(path):
    """The row that a path below src/ belongs to: its sub-folder, or its folder."""
    return "/".join(path.split("/")[:-1][:2])


def check_file(path, name, folder, layers):
    """The violations of one file, as `name:line: what`."""
    text = path.read_text(encoding="utf-8", errors="replace")
    layer = layers[folder]
    production = not FOR_TESTS.search("/".join(name.parts[1:]))
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        header = include[2]
        if include[1] == "<":
            if layer.pure and header in FORBIDDEN_HEADERS:
                yield f"{name}:{number}: {folder} is above the no-I/O line, no <{header}> there"
            continue
        target = row_of(header)
        if target not in layers:
            yield f"{name}:{number}: \"{header}\" does not name a folder of layers.txt"
        elif target not in layer.allowed:
            yield f"{name}:{number}: {folder} may not include {target} (layers.txt)"
        elif production and TEST_DOUBLE.search(header):
            yield f"{name}:{number}: production code includes the test double \"{header}\""
    if layer.pure:
        for number, line in enumerate(NOT_CODE.sub(blank, text).splitlines(), 1):
            for what, pattern in FORBIDDEN_CALLS.items():
                if pattern.search(line):
                    yield f"{name}:{number}: {folder} is above the no-I/O line, no {what} there"


def check(root):
    """All violations under root/src."""
    layers = read_table((root / "layers.txt").read_text(encoding="utf-8"))
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in {".h", ".cc"}:
            continue
        name = path.relative_to(root)
        folder = row_of("/".join(name.parts[1:]))
        if folder not in layers:
            yield f"{name}: folder {folder} has no row in layers.txt"
        else:
            yield from check_file(path, name, folder, layers)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    try:
        violations = list(check(root))
    except (BadTable, OSError) as trouble:
        print(f"check_layers: {trouble}", file=sys.stderr)
        return 2
    for violation in violations:
        print(violation)
    if violations:
        print(f"check_layers: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
