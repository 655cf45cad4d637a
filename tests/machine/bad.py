# SPDX-License-Identifier: Apache-2.0
"""Machines on which not everything can be kept off held CPUs.

D-Bus that hangs or is missing, read-only settings of the kernel, no files of interrupts, a unit whose
only CPU is held, somebody who sets his own value again and again. Each time the agent names what stays
(`corehold isolation show`, the event CpusNotExclusive, the condition CpusExclusive) and serves on.
"""
import re

from fence import isolation
from guest import M16
from guest_node import GuestNode, Pods, config, cpus, runs, with_mounts
from image import KERNELS
from others import TOP, Others, OthersOfSystemd

ALL = "0-15"
# Where systemd can be asked: src/kernel/units.h.
SOCKETS = ("/run/systemd/private", "/run/dbus/system_bus_socket")
MUTE = "/run/mute"  # takes connections and never answers
MUTE_SOCKETS = with_mounts(*(f"mount -o bind {MUTE} {socket}" for socket in SOCKETS))
# /run/systemd/system says that systemd runs this machine.
NO_SOCKETS = with_mounts(
    "mount -t tmpfs none /run/systemd", "mkdir /run/systemd/system", "mount -t tmpfs none /run/dbus"
)
READ_ONLY_SETTINGS = with_mounts(
    "mount -o bind /proc/sys /proc/sys", "mount -o remount,bind,ro none /proc/sys"
)
NO_INTERRUPT_FILES = with_mounts("mount -t tmpfs none /proc/irq")
# What level full sets below /proc/sys, and how it is named.
SETTINGS = {
    "/proc/sys/kernel/watchdog_cpumask": "the soft-lockup watchdog",
    "/proc/sys/kernel/timer_migration": "timers that idle CPUs hand to busy ones",
}
AFFINITIES = "/proc/irq/*/smp_affinity_list"
WATCHED = 8  # seconds, several reconciles


def leftovers(node, text):
    """What the agent says it cannot keep away, for this reason."""
    return [each for each in node.json("isolation show")["leftovers"] if text in each["reason"]]


def check_told(node, text):
    """It is in `isolation show`, in an event and in the condition; the leftovers."""
    found = node.eventually(lambda: leftovers(node, text), f"{text!r} is a reason in isolation show")
    assert all(each["movable"] and each["advice"] for each in found), found
    node.eventually(lambda: node.told("CpusNotExclusive", text), f"{text!r} is in an event")
    said = node.condition("CpusExclusive")
    assert said["status"] == "False" and said["reason"] == "Intruders", said
    assert text in said["message"], said
    for each in found:
        print(f"  {each['what']}: {each['reason']}; {each['advice']}", flush=True)
    return found


def is_exclusive(node):
    return node.condition("CpusExclusive")["status"] == "True"


def serve(node, made, name, count=1):
    """A pod gets CPUs of its own, by the agent and by the kernel; these."""
    node.apply([made.pod(name, count)])
    node.eventually(lambda: runs(node.pods()[name]), f"{name} runs")
    held = node.held(name)
    effective = node.guest.sh(f"cat {node.cgroup(name)}/cpuset.cpus.effective")
    assert len(held) == count and cpus(effective) == held, (held, effective)
    return held


def values(guest, *files):
    """{file: content} of those that are there; a file may be a pattern."""
    said = guest.sh(f"grep -H '' {' '.join(files)} 2> /dev/null", check=False)
    return dict(line.split(":", 1) for line in said.splitlines())


# Without systemd.


def read_only_settings(guest):
    print("/proc/sys is read-only:", flush=True)
    before = values(guest, *SETTINGS)
    assert before
    made = Pods()
    with GuestNode(guest, config("0", own=isolation("full")), wrapper=READ_ONLY_SETTINGS) as node:
        held = serve(node, made, "first")
        found = check_told(node, "EROFS")
        assert {each["what"] for each in found} == {SETTINGS[file] for file in before}, found
        assert all("isolation-full.conf" in each["advice"] for each in found), found
        # The rest of the level is there.
        mask = int(guest.sh("cat /sys/devices/virtual/workqueue/cpumask").replace(",", ""), 16)
        assert not [cpu for cpu in held if mask >> cpu & 1], (held, mask)
        serve(node, made, "second")
        assert values(guest, *SETTINGS) == before


