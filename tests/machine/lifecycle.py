# SPDX-License-Identifier: Apache-2.0
"""A node on cgroup v2: its cgroups, its end, its crash, and commands run on it."""
import json

from guest import M16
from guest_node import GuestNode, Pods, config, cpus


def processes(node):
    """Which process each container is, and where it may run."""
    return {
        number: (found["pid"], found["cpus"], found["cgroup"])
        for number, found in node.seen().items()
    }


def layout_16(guest):
    made = Pods()
    with GuestNode(guest, config("0")) as node:
        pods = [made.pod("own", 2, 1), made.pod("all", None), made.pod("half", "500m")]
        node.apply(pods)
        states = node.settled()
        seen = node.seen()
        assert len(seen) == 4, seen
        files = node.cgroup_files(
            [found["cgroup"] for found in seen.values()],
            "cpuset.cpus",
            "cpuset.cpus.effective",
            "cpu.weight",
            "cpu.max",
            "memory.max",
            "cgroup.procs",
        )
        weights = {}
        for number, found in seen.items():
            pod, container = made.containers[number]
            uid = states[pod]["metadata"]["uid"]
            group = "pods" if pod == "own" else "shared"
            assert found["cgroup"] == f"/corehold/{group}/{uid}/{container}", found
            have = files[found["cgroup"]]
            # Containers that share have the CPUs of their parent and none of their own.
            assert have["cpuset.cpus"] == (found["cpus"] if pod == "own" else ""), have
            assert cpus(have["cpuset.cpus.effective"]) == cpus(found["cpus"]), have
            assert int(have["cgroup.procs"]) == found["pid"], have
            assert have["memory.max"] == ("max" if pod == "all" else str(16 << 20)), have
            weights[pod, container] = int(have["cpu.weight"])
            if pod == "own":
                assert have["cpu.max"].startswith("max "), have
        assert weights["own", "c0"] > weights["own", "c1"] > weights["half", "c0"], weights
        assert weights["half", "c0"] > weights["all", "c0"], weights
        print(f"weights {weights}")
        pool = guest.sh("cat /sys/fs/cgroup/corehold/shared/cpuset.cpus").strip()
        own = set().union(
            *(cpus(seen[n]["cpus"]) for n, (pod, _) in made.containers.items() if pod == "own")
        )
        assert cpus(pool) == set(range(16)) - own, (pool, own)
        mine = guest.sh(f"cat /proc/{node.pid}/cgroup").strip()
        assert "/pods" not in mine and "/shared" not in mine, mine
        print(guest.sh("find /sys/fs/cgroup -mindepth 1 -type d"))


def memory_16(guest):
    """Who takes more memory than it may is killed, and that is said; others are not."""
    made = Pods()
    takes = "x=$(head -c 64000000 /dev/zero | tr '\\0' x); sleep 1000"
    with GuestNode(guest, config("0")) as node:
        node.apply(
            [
                made.pod("own", 2),
                made.pod("takes", 1, command=["sh", "-c", takes], restartPolicy="Never"),
            ]
        )
        ended = node.eventually(
            lambda: [
                status["state"]["terminated"]
                for status in node.pods()["takes"]["status"].get("containerStatuses", [])
                if "terminated" in status["state"]
            ],
            "it is killed",
        )
        assert ended[0]["reason"] == "OOMKilled" and ended[0]["exitCode"] == 137, ended
        assert node.pods()["own"]["status"]["phase"] == "Running", node.pods()
        # A command's memory is booked; it has no limit.
        said = node.corehold_run(
            "--cpus 1", "sh -c 'cat /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/memory.max'"
        )
        assert said.strip() == "max", said


def restart_16(guest):
    made = Pods()
    with GuestNode(guest, config("0")) as node:
        node.apply(
            [
                made.pod("own", 4),
                made.pod("all", None),
                made.pod("goes", 2, restartPolicy="Never"),
            ]
        )
        node.settled()
        before = processes(node)
        held = node.cpu_map()["containers"]

        for signal in ("TERM", "KILL"):
            node.end(signal)
            assert processes(node) == before, f"containers outlive SIG{signal}"
            node.start()
            assert processes(node) == before, "they are adopted as they are"
            states = node.settled()
            assert all(
                status["restartCount"] == 0
                for pod in states.values()
                for status in pod["status"]["containerStatuses"]
            ), states
            assert node.cpu_map()["containers"] == held, node.cpu_map()
            print(f"SIG{signal}: adopted {sorted(pid for pid, _, _ in before.values())}")

        # One ends while nobody looks; its CPUs come back, its end is known.
        (number,) = [n for n, place in made.containers.items() if place == ("goes", "c0")]
        node.end("KILL")
        guest.sh(f"kill -KILL {before[number][0]}")
        node.start()
        ended = node.eventually(
            lambda: [
                status["state"]["terminated"]
                for status in node.pods()["goes"]["status"]["containerStatuses"]
                if "terminated" in status["state"]
            ],
            "its end is recorded",
        )
        assert ended[0]["exitCode"] == 137, ended
        node.eventually(
            lambda: [c["pod"] for c in node.cpu_map()["containers"]] == ["own"], "CPUs come back"
        )
        own = [n for n, place in made.containers.items() if place == ("own", "c0")][0]
        everything = set(range(16))
        shared = [n for n, place in made.containers.items() if place == ("all", "c0")][0]
        node.eventually(
            lambda: cpus(processes(node)[shared][1]) == everything - cpus(before[own][1]),
            "the shared container may use them",
        )
        assert processes(node)[own] == before[own]


