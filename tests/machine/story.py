# SPDX-License-Identifier: Apache-2.0
"""examples/tell-before-taking as it is on a machine with enough CPUs: real containers, cgroups
and pinned workers. The guest's shell is that of busybox, which runs it too."""
import re
from pathlib import Path

from guest import M12
from guest_node import DEADLINE

SCRIPT = Path(__file__).resolve().parent.parent.parent / "examples" / "tell-before-taking"
# What must be told, in this order.
ORDER = (
    r"^A real node on this machine",
    r"app \| .* has 1; on 1; workers: 1$",
    r"^pod default/app resized: main has (\S+)$",
    r"app \| .* has {grown}; on .*; workers: 4$",
    r"^pod default/app asked for: main cpu 4 -> 1$",
    r"app \| .* has 1; off .* in \d+\.\d\d ms; workers: 1$",
    r"^default/app +main +{grown} +1 +1 ",
    r"^corehold: in progress: main has {grown}, of which .* will leave",
    r"^pod default/app resized: main has 1$",
    r"^default/app +main +1 +1 +- ",
    r" ScaleDelayStarted ",
    r" ScaleDelayTimerFired ",
)


def story(guest):
    guest.write("/root/story", SCRIPT.read_text(encoding="utf-8"))
    # No delay ends until somebody waits for its end: what comes before that is in time on a busy host as well.
    # Into a file: the line is a terminal to the guest, where the countdown changes in its line.
    environment = "COREHOLD_HOLD_DELAYS=/root/hold COREHOLD=corehold FOLLOW_CPUS=/image/bin/follow_cpus"
    guest.sh(
        "touch /root/hold /root/said\n"
        f"{{ {environment} sh /root/story > /root/said 2>&1; echo $? > /root/code; }} &\n"
        "until grep -q 'of which .* will leave' /root/said || [ -e /root/code ]; do usleep 100000; done\n"
        "rm /root/hold; until [ -s /root/code ]; do usleep 100000; done\n"
        '[ "$(cat /root/code)" = 0 ] || { cat /root/said; false; }',
        timeout=DEADLINE,
    )
    said = guest.sh("cat /root/said")
    print(said, flush=True)
    assert "cannot be had" not in said, said
    at, grown = 0, ""
    for pattern in ORDER:
        found = re.compile(pattern.replace("{grown}", re.escape(grown)), re.MULTILINE).search(said, at)
        assert found, f"{pattern} is not in:\n{said[at:]}"
        at = found.end()
        grown = grown or (found.group(1) if found.groups() else "")
    left = guest.sh("ls /tmp; ls -d /sys/fs/cgroup/*corehold* 2>/dev/null; ps | grep [f]ollow_cpus", check=False)
    assert left.strip() == "", left


TESTS = {"story_12": (M12, story)}
