#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Debian package of a build and tests it.

    package_test.py --build DIR --cache DIR --machine-cache DIR contents|debian

contents: what is in it, and what lintian says of it. debian: installs it in a Debian 12 with
systemd, in a guest of QEMU, upgrades, removes and purges it.

Exit codes: 0 passed, 1 failed, 77 skipped because it cannot be done here; with CI=true in the
environment that is a failure.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parent.parent / "machine"))

import debian_guest  # noqa: E402
import image  # noqa: E402
import node_in_debian  # noqa: E402
from guest import Failed  # noqa: E402

SKIPPED = 77
NOT_ASKED_FOR = ["initial-upload-closes-no-bugs"]  # only Debian's own archive wants that
EXPECTED = (
    "./usr/bin/corehold",
    "./lib/systemd/system/corehold.service",
    "./lib/systemd/system/corehold-launcher.service",
    "./lib/systemd/system/corehold-launcher.socket",
    "./lib/systemd/system/corehold-pods.service",
    "./etc/corehold/node.yaml",
    "./etc/corehold/pods/",
    "./usr/share/corehold/isolation-full.conf",
    "./usr/share/doc/corehold/copyright",
    "./usr/share/doc/corehold/changelog.gz",
    "./usr/share/doc/corehold/changelog.Debian.gz",
    "./usr/share/doc/corehold/operations.md",
    "./usr/share/man/man1/corehold.1.gz",
    "./usr/share/bash-completion/completions/corehold",
)


def make(build, folder, version, compression="gzip"):
    """The package as this version; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    image.run(
        "cpack", "-G", "DEB", "-B", folder, "--config", build / "CPackConfig.cmake",
        "-D", f"CPACK_DEBIAN_PACKAGE_VERSION={version.partition('-')[0]}",
        "-D", f"CPACK_DEBIAN_COMPRESSION_TYPE={compression}",
    )  # fmt: skip
    made = folder / f"corehold_{version}_amd64.deb"
    assert made.exists(), sorted(folder.iterdir())
    return made


def field(package, name):
    return image.run("dpkg-deb", "-f", package, name).strip()


def contents(arguments):
    package = make(arguments.build, arguments.build / "package-contents", node_in_debian.OLD)
    listing = image.run("dpkg-deb", "-c", package)
    print(listing)
    print(image.run("dpkg-deb", "-I", package))
    there = {line.split()[5] for line in listing.splitlines()}
    missing = sorted(set(EXPECTED) - there)
    assert not missing, f"missing: {missing}"
    assert all(line.split()[1] == "root/root" for line in listing.splitlines()), "not root's"
    with open("/dev/null") as nothing:
        checked = subprocess.run(
            [arguments.build / "src/main/corehold", "config", "check", "packaging/node.yaml"],
            cwd=Path(__file__).resolve().parent.parent.parent, stdin=nothing, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
    if shutil.which("lintian") is None:
        raise image.Missing("package lintian is not installed")
    verdict = subprocess.run(
        ["lintian", "--fail-on", "error,warning", "--allow-root", "--suppress-tags",
         ",".join(NOT_ASKED_FOR), package],
        capture_output=True, text=True,
    )  # fmt: skip
    print(verdict.stdout, verdict.stderr)
    assert verdict.returncode == 0, "lintian complains"


def debian(arguments):
    folder = arguments.build / "package-debian"
    packages = [
        make(arguments.build, folder, version, compression="none")  # for a slow guest
        for version in (node_in_debian.OLD, node_in_debian.NEW)
    ]
    cache = arguments.cache
    began = time.monotonic()
    guest = debian_guest.DebianGuest(
        cache, arguments.machine_cache, field(packages[0], "Depends"), packages
    )
    with guest:
        print(f"guest up after {time.monotonic() - began:.1f} s", flush=True)
        node_in_debian.whole_life(guest)
        print(f"{time.monotonic() - began:.1f} s, {guest.seconds_used():.1f} s of CPU")


TESTS = {"contents": contents, "debian": debian}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--cache", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--machine-cache", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("test", choices=sorted(TESTS))
    arguments = parser.parse_args()
    try:
        TESTS[arguments.test](arguments)
    except image.Missing as missing:
        if os.environ.get("CI") == "true":
            print(f"FAILED: CI=true, and it cannot be tested: {missing}")
            return 1
        print(f"SKIPPED: it cannot be tested: {missing}")
        return SKIPPED
    except (AssertionError, Failed, RuntimeError):
        traceback.print_exc(file=sys.stdout)
        return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