def upgrade_16(guest):
    """Version 0.1 had all containers below `pods`, with CPUs of their own and no record of where,
    and its records had no digest.

    They stay there, and move with the pool all the same.
    """
    made = Pods()

    def of(pod, seen):
        (number,) = [n for n, (name, _) in made.containers.items() if name == pod]
        return seen[number]

    with GuestNode(guest, config("0")) as node:
        node.apply([made.pod("old", None), made.pod("young", None)])
        uid = node.settled()["old"]["metadata"]["uid"]
        node.end("KILL")
        guest.sh(
            f"""(set -e
            cd /sys/fs/cgroup/corehold
            for D in pods pods/{uid}; do
              mkdir $D; echo +cpuset +cpu +memory > $D/cgroup.subtree_control
            done
            mkdir pods/{uid}/c0
            cat shared/cpuset.cpus > pods/{uid}/c0/cpuset.cpus
            for P in $(cat shared/{uid}/c0/cgroup.procs); do
              echo $P > pods/{uid}/c0/cgroup.procs
            done
            rmdir shared/{uid}/c0 shared/{uid}
            L={node.root}/containers/{uid}/c0/launch.json
            grep -q '"cgroup":"shared' $L
            sed -i 's/,"cgroup":"[^"]*"//; s/,"digest":"[^"]*"//' $L
            ! grep -q -e '"cgroup":"' -e '"digest":"' $L)"""
        )
        before = processes(node)
        node.start()
        node.settled()
        assert processes(node) == before, "both are adopted as they are"
        node.apply([made.pod("own", 4)])
        node.settled()
        after = processes(node)
        own = cpus(of("own", after)[1])
        assert len(own) == 4, after
        for pod, group in ("old", "pods"), ("young", "shared"):
            pid, where, cgroup = of(pod, after)
            assert pid == of(pod, before)[0], (before, after)
            assert cpus(where) == set(range(16)) - own, (pod, where)
            assert cgroup.startswith(f"/corehold/{group}/"), (pod, cgroup)
        print(f"own {sorted(own)}: {after}")


def run_16(guest):
    with GuestNode(guest, config("0-1", ["full-pcpus-only"])) as node:
        said = node.corehold_run("--cpus 4", "grep Cpus_allowed_list /proc/self/status")
        given = cpus(said.split()[-1])
        assert len(given) == 4 and not given & {0, 1}, said
        print(said.strip())
        node.corehold_run("--cpus 2", "sh -c 'exit 7'", check=False)
        assert guest.code == 7, guest.code
        said = node.corehold_run("--cpus 3", "true", check=False)
        assert guest.code == 1 and "SMT Alignment Error" in said, (guest.code, said)
        print(said.strip())
        # Whatever kills it, its CPUs come back and nobody is left.
        guest.sh(
            f"corehold run --cpus 2 --root {node.root} -- sh -c 'sleep 100000 & sleep 100001'"
            " > /tmp/run.log 2>&1 & echo $! > /tmp/run.pid"
        )
        node.eventually(lambda: len(node.seen()) == 2, "both processes run")
        places = {found["cpus"] for found in node.seen().values()}
        assert len(places) == 1 and len(cpus(places.pop())) == 2, node.seen()
        guest.sh("kill -KILL $(cat /tmp/run.pid)")
        node.eventually(lambda: not node.seen(), "nobody of it is left")
        node.eventually(lambda: not node.pods(), "its pod is gone")
        assert json.dumps(node.cpu_map()["containers"]) == "[]"


TESTS = {
    "layout_16": (M16, layout_16),
    "memory_16": (M16, memory_16),
    "restart_16": (M16, restart_16),
    "run_16": (M16, run_16),
    "upgrade_16": (M16, upgrade_16),
}
