#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over every source file of a build, remembering what was clean.

    tools/tidy.py [BUILD_DIR] [FILE...]     default: build/tidy, every file

A file is checked again only when it, a header of ours that it includes (directly
or not), a .clang-tidy, the compile command or clang-tidy itself has changed. What
is known to be clean is an empty file under build/tidy-cache named by that hash.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "tidy-cache"
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


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


def key_of(source, command, version, known):
    digest = hashlib.sha256(version + command.encode())
    configs = [folder / ".clang-tidy" for folder in source.parents if folder.is_relative_to(ROOT)]
    for path in [*filter(Path.is_file, configs), *headers_of(source, known)]:
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def tidy(build, source):
    """The complaints about one file; empty when it is clean."""
    done = subprocess.run(
        ["clang-tidy", "-p", str(build), "--quiet", str(source)], capture_output=True, text=True
    )
    if done.returncode == 0:
        return ""
    # The compiler's count of suppressed warnings says nothing.
    noise = re.compile(r"^\d+ warnings? .*generated\.$")
    errors = [line for line in done.stderr.splitlines() if not noise.match(line)]
    return "\n".join([done.stdout.strip(), *errors]) or "clang-tidy failed without a message"


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "tidy").resolve()
    wanted = {Path(name).resolve() for name in sys.argv[2:]}
    database = build / "compile_commands.json"
    if not database.is_file():
        shown = database.relative_to(ROOT) if database.is_relative_to(ROOT) else database
        print(f"tidy: no {shown}; run cmake --preset tidy first", file=sys.stderr)
        return 2
    commands = {}
    for entry in json.loads(database.read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        ours = source.is_relative_to(ROOT) and not source.is_relative_to(ROOT / "build")
        if ours and (not wanted or source in wanted):
            commands.setdefault(source, entry["command"])
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True).stdout
    known = {}
    keys = {source: key_of(source, command, version, known) for source, command in commands.items()}
    todo = sorted(source for source, key in keys.items() if not (CACHE / key).exists())
    print(f"clang-tidy: {len(commands)} files, {len(todo)} to check", flush=True)

    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(tidy, build, source): source for source in todo}
        for number, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            source, complaints = jobs[job], job.result()
            name = source.relative_to(ROOT)
            if complaints:
                dirty += 1
                print(complaints)
            else:
                (CACHE / keys[source]).touch()
            print(f"[{number}/{len(todo)}] {name}{': NOT CLEAN' if complaints else ''}", flush=True)
    print(f"clang-tidy: {dirty} of {len(commands)} files are not clean")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
