#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over every source file of a build, the latest changes first.

    tools/tidy.py [--minutes M] [BUILD_DIR] [FILE...]    default: build/tidy, every file

Files that are not committed come first, then those of the latest commits, then the others in
an order drawn anew each time. clang-tidy needs minutes by the dozen for all of them: with
--minutes no file is begun after that time, and what is left is counted. So a run of a few
minutes looks at all of an ordinary change and at a sample of the rest.

BUILD_DIR/clean.txt remembers by digest what was found clean there: a file is checked again
only when it, its own header, a .clang-tidy or clang-tidy itself has changed. A header without
a source file of its name is looked at with the first file that includes it.

Tests, benchmarks and fuzz targets are not walked path by path (clang-analyzer).
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMITS = 200  # so far back the order of changes is looked up
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Where a crash would be ours alone to see.
NOT_SHIPPED = re.compile(r"^(tests|bench|fuzz)/|_test\.cc$|testing\.cc$|/reference\.cc$")


def included_by(source):
    """The files of ours that `source` itself includes."""
    for name in INCLUDE.findall(source.read_bytes()):
        for folder in (source.parent, ROOT / "src", ROOT, ROOT / "tests"):
            path = folder / name.decode()
            if path.is_file():
                yield path.resolve()
                break


def headers_of(sources):
    """The headers that are looked at with each source file."""
    headers, taken = {}, set()
    for source in sources:
        own = source.with_suffix(".h")
        headers[source] = [own] if own.is_file() else []
        taken.update(headers[source])
    for source in sorted(sources):
        for header in included_by(source):
            if header not in taken:
                taken.add(header)
                headers[source].append(header)
    return headers


def digest_of(source, headers, version):
    digest = hashlib.sha256(version)
    digest.update(b"tests without paths" if NOT_SHIPPED.search(name_of(source)) else b"")
    configs = [folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT)]
    for path in [*filter(Path.is_file, configs), source, *sorted(headers)]:
        digest.update(name_of(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def name_of(path):
    return str(path.relative_to(ROOT))


def once(build):
    """A directory with the database of `build` in which each file stands once: one that is part
    of several targets, mutants and optimised copies, need not be looked at for each."""
    first = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        first.setdefault(Path(entry["directory"], entry["file"]).resolve(), entry)
    folder = build / "once"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(list(first.values())))
    return folder, first.keys()


def tidy(build, source):
    """The complaints about one file; empty when it is clean."""
    command = ["clang-tidy", "-p", str(build), "--quiet", str(source)]
    if NOT_SHIPPED.search(name_of(source)):
        command.insert(1, "--checks=-clang-analyzer-*")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    # The compiler's count of suppressed warnings says nothing.
    noise = re.compile(r"^\d+ warnings? .*generated\.$")
    errors = [line for line in done.stderr.splitlines() if not noise.match(line)]
    return "\n".join([done.stdout.strip(), *errors]) or "clang-tidy failed without a message"


def tidy_before(deadline, build, source):
    """The same, or None when the time is up."""
    if deadline is not None and time.monotonic() > deadline:
        return None
    return tidy(build, source)


def git(*arguments):
    """The lines that git prints; none without git or a repository."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def ages_of_changes():
    """How long ago each path was changed, as a rank: 0 when that is not committed, then by
    commit. Paths that have not been changed lately are absent."""
    ages = {line[3:]: 0 for line in git("status", "--porcelain", "--no-renames")}
    age = 0
    for line in git("log", f"-{COMMITS}", "--format=%x00", "--name-only", "--no-renames"):
        if line == "\0":
            age += 1
        elif line:
            ages.setdefault(line, age)
    return ages


def latest_first(sources, headers, ages):
    """By the latest change of the file or a header that is looked at with it; files of the same
    age in an order drawn anew."""
    drawn = random.sample(sources, len(sources))
    return sorted(drawn, key=lambda source: min(
        ages.get(name_of(path), COMMITS + 1) for path in (source, *headers[source])))


def read_clean(path):
    return {line.split()[0] for line in path.read_text().splitlines()} if path.is_file() else set()


def write_clean(path, digests, clean):
    lines = [f"{digest} {name_of(source)}\n" for source, digest in digests.items() if digest in clean]
    path.write_text("".join(sorted(lines, key=lambda line: line.split()[1])))


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over every source file of a build")
    parser.add_argument("--minutes", type=float, help="begin no file after that time")
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "tidy")
    parser.add_argument("files", nargs="*", type=Path)
    asked = parser.parse_args()
    build = asked.build.resolve()
    wanted = {path.resolve() for path in asked.files}
    database = build / "compile_commands.json"
    if not database.is_file():
        shown = database.relative_to(ROOT) if database.is_relative_to(ROOT) else database
        print(f"tidy: no {shown}; run cmake --preset tidy first", file=sys.stderr)
        return 2
    folder, listed = once(build)
    sources = {
        source
        for source in listed
        if source.is_relative_to(ROOT) and not source.is_relative_to(ROOT / "build")
    }
    told = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    version = "".join(re.findall(r"version \S+", told)).encode()  # not the CPU it runs on
    headers = headers_of(sources)
    digests = {path: digest_of(path, headers[path], version) for path in sorted(sources)}
    remembered = build / "clean.txt"
    clean = read_clean(remembered)
    todo = [path for path, digest in digests.items() if digest not in clean]
    todo = [path for path in todo if not wanted or path in wanted]
    todo = latest_first(todo, headers, ages_of_changes())
    print(f"clang-tidy: {len(sources)} files, {len(todo)} to check", flush=True)

    deadline = time.monotonic() + 60 * asked.minutes if asked.minutes else None
    dirty = left = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(tidy_before, deadline, folder, source): source for source in todo}
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            source, complaints = jobs[job], job.result()
            if complaints is None:
                left += 1
                continue
            if complaints:
                dirty += 1
                clean.discard(digests[source])
                print(complaints)
            else:
                clean.add(digests[source])
            print(
                f"[{number}/{len(todo)}] {name_of(source)}{': NOT CLEAN' if complaints else ''}",
                flush=True,
            )
            write_clean(remembered, digests, clean)
    print(
        f"clang-tidy: {dirty} of {len(todo) - left} checked files are not clean, "
        f"{left} left for want of time, {len(sources)} in all"
    )
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
