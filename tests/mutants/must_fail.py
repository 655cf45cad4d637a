#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a property test of a mutant: must_fail.py COMMAND...

Succeeds only if the test fails because a promise is broken. A mutant that passes, or that
crashes, hangs or throws, proves nothing.
"""
import subprocess
import sys

SIGN = "promise broken"


def main(command):
    run = subprocess.run(command, capture_output=True, text=True)
    output = run.stdout + run.stderr
    lines = [line for line in output.splitlines() if SIGN in line]
    if run.returncode == 1 and lines and "exception" not in output:
        print(f"noticed: {lines[0]}")
        return 0
    print(output[-4000:])
    print(f"the mutant was not noticed: exit code {run.returncode}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