def no_interrupt_files(guest):
    print("/proc/irq is empty:", flush=True)
    before = values(guest, AFFINITIES)
    assert before
    made = Pods()
    with GuestNode(guest, config("0", own=isolation("irqs")), wrapper=NO_INTERRUPT_FILES) as node:
        held = serve(node, made, "first") | serve(node, made, "second")
        left = node.json("isolation show")["leftovers"]
        print(f"  {node.condition('CpusExclusive')['message']}; leftovers {left}", flush=True)
        assert is_exclusive(node) or left, node.condition("CpusExclusive")
        # The fence is there.
        shell = cpus(guest.sh("grep Cpus_allowed_list /proc/self/status").split()[1])
        assert shell and not shell & held, (shell, held)
        assert values(guest, AFFINITIES) == before


# With systemd.


def start_mute(guest):
    pid = int(guest.sh(f"systemd-socket-activate -l {MUTE} sleep 9999999 > /dev/null 2>&1 & echo $!"))
    guest.sh(f"until [ -S {MUTE} ]; do usleep 50000; done")
    return pid


def hanging_bus(guest):
    print("systemd does not answer:", flush=True)
    pid = start_mute(guest)
    check_without_bus(guest, MUTE_SOCKETS, "no answer within 3000 ms")
    guest.sh(f"kill -KILL {pid}; rm {MUTE}")


def missing_bus(guest):
    print("systemd cannot be reached:", flush=True)
    check_without_bus(guest, NO_SOCKETS, f"talk to systemd over {SOCKETS[0]}: ENOENT")


def check_without_bus(guest, wrapper, text):
    made = Pods()
    with GuestNode(guest, config("0", own=isolation()), wrapper=wrapper) as node:
        held = serve(node, made, "first")
        found = check_told(node, text)
        assert {"/system.slice", "/init.scope"} <= {each["what"] for each in found}, found
        assert all(socket in found[0]["reason"] for socket in SOCKETS), found[0]
        assert allowed_of("system.slice", guest) == ""
        held |= serve(node, made, "second")
        # An agent that can ask systemd finds both pods and keeps everybody else away.
        node.stop()
        node.wrapper = ""
        node.start()
        node.eventually(lambda: is_exclusive(node), "held CPUs are exclusive once systemd answers")
        allowed = cpus(allowed_of("system.slice", guest))
        assert allowed and not allowed & held, (allowed, held)
    assert allowed_of("system.slice", guest) == ""


def allowed_of(unit, guest):
    return guest.sh(f"systemctl show -P AllowedCPUs {unit}").strip().replace(" ", ",")


def allow(unit, guest, text):
    guest.sh(f"systemctl set-property --runtime {unit} AllowedCPUs={text}")


def allow_all(unit, guest):
    """As it was. Up to kernel 6.1 CPUs cannot be taken back from a cgroup with processes."""
    allow(unit, guest, ALL)
    allow(unit, guest, "")


def only_cpu_held(guest):
    print("the only CPU of a unit is held:", flush=True)
    made = Pods()
    with GuestNode(guest, config("0", own=isolation())) as node, OthersOfSystemd(guest) as others:
        others.start("sleeper", "user/session", "sleep 100000")
        allow("user.slice", guest, "15")
        # systemd answers before it has told the kernel.
        node.eventually(lambda: others.allowed("sleeper") == {"sleeper": "15"}, "it has CPU 15")
        assert serve(node, made, "all", 15) == cpus("1-15")
        (found,) = check_told(node, "it is allowed CPUs 15 alone")
        assert found["what"] == "/user.slice" and "such as 0" in found["advice"], found
        assert allowed_of("system.slice", guest) == "0"
        assert allowed_of("user.slice", guest) == "15"
        assert others.allowed("sleeper") == {"sleeper": "15"}, others.allowed()
        node.delete("all")
        node.eventually(lambda: is_exclusive(node), "nothing is in the way any more")
        node.eventually(lambda: allowed_of("system.slice", guest) == "", "all CPUs are given back")
        assert allowed_of("user.slice", guest) == "15"
        assert others.allowed("sleeper") == {"sleeper": "15"}, others.allowed()
    allow_all("user.slice", guest)


