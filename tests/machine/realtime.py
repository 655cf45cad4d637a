# SPDX-License-Identifier: Apache-2.0
"""Real-time scheduling works in containers on cgroup v2 as it does outside; cgroup v1 is in tests/host."""
from guest import M16
from guest_node import GuestNode, Pods, config, cpus, runs
from image import KERNELS

FIFO = "chrt -f 50"
SCHED_FIFO, PRIORITY = 1, 50
SLEEPERS = {"own": (1, "100900"), "shares": (None, "100901")}  # CPUs of its own, seconds


def scheduling(guest, pid):
    """Policy and priority, as the kernel says."""
    fields = guest.sh(f"cat /proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[38]), int(fields[37])


def of_commands(node):
    guest = node.guest
    node.corehold_run("--cpus 1", f"{FIFO} true")
    said = node.corehold_run("--cpus 1", f"{FIFO} chrt -p 0")
    assert "SCHED_FIFO" in said, said
    print(said.strip(), flush=True)
    # A client that has it hands it on.
    said = guest.sh(f"{FIFO} {node.binary} run --cpus 1 --root {node.root} -- chrt -p 0")
    assert "SCHED_FIFO" in said, said


def of_pods(node):
    guest, made = node.guest, Pods()
    asks = [*FIFO.split(), "sh", "-c", "chrt -p $$$$"]  # in a pod $$ is a single one
    pods = [made.pod("asks", 1, command=asks, restartPolicy="Never")]
    for name, (count, seconds) in SLEEPERS.items():
        pods.append(made.pod(name, count, command=[*FIFO.split(), "sleep", seconds]))
    node.apply(pods)
    ends = ("Succeeded", "Failed")
    node.eventually(lambda: node.pods()["asks"]["status"]["phase"] in ends, "it has ended")
    said = node.corehold("logs asks")
    assert node.pods()["asks"]["status"]["phase"] == "Succeeded", (said, node.pods()["asks"])
    assert "SCHED_FIFO" in said and f"priority: {PRIORITY}" in said, said
    for name in SLEEPERS:
        node.eventually(lambda n=name: runs(node.pods()[n]), f"{name} runs")
        (pid,) = guest.sh(f"cat {node.cgroup(name)}/cgroup.procs").split()
        node.eventually(lambda p=pid: scheduling(guest, p) == (SCHED_FIFO, PRIORITY),
                        f"{name} has real-time scheduling")
        allowed = cpus(guest.sh(f"grep Cpus_allowed_list /proc/{pid}/status").split()[1])
        print(f"{name}: SCHED_FIFO {PRIORITY} on CPUs {sorted(allowed)}", flush=True)
        assert name != "own" or allowed == node.held("own"), allowed
        restarts = [each["restartCount"] for each in node.pods()[name]["status"]["containerStatuses"]]
        assert restarts == [0], restarts


def realtime(guest):
    guest.sh(f"{FIFO} true")  # outside
    with GuestNode(guest, config("0")) as node:
        of_commands(node)
        of_pods(node)


TESTS = {
    **{f"realtime_{suite}": (M16, realtime, {"suite": suite}) for suite in KERNELS},
    **{f"realtime_systemd_{suite}": (M16, realtime, {"suite": suite, "systemd": True})
       for suite in KERNELS},
}
