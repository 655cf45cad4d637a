#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the mutated sources of one mutant.

    mutate.py files TABLE MUTANT              the files it edits, one on each line
    mutate.py make TABLE MUTANT SOURCE OUT    writes the mutated ones of src/ SOURCE to OUT

Fails when an edit's original text is not in its file exactly once, so that a mutant
cannot turn into no mutant unnoticed.
"""
import sys
import tomllib
from pathlib import Path


def edits_of(table, mutant):
    """The mutant's edits by file, in their order."""
    edits = {}
    for edit in tomllib.loads(Path(table).read_text())["edit"]:
        if edit["mutant"] == mutant:
            edits.setdefault(edit["file"], []).append((edit["original"], edit["mutated"]))
    if not edits:
        sys.exit(f"{table}: there is no mutant {mutant}")
    return edits


def mutated(text, edits, name):
    """The text with every edit made."""
    for original, replacement in edits:
        count = text.count(original)
        if count != 1:
            sys.exit(f"{name}: found {count} times, must be once:\n{original}")
        text = text.replace(original, replacement)
    return text


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "files":
        print("\n".join(edits_of(*arguments[1:])))
    elif len(arguments) == 5 and arguments[0] == "make":
        table, mutant, source, out = arguments[1:]
        for name, edits in edits_of(table, mutant).items():
            target = Path(out) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(mutated((Path(source) / name).read_text(), edits, name))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