# With and without.


class Writer:
    """Gives everybody in a group all CPUs again and again, and an interrupt too, as tuned does."""

    def __init__(self, guest, others):
        self.guest = guest
        self.others = others
        lines = guest.sh("grep ttyS0 /proc/interrupts")
        self.irq = f"/proc/irq/{re.match(r' *([0-9]+):', lines).group(1)}/smp_affinity_list"
        if self.has_units:
            self.cpuset = f"{TOP}/user.slice/cpuset.cpus"
            self.target = "unit user.slice"
            group = f"systemctl set-property --runtime user.slice AllowedCPUs={ALL}"
        else:
            self.cpuset = f"{TOP}/user/cpuset.cpus"
            self.target = f"file {self.cpuset}"
            group = f"echo {ALL} > {self.cpuset}"
        guest.write("/tmp/writer", f"while :; do {group}; echo {ALL} > {self.irq}; usleep 300000; done")

    @property
    def has_units(self):
        return isinstance(self.others, OthersOfSystemd)

    def start(self):
        self.others.start("writer", "system/cron", "sh /tmp/writer")

    def end(self):
        self.others.end("writer")
        if not self.has_units:  # what it has started last ends by itself
            procs = f"{TOP}/system/cron/cgroup.procs"
            self.guest.sh(f'while [ -n "$(cat {procs})" ]; do usleep 50000; done')

    def seen(self):
        """All that was in both files in a while."""
        return set(self.guest.sh(
            f"for N in $(seq {WATCHED * 5}); do cat {self.cpuset} {self.irq}; usleep 200000; done"
        ).split())


def insisting_writer(guest, others_of=Others):
    print("somebody sets other values all the time:", flush=True)
    made = Pods()
    with GuestNode(guest, config("0", own=isolation("irqs"))) as node, others_of(guest) as others:
        writer = Writer(guest, others)
        others.start("session", "user/session", "sleep 100000")
        serve(node, made, "first")
        assert is_exclusive(node), node.condition("CpusExclusive")
        writer.start()
        insists = "somebody else has set it"
        targets = {writer.target, f"file {writer.irq}"}
        node.eventually(lambda: {each["what"] for each in leftovers(node, insists)} == targets,
                        f"{targets} are named")
        node.eventually(lambda: all(target in node.condition("CpusExclusive")["message"] for target in targets),
                        "the condition names both")
        found = check_told(node, insists)
        assert all(f'"{ALL}" 4 times' in each["reason"] for each in found), found
        changed = node.json("isolation show")["changed"]
        repairs = {f"{each['kind']} {each['name']}": each["repairs"] for each in changed}
        assert {repairs[target] for target in targets} == {3}, repairs
        # It is left alone, and told once.
        told = node.told("CpusNotExclusive")
        assert writer.seen() == {ALL}
        assert node.told("CpusNotExclusive") == told, node.events()
        serve(node, made, "second")
        writer.end()
        # The next grants begin anew.
        node.delete("first", "second")
        node.eventually(lambda: not node.json("isolation show")["changed"], "everything is given back")
        serve(node, made, "third")
        assert is_exclusive(node), node.condition("CpusExclusive")
        assert others.allowed("session")["session"] != ALL, others.allowed()
    if others_of is OthersOfSystemd:
        allow_all("user.slice", guest)


def without_systemd(guest):
    read_only_settings(guest)
    no_interrupt_files(guest)
    insisting_writer(guest)


def with_systemd(guest):
    hanging_bus(guest)
    missing_bus(guest)
    only_cpu_held(guest)
    insisting_writer(guest, OthersOfSystemd)


TESTS = {
    **{f"bad_{suite}": (M16, without_systemd, {"suite": suite}) for suite in KERNELS},
    **{f"bad_systemd_{suite}": (M16, with_systemd, {"suite": suite, "systemd": True})
       for suite in KERNELS},
}
