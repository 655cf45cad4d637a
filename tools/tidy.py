#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over every source file of a build, remembering what was clean.

    tools/tidy.py [--sample N] [BUILD_DIR] [FILE...]     default: build/tidy, every file

A file is checked again only when it, a header of ours that it includes (directly
or not), a .clang-tidy, the compile command or clang-tidy itself has changed:
tools/tidy-clean.txt has a digest of all that for every file found clean. It is
part of the repository, since clang-tidy needs minutes by the dozen for all of it;
commit it with what you changed. With --sample, N files that it calls clean are
checked all the same, drawn anew each time, so that nobody has to believe it.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLEAN = ROOT / "tools" / "tidy-clean.txt"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Where a crash would be ours alone to see.
NOT_SHIPPED = re.compile(r"^(tests|bench|fuzz)/|_test\.cc$|testing\.cc$|/reference\.cc$")


def headers_of(source, known):
    """Every file of ours that `source` includes, `source` itself among them."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        if path not in known:
            known[path] = [name.decode() for name in INCLUDE.findall(path.read_bytes())]
        for name in known[path]:
            for folder in (path.parent, ROOT / "src", ROOT, ROOT / "tests"):
                if (folder / name).is_file():
                    todo.append((folder / name).resolve())
                    break
    return sorted(seen)


def digest_of(source, command, version, known):
    # Neither where the repository is nor whether there is a ccache matters.
    command = re.sub(r"^\S*ccache ", "", command.replace(str(ROOT), ""))
    digest = hashlib.sha256(version + command.encode())
    digest.update(b"tests without paths" if NOT_SHIPPED.search(name_of(source)) else b"")
    configs = [folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT)]
    for path in [*filter(Path.is_file, configs), *headers_of(source, known)]:
        digest.update(name_of(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def name_of(path):
    return str(path.relative_to(ROOT))


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


def read_clean():
    if not CLEAN.is_file():
        return set()
    return {line.split()[0] for line in CLEAN.read_text().splitlines() if line}


def write_clean(digests, clean):
    lines = [f"{digest} {name_of(source)}\n" for source, digest in digests.items() if digest in clean]
    CLEAN.write_text("".join(sorted(lines, key=lambda line: line.split()[1])))


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over every source file of a build")
    parser.add_argument("--sample", type=int, default=0, help="check N clean files all the same")
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
    commands = {}
    for entry in json.loads(database.read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(ROOT) and not source.is_relative_to(ROOT / "build"):
            commands.setdefault(source, entry["command"])
    told = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    version = "".join(re.findall(r"version \S+", told)).encode()  # not the CPU it runs on
    known = {}
    digests = {path: digest_of(path, command, version, known) for path, command in commands.items()}
    clean = read_clean()
    old = [path for path, digest in digests.items() if digest in clean]
    todo = [path for path, digest in digests.items() if digest not in clean]
    todo += random.sample(old, min(asked.sample, len(old)))
    todo = sorted(path for path in todo if not wanted or path in wanted)
    print(f"clang-tidy: {len(commands)} files, {len(todo)} to check", flush=True)

    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(tidy, build, source): source for source in todo}
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            source, complaints = jobs[job], job.result()
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
            write_clean(digests, clean)
    print(f"clang-tidy: {dirty} of {len(todo)} checked files are not clean, {len(commands)} in all")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
