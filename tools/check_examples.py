#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of documents and compares what they print.

    tools/check_examples.py COREHOLD DOCUMENT...

An example is a fenced block whose first line is `$ corehold ARGUMENTS`; the rest of the
block is the output. It runs in the root of the repository, so that it may name files such
as docs/examples/cpu_manager_state. Exits 1 when an example prints something else or fails,
or when there is no example at all.

A plan that refuses a resize may end with 1.

Below a line `<!-- node: MACHINE -->`, or `<!-- node: MACHINE; config: FILE -->`, the examples of commands that ask an agent are asked of
one that simulates this machine (`corehold agent --simulate`), one after the other. Of these
errors are shown too and may be what is shown; times, ages, UIDs and what is this machine's own
(its name and kernel) are not compared. An example with -w goes on while the next one runs: it is
to show what that does.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NODE = re.compile(r"^<!-- node: (.*) -->$", re.MULTILINE)
EXAMPLE = re.compile(r"^```\w*\n\$ corehold ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ASKING = {"run", "apply", "get", "describe", "logs", "delete", "resize"}
SHOWING = {"get", "describe"}
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r" +\b(?:\d+[smhdy]){1,2}$", re.MULTILINE), " AGE"),
    (re.compile(r"^(?:\d+[smhdy]){1,2} +", re.MULTILINE), "AGE "),
    (re.compile(r"\brun-[0-9a-z]{5}\b"), "run-NAME"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(\w+ ago\)"), "TIME"),
    # Tables of describe, two further in, and wide ones have ages in the middle too.
    (re.compile(r"(?<=^  )(?:\d+[smhdy]){1,2}(?= )", re.MULTILINE), "AGE"),
    (re.compile(r"^((?:  |demo +|[A-Z] +demo/)\S.* )(?:\d+[smhdy]){1,2}(?= )", re.MULTILINE), r"\1AGE"),
    (re.compile(r"^(node +|kernel +|memory +)\S.*", re.MULTILINE), r"\1MACHINE"),
    (re.compile(r"(kubernetes.io/(?:hostname|arch)=)\S+"), r"\1MACHINE"),
    (re.compile(r"^(demo .*(?:Guaranteed|Burstable) +)\S+$", re.MULTILINE), r"\1MACHINE"),
    (re.compile(r"^(NAME +STATUS .*\n)\S+", re.MULTILINE), r"\1NODE"),
]


def steady(text):
    """The text without what is different each time."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return re.sub(r" +", " ", text)


def matches(printed, expected):
    return steady(printed) == steady(expected)


class Watch:
    """An example that goes on."""

    def __init__(self, process, line, expected):
        self.process, self.line, self.expected = process, line, expected
        self.printed = ""
        os.set_blocking(process.stdout.fileno(), False)

    def is_right(self, patience):
        """Whether it shows what it is to show, within so many seconds."""
        deadline = time.monotonic() + patience
        while True:
            self.printed += (self.process.stdout.read() or b"").decode()
            if matches(self.printed, self.expected):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Node:
    """An agent that simulates a machine, in a directory of its own."""

    def __init__(self, program, machine):
        machine, _, config = machine.partition("; config: ")
        self.directory = tempfile.TemporaryDirectory(prefix="corehold-node-")
        self.process = subprocess.Popen(
            [program, "agent", "--root", self.directory.name, "--simulate", machine,
             *(["--config", ROOT / config] if config else [])],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        socket = Path(self.directory.name) / "run/corehold.sock"
        deadline = time.monotonic() + 20
        while not socket.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError("the agent does not start")
            time.sleep(0.01)

    def command(self, program, words):
        words = list(words)
        at = words.index("--") if "--" in words else len(words)
        words[at:at] = ["--root", self.directory.name]
        return [program, *words]

    def watch(self, program, line, expected):
        process = subprocess.Popen(self.command(program, shlex.split(line)), cwd=ROOT,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        watch = Watch(process, line, expected)
        # What is there comes at once; whatever comes first, it all comes.
        time.sleep(0.2)
        return watch

    def ask(self, program, words):
        return subprocess.run(self.command(program, words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, cwd=ROOT)

    def close(self):
        self.process.terminate()
        self.process.communicate()
        self.directory.cleanup()


def tell(document, line, expected, printed, rest=""):
    print(f"{document}: corehold {line}\n--- shown\n{expected}--- printed")
    print(printed + rest)


def check(program, document):
    """How many examples there are, and those that differ."""
    text = Path(document).read_text(encoding="utf-8")
    count, wrong, node, watch = 0, 0, None, None
    marks = [(m.start(), m.group(1), None) for m in NODE.finditer(text)]
    examples = [(m.start(), m.group(1), m.group(2)) for m in EXAMPLE.finditer(text)]
    try:
        for _, line, expected in sorted(marks + examples):
            if expected is None:
                if node:
                    node.close()
                node = Node(program, line)
                continue
            count += 1
            words = shlex.split(line)
            if node and words[0] in SHOWING and "-w" in words:
                watch = node.watch(program, line, expected)
                continue
            if node and words[0] in ASKING:
                done = node.ask(program, words)
                deadline = time.monotonic() + 5
                # Pods take a moment to start.
                while words[0] in SHOWING and not matches(done.stdout, expected):
                    if time.monotonic() > deadline:
                        break
                    done = node.ask(program, words)
                good = matches(done.stdout, expected)
            else:
                done = subprocess.run([program, *words], capture_output=True, text=True, cwd=ROOT)
                good = done.stdout == expected and done.returncode in (
                    (0, 1) if "--resize" in words else (0,))
            if not good:
                wrong += 1
                tell(document, line, expected, done.stdout,
                     (done.stderr or "") + f"--- exit code {done.returncode}")
            if watch:
                if not watch.is_right(5):
                    wrong += 1
                    tell(document, watch.line, watch.expected, watch.printed)
                watch.close()
                watch = None
    finally:
        if watch:
            watch.close()
        if node:
            node.close()
    return count, wrong


def main():
    if len(sys.argv) < 3:
        print("usage: check_examples.py COREHOLD DOCUMENT...", file=sys.stderr)
        return 2
    program, count, wrong = Path(sys.argv[1]).resolve(), 0, 0
    for document in sys.argv[2:]:
        more, differ = check(program, document)
        count, wrong = count + more, wrong + differ
    print(f"{count} examples, {wrong} differ")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
