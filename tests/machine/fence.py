# SPDX-License-Identifier: Apache-2.0
"""Exclusive against everybody: tasks outside Corehold never run on a CPU that a container holds.

others.py has the tasks, tests/node/leak_judge.h says what a leak is. By hand, with more of everything:

    COREHOLD_SAMPLES=10000000 COREHOLD_GRANTS=1000 ctest --test-dir build/debug -R machine_fence --verbose
"""
import json
import os

from guest import M16
from guest_node import GuestNode, Pods, config, cpus, runs
from image import KERNELS
from others import KINDS, Others, OthersOfSystemd

SAMPLES = int(os.environ.get("COREHOLD_SAMPLES", "1000000"))  # of each kind, while a CPU is held
GRANTS = int(os.environ.get("COREHOLD_GRANTS", "50"))
PROOF = "/tmp/proof"
HOLD = 20000  # milliseconds
SHORT_SAMPLES, SHORT_HOLD = 50000, 5000  # for a first look
MOST_ROUNDS = 60
HOPPING = ("pinned", "service", "session")  # these come back to a CPU as soon as they may


def isolation(level="fence", **more):
    return {"isolation": {"level": level, **more}}


def judge(guest, *options):
    """The judge's verdict and counts."""
    said = guest.sh(f"judge {PROOF} {' '.join(options)}", check=False)
    return guest.code, json.loads(said.splitlines()[-1]), said


def granted(said):
    """The CPUs that a holder says it has."""
    (line,) = [line for line in said.splitlines() if line.startswith("granted ")]
    return line.split()[2]


def hold(node, made, number, count, milliseconds):
    """A grant, by turns of a command and of a pod."""
    words = ["/image/bin/holder", PROOF, "--milliseconds", str(milliseconds)]
    if number % 2 == 0:
        return node.corehold_run(f"--cpus {count}", " ".join(words))
    name = f"hold-{number}"
    node.apply([made.pod(name, count, command=words, restartPolicy="Never")])
    node.guest.sh(f"sleep {milliseconds // 1000}")  # asking takes the CPU from those who are to be looked at
    ends = ("Succeeded", "Failed")
    node.eventually(lambda: node.pods()[name]["status"]["phase"] in ends, f"{name} has ended")
    assert node.pods()[name]["status"]["phase"] == "Succeeded", node.pods()[name]["status"]
    node.delete(name)
    return ""


def sample(guest, node, others, samples=SAMPLES, milliseconds=HOLD):
    """Grants until each kind was looked at often enough, or a leak is found. The others stand still
    while the judge works: it would get little of the emulated machine, and more to read."""
    made = Pods()
    guest.sh(f"rm -rf {PROOF}; mkdir -p {PROOF}")
    first = granted(node.corehold_run("--cpus 2", f"holder {PROOF} --milliseconds 10"))
    others.start_kinds(PROOF, cpus(first))
    for number in range(MOST_ROUNDS):
        hold(node, made, number, 2 + number % 3, milliseconds)
        guest.sh("sleep 3")  # in which they may be on CPUs that were given back
        others.signal("STOP", *KINDS)
        verdict, counts, said = judge(guest, "--at-least 1", f"--each {samples}")
        print(f"  round {number}: " + ", ".join(
            f"{kind} {found['leaks']}/{found['during']}" for kind, found in counts["kinds"].items()
        ), flush=True)
        if verdict != 2 and (verdict == 1 or are_back(counts)):
            break
        others.signal("CONT", *KINDS)
    others.end(*KINDS)
    verdict, counts, said = judge(guest, "--at-least 1", f"--each {samples}")
    print(f"{first} and others granted {counts['grants']} times\n{said}", flush=True)
    return verdict, counts


def are_back(counts):
    """Each of HOPPING was on a CPU that had been given back."""
    return all(counts["kinds"][kind]["back"] > 0 for kind in HOPPING)


