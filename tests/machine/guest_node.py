# SPDX-License-Identifier: Apache-2.0
"""An agent in a guest, and what the guest's kernel says about its containers.

Containers sleep for a number of seconds that no other has. It names their processes, so that
the kernel can be asked about them without asking corehold which they are.
"""
import itertools
import json
import time

from guest import Failed

FIRST_NUMBER = 100000
KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
COREHOLD = {"apiVersion": "corehold.dev/v1alpha1", "kind": "CoreholdConfiguration"}
FIELDS = {"Cpus_allowed_list": "cpus", "Mems_allowed_list": "mems", "0": "cgroup"}
DEADLINE = 600  # seconds; a guest is slow when the host is busy


def cpus(text):
    """The set that a kernel list names."""
    found = set()
    for item in filter(None, text.strip().split(",")):
        first, _, last = item.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def config(reserved="0", options=(), topology="none", scope="container", own=None, **more):
    """Both documents, as text."""
    kubelet = {
        **KUBELET,
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": reserved,
        "cpuManagerPolicyOptions": {option: "true" for option in options},
        "cpuManagerReconcilePeriod": "1s",
        "topologyManagerPolicy": topology,
        "topologyManagerScope": scope,
        **more,
    }
    corehold = {**COREHOLD, "listen": {"address": ""}, **(own or {})}
    return f"{json.dumps(kubelet, indent=1)}\n---\n{json.dumps(corehold, indent=1)}"


class Pods:
    """Makes pods whose containers can be told apart in the kernel."""

    def __init__(self):
        self.numbers = itertools.count(FIRST_NUMBER)
        self.containers = {}  # number -> (pod, container)

    def container(self, pod, name, limit, command=None):
        number = next(self.numbers)
        self.containers[number] = (pod, name)
        made = {"name": name, "command": command or ["sleep", str(number)]}
        if limit:
            made["resources"] = {"limits": {"cpu": str(limit), "memory": "16Mi"}}
        return made

    def pod(self, name, *limits, command=None, **spec):
        """One container for each limit; None is a container that asks for nothing."""
        containers = [
            self.container(name, f"c{index}", limit, command) for index, limit in enumerate(limits)
        ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": containers, **spec},
        }


def with_mounts(*commands):
    """A wrapper of a GuestNode: the agent has a mount namespace of its own, in which these
    commands have run. Without single quotes in them."""
    return f"""unshare -m sh -c '{' && '.join(commands)} && exec "$0" "$@"'"""


