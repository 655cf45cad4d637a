#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of documents and compares what they print.

    tools/check_examples.py COREHOLD DOCUMENT...

An example is a fenced block whose first line is `$ corehold ARGUMENTS`; the rest of the
block is the output. It runs in the root of the repository, so that it may name files such
as docs/examples/cpu_manager_state. Exits 1 when an example prints something else or fails,
or when there is no example at all.
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^```\w*\n\$ corehold ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    if len(sys.argv) < 3:
        print("usage: check_examples.py COREHOLD DOCUMENT...", file=sys.stderr)
        return 2
    program, count, wrong = Path(sys.argv[1]).resolve(), 0, 0
    for document in sys.argv[2:]:
        for arguments, expected in EXAMPLE.findall(Path(document).read_text(encoding="utf-8")):
            count += 1
            done = subprocess.run(
                [program, *shlex.split(arguments)], capture_output=True, text=True, cwd=ROOT
            )
            if done.stdout != expected or done.returncode != 0:
                wrong += 1
                print(f"{document}: corehold {arguments}\n--- shown\n{expected}--- printed")
                print(done.stdout + done.stderr + f"--- exit code {done.returncode}")
    print(f"{count} examples, {wrong} differ")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