def check_proof(verdict, counts, samples):
    assert sorted(counts["kinds"]) == sorted(KINDS), counts
    for kind, found in counts["kinds"].items():
        assert found["leaks"] == 0, (kind, found)
        assert found["during"] >= samples and found["near"] > 0, (kind, found)
        assert kind not in HOPPING or found["back"] > 0, (kind, found)
        print(f"  {kind}: {found['leaks']} of {found['during']} samples on a granted CPU, {found['taken']} looks")
    assert counts["astray"] == 0 and counts["lost"] == 0 and verdict == 0, (verdict, counts)


def same_files(before, after, online):
    """Of cpusets of others. Up to kernel 6.1 the list of a cgroup with tasks cannot be made empty again."""
    for name, value in before.items():
        if name.endswith("cpuset.cpus") and value == "":
            assert after.get(name) in ("", online), (name, value, after.get(name))
        else:
            assert after.get(name) == value, (name, value, after.get(name))


def leak(guest, others_of=Others, samples=SAMPLES, milliseconds=HOLD):
    """Nobody is on a CPU of a container while it holds it; everybody is back afterwards."""
    online = guest.sh("cat /sys/devices/system/cpu/online").strip()
    with GuestNode(guest, config("0", own=isolation())) as node, others_of(guest) as others:
        others.start("sleeper", "system/app", "sleep 100000")
        others.start("shell", "", "sleep 100000")
        before, files = others.allowed(), others.cgroup_files()
        assert node.condition("CpusExclusive")["status"] == "True"
        verdict, counts = sample(guest, node, others, samples, milliseconds)
        check_proof(verdict, counts, samples)
        assert others.allowed("sleeper", "shell") == before, others.allowed()
        print(node.corehold("isolation show"))
        assert node.json("isolation show")
        node.stop()
        print(node.corehold("isolation release"))
        assert others.allowed("sleeper", "shell") == before, others.allowed()
        same_files(files, others.cgroup_files(), online)
        node.start()


def leak_without(guest, others_of=Others):
    """Where only containers are kept apart, the proof must fail."""
    own = {} if os.environ.get("COREHOLD_WITHOUT_ISOLATION") else isolation("containers")
    with GuestNode(guest, config("0", own=own)) as node, others_of(guest) as others:
        verdict, counts = sample(guest, node, others)
        assert verdict == 1 and counts["leaks"] > 0, counts
        leaking = sorted(kind for kind, found in counts["kinds"].items() if found["leaks"])
        print(f"{counts['leaks']} of {counts['during']} samples on a granted CPU, by {leaking}, as it must be")


PINS = {  # name: cgroup, affinity
    "two": ("system/app", "2-3"),
    "far": ("user/session", "12-15"),
    "wide": ("system/cron", "0-13"),
    "one": ("system/app", "15"),
    "free": ("user/session", "0-15"),
    "root": ("", "8-9"),
}
# By numactl, with their memory bound too.
NUMACTL = {"numactl": "usr/bin/numactl"}
NUMA_PINS = {  # name: cgroup, affinity, options
    "database": ("system/app", "4-7", "--physcpubind=4-7 --membind=0"),
    "node": ("user/session", "8-15", "--cpunodebind=1 --membind=1"),
}