class GuestNode:
    """An agent. Use as a context manager: it is stopped with the block, and nothing is left.

    `wrapper` is what the agent's command line begins with; in the end it has to exec the rest.
    """

    made = 0

    def __init__(self, guest, text, binary="corehold", wrapper=""):
        GuestNode.made += 1
        self.guest = guest
        self.binary = binary
        self.wrapper = wrapper
        self.root = f"/var/lib/corehold-{GuestNode.made}"
        self.config = f"/tmp/config-{GuestNode.made}.yaml"
        self.log = f"/tmp/agent-{GuestNode.made}.log"
        self.pid = None
        guest.write(self.config, text)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print("--- the agent's log, and what runs")
            try:
                print(self.guest.sh(f"tail -n 40 {self.log}; {self.guest.all_processes} pid,ppid,args | grep -v '\\['"))
            except Failed as failed:  # the first failure is the one to see
                print(failed)
            return
        self.delete_all()
        self.stop()
        self.check_nothing_left()

    def start(self):
        began = time.monotonic()
        socket = f"{self.root}/run/corehold.sock"
        answer = self.guest.sh(
            f"rm -f {socket}\n"
            f"{self.wrapper} {self.binary} agent --config {self.config} --root {self.root}"
            f" >> {self.log} 2>&1 &\n"
            f"echo $!; while [ -d /proc/$! ] && ! [ -S {socket} ]; do usleep 100000; done; [ -d /proc/$! ]",
            timeout=DEADLINE,
            check=False,
        )
        if self.guest.code != 0:
            raise Failed(f"the agent does not start: {self.guest.sh(f'cat {self.log}')}")
        self.pid = int(answer)
        print(f"agent {self.pid} ready after {time.monotonic() - began:.1f} s", flush=True)

    def end(self, signal):
        """Sends the signal and waits until the agent has gone."""
        self.guest.sh(
            f"kill -{signal} {self.pid}; while [ -d /proc/{self.pid} ]; do sleep 0.05; done",
            timeout=DEADLINE,
        )

    def stop(self):
        self.end("TERM")

    def corehold(self, words, check=True):
        return self.guest.sh(
            f"{self.binary} {words} --root {self.root}", timeout=DEADLINE, check=check
        )

    def corehold_run(self, options, command, check=True):
        return self.guest.sh(
            f"{self.binary} run {options} --root {self.root} -- {command}",
            timeout=DEADLINE,
            check=check,
        )

    def json(self, words):
        return json.loads(self.corehold(f"{words} -o json"))

    def cpu_map(self):
        return self.json("get cpus")

    def pods(self):
        """Pod objects by name."""
        return {pod["metadata"]["name"]: pod for pod in self.json("get pods -A")["items"]}

    def events(self):
        return self.json("get events")["items"]

    def told(self, reason, text=""):
        """How often there was an event of this reason with this text in its message."""
        return sum(event["count"] for event in self.events()
                   if event["reason"] == reason and text in event["message"])

    def condition(self, kind):
        """Of the machine; None when it has no such condition."""
        (machine,) = self.json("get nodes")["items"]
        found = [each for each in machine["status"]["conditions"] if each["type"] == kind]
        return found[0] if found else None

    def cgroup(self, pod, container="c0"):
        """The directory of a container's cgroup, wherever it is in the tree."""
        uid = self.pods()[pod]["metadata"]["uid"]
        return self.guest.sh(f"find /sys/fs/cgroup -type d -path '*/{uid}/{container}'").strip()

    def held(self, pod):
        """The CPUs of a pod's containers, as the agent says."""
        return set().union(*(cpus(each["assigned"]) for each in self.cpu_map()["containers"]
                             if each["pod"] == pod))

    def apply(self, pods):
        self.guest.write("/tmp/pods.json", manifest(pods))
        self.corehold("apply -f /tmp/pods.json")

    def delete(self, *names):
        self.corehold(f"delete pod {' '.join(names)}")

    def delete_all(self):
        names = self.pods()
        if names:
            self.delete(*names)
            self.eventually(lambda: not self.pods(), "all pods are gone")

    def eventually(self, condition, what):
        """What the condition gives once it is true."""
        deadline = time.monotonic() + DEADLINE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failed(f"never: {what}; pods: {json.dumps(self.pods(), indent=1)}")
            time.sleep(0.1)

    def settled(self, sleepers=0):
        """The pods, once each of them runs or waits for room; first so many are waited for.

        Those are counted without starting programs, which would take the time of the agent.
        """
        self.guest.sh(
            f"I=0; N=0; while [ $N -lt {sleepers} ] && [ $I -lt 120 ]; do I=$((I+1)); usleep 300000;"
            " N=0; for F in /sys/fs/cgroup/corehold/*/*/*/cgroup.procs; do"
            " read P < $F && N=$((N+1)); done; done 2> /dev/null",
            timeout=DEADLINE,
        )

        def look():
            pods = self.pods()
            return pods if all(runs(pod) or waits(pod) for pod in pods.values()) else None

        return self.eventually(look, "every pod runs or waits")

    def seen(self):
        """What the kernel says, by the number a container sleeps for."""
        lines = self.guest.sh(
            "ps -o pid,args | grep 'sleep 1'; F=; for P in $(pidof sleep); do"
            ' F="$F /proc/$P/status /proc/$P/cgroup"; done;'
            " [ -z \"$F\" ] || grep -H -e _allowed_list -e ^0:: $F",
            check=False,
        ).splitlines()
        numbers = {}
        processes = {}
        for line in lines:
            if not line.startswith("/proc/"):
                pid, *words = line.split()
                if words[0] == "sleep" and words[1].isdigit():
                    numbers[int(pid)] = int(words[1])
                continue
            path, _, rest = line.partition(":")
            key, _, value = rest.partition(":")
            found = processes.setdefault(int(path.split("/")[2]), {})
            found[FIELDS[key]] = value.strip().removeprefix(":")
        return {
            numbers[pid]: {"pid": pid, **found}
            for pid, found in processes.items()
            if numbers.get(pid, 0) >= FIRST_NUMBER and len(found) == len(FIELDS)
        }

    def cgroup_files(self, cgroups, *names):
        """{cgroup: {file: content}}"""
        paths = " ".join(f"/sys/fs/cgroup{cgroup}/{name}" for cgroup in cgroups for name in names)
        found = {cgroup: {} for cgroup in cgroups}
        for line in self.guest.sh(f"grep -H '' {paths} /dev/null", check=False).splitlines():
            path, _, value = line.partition(":")
            cgroup, _, name = path.removeprefix("/sys/fs/cgroup").rpartition("/")
            found[cgroup][name] = value
        return found

    def log_text(self):
        return self.guest.sh(f"cat {self.log}")

    def check_nothing_left(self):
        """REQUIRES: no pods, and the agent has ended."""
        left = self.guest.sh(
            f"{self.guest.all_processes} pid,ppid,args | grep -e 'corehold' -e 'sleep 1' | grep -v grep;"
            f" find /sys/fs/cgroup {self.guest.cgroups_left} -type d; grep corehold /proc/mounts",
            check=False,
        )
        assert left.strip() == "", f"left behind:\n{left}"


def manifest(pods):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}, indent=1)


def runs(pod):
    status = pod.get("status", {})
    states = status.get("containerStatuses", [])
    return (
        status.get("phase") == "Running"
        and len(states) == len(pod["spec"]["containers"])
        and all("running" in state["state"] for state in states)
    )


def waits(pod):
    """Pending because there is no room, and says so."""
    status = pod.get("status", {})
    scheduled = [c for c in status.get("conditions", []) if c["type"] == "PodScheduled"]
    return (
        status.get("phase") == "Pending"
        and len(scheduled) == 1
        and scheduled[0]["status"] == "False"
        and scheduled[0].get("reason") == "Unschedulable"
        and scheduled[0].get("message", "") != ""
    )
