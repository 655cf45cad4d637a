#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test in a guest.

    machine_test.py --cache DIR --program PATH... TEST

Exit codes: 0 passed, 1 failed, 77 skipped because the guest cannot be made here; with CI=true
in the environment that is a failure.
"""
import argparse
import os
import shutil
import sys
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True

import bad  # noqa: E402
import boot  # noqa: E402
import churn  # noqa: E402
import delay  # noqa: E402
import fence  # noqa: E402
import hotplug  # noqa: E402
import image  # noqa: E402
import interrupts  # noqa: E402
import kernels  # noqa: E402
import leak  # noqa: E402
import lifecycle  # noqa: E402
import partition  # noqa: E402
import policies  # noqa: E402
import quiet  # noqa: E402
import realtime  # noqa: E402
import resize  # noqa: E402
import restore  # noqa: E402
import story  # noqa: E402
import systemd_guest  # noqa: E402
import told  # noqa: E402
from guest import Crashed, Failed, Guest  # noqa: E402

SKIPPED = 77
MOST_RUNS = 4  # of a test whose guest's kernel crashes
TESTS = {**boot.TESTS, **policies.TESTS, **hotplug.TESTS, **lifecycle.TESTS, **leak.TESTS,
         **resize.TESTS, **story.TESTS, **told.TESTS, **delay.TESTS, **churn.TESTS, **fence.TESTS,
         **kernels.TESTS, **partition.TESTS, **restore.TESTS, **interrupts.TESTS, **bad.TESTS,
         **quiet.TESTS, **realtime.TESTS}
# Programs of this machine that guests need and busybox has no applet of, and their packages. All
# guests have them, so that there is one disk.
PROGRAMS = {"chrt": "util-linux"}


def machine_program(name):
    path = shutil.which(name)
    if path is None:
        raise image.Missing(f"package {PROGRAMS[name]} is not installed (no {name})")
    return path


def run(guest, test, began):
    """Seconds of CPU."""
    with guest:
        print(f"guest up after {time.monotonic() - began:.1f} s", flush=True)
        test(guest)
        return guest.seconds_used()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("test", choices=sorted(TESTS))
    arguments = parser.parse_args()
    shape, test, *options = TESTS[arguments.test]
    began = time.monotonic()
    options = dict(options[0]) if options else {}
    has_systemd = options.pop("systemd", False)
    packages = options.pop("packages", {})

    def make_guest():
        cache = Path(arguments.cache).resolve()
        cache.mkdir(parents=True, exist_ok=True)
        programs = [*arguments.program, *map(machine_program, PROGRAMS)]
        programs += [image.debian_program(cache, *each) for each in packages.items()]
        if has_systemd:
            return systemd_guest.SystemdGuest(cache, programs, **options)
        return Guest(shape, cache, programs, **options)

    def run_until_no_crash():
        for left in reversed(range(MOST_RUNS)):
            try:
                return run(make_guest(), test, began)
            except Crashed as crashed:
                if left == 0:
                    raise
                print(f"again, because the guest's kernel has crashed: {crashed}", flush=True)

    try:
        used = run_until_no_crash()
    except image.Missing as missing:
        if os.environ.get("CI") == "true":
            print(f"FAILED: CI=true, and the guest cannot be made: {missing}")
            return 1
        print(f"SKIPPED: the guest cannot be made: {missing}")
        return SKIPPED
    except (AssertionError, Failed):
        traceback.print_exc(file=sys.stdout)
        return 1
    print(f"passed in {time.monotonic() - began:.1f} s, {used:.1f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