def pins(guest, others_of=Others):
    """What others have pinned is as before after many grants, and within what is allowed in between."""
    with GuestNode(guest, config("0", own=isolation())) as node, others_of(guest) as others:
        for name, (cgroup, affinity) in PINS.items():
            mask = sum(1 << cpu for cpu in cpus(affinity))
            others.start(name, cgroup, f"taskset {mask:x} sleep 100000")
        for name, (cgroup, _, options) in NUMA_PINS.items():
            others.start(name, cgroup, f"numactl {options} sleep 100000")
        guest.sh(f"mkdir -p {PROOF}")
        only = granted(node.corehold_run("--cpus 1", f"holder {PROOF} --milliseconds 10"))
        given_back = f"until grep -q '\"held\":\"\"' {node.root}/isolation.json; do usleep 50000; done"
        guest.sh(given_back)
        mask = sum(1 << cpu for cpu in cpus(only))
        others.start("only", "system/app", f"taskset {mask:x} sleep 100000")
        pinned = {name: cpus(text) for name, text in others.allowed().items()}
        for name, (_, affinity, *_) in {**PINS, **NUMA_PINS, "only": ("", only)}.items():
            assert pinned[name] == cpus(affinity), (name, pinned)
        files = " ".join(f"/proc/{pid}/status" for pid in others.pids.values())
        look = f"grep -H Cpus_allowed_list {files}"
        guest.write("/tmp/look", f"grep Cpus_allowed_list /proc/self/status; {look}")
        said = guest.sh(
            f"for N in $(seq {GRANTS}); do corehold run --cpus $((1 + N % 6)) --root {node.root}"
            f" -- sh /tmp/look || exit 1; {given_back}; echo after; {look}; done", timeout=36000,
        )  # fmt: skip
        held, is_granted, grants, displaced = set(), False, 0, 0
        names = {pid: name for name, pid in others.pids.items()}
        for line in said.splitlines():
            if line == "after":
                is_granted = False
            elif line.startswith("Cpus_allowed_list"):
                held, is_granted, grants = cpus(line.split()[1]), True, grants + 1
            elif line.startswith("/proc/"):
                name = names[int(line.split("/")[2])]
                found = cpus(line.split()[1])
                if not is_granted:
                    assert found == pinned[name], (grants, name, found)
                elif pinned[name] - held:
                    assert found == pinned[name] - held, (grants, name, held, found)
                else:
                    assert found and not found & held, (grants, name, held, found)
                    displaced += 1
        assert grants == GRANTS, grants
        assert displaced > 0
        told = [e["message"] for e in node.events() if e["reason"] == "TasksDisplaced"]
        name = f"task {others.pids['only']} (sleep), pinned to CPUs {only}"
        assert any(name in message for message in told), told
        print(f"{grants} grants, {len(pinned)} pins: each is as it was; {displaced} times one was off"
              f" its only CPUs, and was named: {name}")


def starvation(guest, others_of=Others):
    """With all CPUs but one given away the machine still does its work."""
    own = isolation(minSystemCPUs=1)
    with GuestNode(guest, config("0", own=own)) as node, others_of(guest) as others:
        guest.sh("busybox ifconfig lo 127.0.0.1 up")
        others.start("echo", "system/app", "nc -ll -p 7 -e cat")
        node.apply([Pods().pod("all", 15)])
        node.eventually(lambda: runs(node.pods()["all"]), "it has 15 CPUs")
        assert set(map(str, others.allowed().values())) == {"0"}, others.allowed()
        assert guest.sh("grep Cpus_allowed_list /proc/self/status").split()[1] == "0"
        assert cpus(node.cpu_map()["shared"]) == {0}, node.cpu_map()
        for number in range(3):
            said = guest.sh(f"echo still here {number} | nc -w 60 127.0.0.1 7")
            assert said.strip() == f"still here {number}", said
        node.delete("all")
        node.eventually(lambda: others.allowed()["echo"] == "0-15", "it may run everywhere again")
    with GuestNode(guest, config("0", own=isolation(minSystemCPUs=3))) as node:
        said = node.corehold_run("--cpus 14", "true", check=False)
        assert guest.code == 1, said
        print(said)
        node.corehold_run("--cpus 13", "true")


def short(guest, others_of=Others):
    leak(guest, others_of, SHORT_SAMPLES, SHORT_HOLD)


PARTS = {"leak": leak, "pins": pins, "short": short, "starvation": starvation, "without": leak_without}


def with_systemd(test):
    return lambda guest: test(guest, OthersOfSystemd)


def options(name, suite, **more):
    return {"suite": suite, "packages": NUMACTL if name == "pins" else {}, **more}


TESTS = {
    **{f"fence_{name}_{suite}": (M16, test, options(name, suite))
       for suite in KERNELS for name, test in PARTS.items()},
    **{f"fence_systemd_{name}_{suite}": (M16, with_systemd(test), options(name, suite, systemd=True))
       for suite in KERNELS for name, test in PARTS.items()},
}
