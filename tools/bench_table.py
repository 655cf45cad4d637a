#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark's JSON files as one table: ours, the kubelet's, the ratio.

A benchmark says the kubelet's figure in its label: `kubelet 14033 ns`.
"""
import json
import re
import sys

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
KUBELET = re.compile(r"kubelet ([\d.,]+) (ns|us|ms|s)\b")


def shown(nanoseconds):
    for unit in ("s", "ms", "us"):
        if nanoseconds >= UNITS[unit]:
            return f"{nanoseconds / UNITS[unit]:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def main():
    best, labels = {}, {}
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        if not text.strip():
            continue  # nothing matched the filter
        for run in json.loads(text)["benchmarks"]:
            if run.get("run_type") != "iteration" or run.get("error_occurred"):
                continue
            # A benchmark that takes the CPU time of a part of its loop reports it as its real time.
            key, suffix, _ = run["run_name"].partition("/manual_time")
            time = run["real_time" if suffix else "cpu_time"] * UNITS[run["time_unit"]]
            best[key] = min(time, best.get(key, time))
            labels[key] = run.get("label", "")
    width = max([len(key) for key in best] + [9])
    print(f"{'benchmark':<{width}}  {'ours':>10}  {'kubelet':>10}  {'ratio':>9}")
    for key, time in best.items():
        kubelet = KUBELET.search(labels[key])
        theirs = ratio = "-"
        if kubelet:
            figure = float(kubelet[1].replace(",", "")) * UNITS[kubelet[2]]
            theirs, ratio = shown(figure), f"{figure / time:,.{0 if figure >= 10 * time else 2}f}x"
        note = KUBELET.sub("", labels[key]).strip()
        print(f"{key:<{width}}  {shown(time):>10}  {theirs:>10}  {ratio:>9}  {note}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
