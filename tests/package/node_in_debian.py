# SPDX-License-Identifier: Apache-2.0
"""The package on a Debian 12 with systemd: installed, used, upgraded, removed and purged."""
import json
import re
import time

from guest import Failed
from guest_node import cpus

OLD, NEW = "0.1.0-1", "0.1.1-1"
ROOT = "/var/lib/corehold"
CGROUP = "/sys/fs/cgroup/corehold.slice"
DEADLINE = 900  # seconds; a guest is slow when the host is busy
WORST_EXPOSURE = 4.0  # of 10, as systemd-analyze counts it; lower is better

UNITS = ("system.slice", "user.slice", "init.scope")
# What level full sets and the service may not write without FULL, one of each kind.
READ_ONLY = {
    "/proc/sys/kernel/timer_migration": "timers that idle CPUs hand to busy ones",
    "/sys/devices/virtual/workqueue/cpumask": "unbound work of the kernel",
}
WRITABLE = "/proc/irq/default_smp_affinity"
FULL = "/etc/systemd/system/corehold.service.d/isolation-full.conf"
NOT_ALLOWED = ("EROFS", "EACCES", "EPERM")

# What a process is allowed: the same words from a pod and from any service of systemd.
PROBE = """\
grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp|Seccomp_filters|SigBlk):' \
/proc/self/status; echo umask $(umask); ulimit -aS; ulimit -aH; cat /proc/self/oom_score_adj;
for f in mnt ipc uts net pid user; do readlink /proc/self/ns/$f; done;
for d in /tmp /home /usr /etc /var /root /dev/shm; do touch $d/probe && rm $d/probe && echo writes $d; done;
head -c1 /dev/urandom | wc -c; unshare -m true && echo may unshare;
chmod u+s /usr/local/lib/suid && echo may set suid
"""


def pod(name, command, cpus=None, volumes=(), mounts=(), **spec):
    container = {"name": "main", "command": ["sh", "-c", command], "volumeMounts": list(mounts)}
    if cpus:
        container["resources"] = {"limits": {"cpu": str(cpus), "memory": "16Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "volumes": list(volumes), **spec},
    }


class Node:
    """The installed node, by the commands that an administrator has."""

    def __init__(self, guest):
        self.guest = guest

    def sh(self, command, **options):
        return self.guest.sh(command, timeout=DEADLINE, **options)

    def step(self, text):
        now = time.monotonic()
        self.began = getattr(self, "began", now)
        used = self.guest.seconds_used()
        print(f"-- {text} (after {now - self.began:.0f} s, {used:.0f} s of CPU)", flush=True)

    def apply(self, *pods):
        text = "\n---\n".join(json.dumps(each) for each in pods)
        self.guest.write("/root/pods.yaml", text)
        self.sh("corehold apply -f /root/pods.yaml")

    def pods(self):
        found = json.loads(self.sh("corehold get pods -A -o json"))["items"]
        return {each["metadata"]["name"]: each for each in found}

    def phase(self, name):
        return self.pods().get(name, {}).get("status", {}).get("phase")

    def eventually(self, condition, what):
        deadline = time.monotonic() + DEADLINE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failed(f"never: {what}")
            time.sleep(1)

    def output(self, name):
        """What the only run of a pod has written, once it has ended well."""

        def ended():
            pod = self.pods()[name]
            return pod if pod["status"].get("phase") in ("Succeeded", "Failed") else None

        pod = self.eventually(ended, f"{name} has ended")
        said = self.sh(f"corehold logs {name}")
        assert pod["status"]["phase"] == "Succeeded", f"{said}\n{pod['status']}"
        return said

    def main_process(self, name):
        """Of a pod that runs or is about to; waits without starting programs all the time."""
        uid = self.pods()[name]["metadata"]["uid"]
        record = f"{ROOT}/containers/{uid}/main/main.json"
        return json.loads(self.sh(f"until [ -e {record} ]; do sleep 0.2; done; cat {record}"))["pid"]

    def unit_process(self, unit):
        return int(self.sh(f"systemctl show -P MainPID {unit}"))

    def start(self, name):
        """A pod with a CPU of its own; its process."""
        self.apply(pod(name, "exec sleep 100000", cpus=1))
        return self.main_process(name)

    def delete(self, *names):
        self.sh(f"corehold delete pod {' '.join(names)} --grace-period 1")

    def dpkg(self, version):
        # Through a pipe: dpkg shows no progress there.
        print(self.sh(f"dpkg --force-unsafe-io -i /image/corehold_{version}_amd64.deb | cat"))

    def allowed(self, process):
        """The CPUs of a process."""
        return cpus(self.sh(f"grep Cpus_allowed_list /proc/{process}/status").split()[1])

    def unit_cpus(self, unit):
        """Its AllowedCPUs; "": none of its own."""
        return self.sh(f"systemctl show -P AllowedCPUs {unit}").strip().replace(" ", ",")

    def machine(self):
        """What the package's level changes of the machine, and is there without it."""
        said = self.sh(f"grep -H '' /proc/irq/*/smp_affinity_list {WRITABLE}")
        files = dict(line.split(":", 1) for line in said.splitlines())
        return {**{unit: self.unit_cpus(unit) for unit in UNITS}, **files}

    def changed_since(self, before):
        """What is not as it was, now."""
        now = self.machine()
        return {name: now.get(name) for name, value in before.items() if now.get(name) != value}

    def isolation(self):
        return json.loads(self.sh("corehold isolation show -o json"))

    def not_allowed(self):
        """What the agent's service may not change, of all that could be changed."""
        return [each for each in self.isolation()["leftovers"]
                if each["movable"] and any(name in each["reason"] for name in NOT_ALLOWED)]

    def is_told(self, reason, text):
        """Whether there is an event of this reason with this text."""
        events = json.loads(self.sh("corehold get events -o json"))["items"]
        return any(each["reason"] == reason and text in each["message"] for each in events)

    def set_level(self, level):
        self.sh(f"sed -i 's/^  level: .*/  level: {level}/' /etc/corehold/node.yaml")
        self.restart()

    def restart(self):
        # Not too often in a short while, as systemd counts.
        self.sh("systemctl daemon-reload && systemctl reset-failed corehold && systemctl restart corehold")

    def active(self, *units):
        states = self.sh(f"systemctl is-active {' '.join(units)}", check=False).split()
        assert states == ["active"] * len(units), dict(zip(units, states))


def install(node):
    node.step("install")
    node.dpkg(OLD)
    node.active("corehold.service", "corehold-launcher.socket", "corehold-pods.service")
    assert node.sh("systemctl is-enabled corehold.service").strip() == "enabled"
    nodes = json.loads(node.sh("corehold get nodes -o json"))["items"]
    assert "cgroup v2" in json.dumps(nodes[0]), nodes[0]
    said = node.sh("journalctl -q -u corehold -p warning -o cat", check=False)
    assert "cannot" not in said, said
    # --recursive-errors=no: units of Debian itself are not ours to judge.
    units = "corehold.service corehold-launcher.service corehold-launcher.socket corehold-pods.service"
    verdict = node.sh(f"cd /lib/systemd/system && systemd-analyze verify --man=no --recursive-errors=no {units}")
    assert "corehold" not in verdict, verdict


def served(node):
    node.step("who may use it")
    modes = node.sh(
        f"cd {ROOT} && stat -c '%a %U %n' . pki pki/token kubeconfig store.db containers logs"
        " run/corehold.sock /run/corehold/launcher.sock"
    )
    assert modes == (
        "711 root .\n700 root pki\n600 root pki/token\n600 root kubeconfig\n600 root store.db\n"
        "700 root containers\n700 root logs\n600 root run/corehold.sock\n"
        "600 root /run/corehold/launcher.sock\n"
    ), modes
    assert "debian" in node.sh("corehold get nodes --server https://127.0.0.1:10270")
    said = node.sh("setpriv --reuid=nobody --clear-groups corehold get nodes 2>&1", check=False)
    assert node.guest.code == 1 and "EACCES" in said, said
    assert node.sh("man -w corehold 2> /dev/null || ls /usr/share/man/man1/corehold.1.gz")


def sandbox(node):
    node.step("the agent is confined, its containers are not")
    print(node.sh("systemd-analyze security --no-pager corehold.service | grep -v '^✓'"))
    score = node.sh("systemd-analyze security --no-pager corehold.service | tail -n 1")
    exposure = float(re.search(r"([\d.]+) \w+", score).group(1))
    assert exposure <= WORST_EXPOSURE, score
    agent = node.unit_process("corehold.service")
    status = node.sh(f"grep -E '^(NoNewPrivs|Seccomp|CapBnd):' /proc/{agent}/status").split()
    confined = dict(zip(status[::2], status[1::2]))
    assert confined["NoNewPrivs:"] == "1" and confined["Seccomp:"] == "2", confined
    # Seen with its eyes, nothing can be written but its state, and nothing run but itself.
    eyes = f"/proc/{agent}/root"
    for place in ("/usr", "/etc", "/tmp", "/home", "/root", "/var"):
        said = node.sh(f"touch {eyes}{place}/probe 2>&1", check=False)
        assert "Read-only file system" in said, f"{place}: {said}"
    node.sh(f"touch {eyes}{ROOT}/probe && rm {ROOT}/probe")
    said = node.sh(f"{eyes}/bin/true", check=False)
    assert node.guest.code == 126 and "Permission denied" in said, said

    node.sh("cp /bin/true /usr/local/lib/suid")
    node.guest.write("/root/allowed.sh", PROBE)
    node.apply(pod("probe", "sh /root/allowed.sh", restartPolicy="Never"))
    seen = node.output("probe")
    expected = node.sh("systemd-run -q --wait --pipe sh /root/allowed.sh 2>&1")
    if seen != expected:
        raise Failed(f"a pod is not as free as a service of systemd:\n{seen}\n-- but:\n{expected}")
    words = seen.split()
    values = dict(zip(words, words[1:]))
    full = node.sh("sed -n 's/^CapBnd:\\t//p' /proc/1/status").strip()
    assert values["CapBnd:"] == full and values["CapEff:"] == full, seen
    assert values["NoNewPrivs:"] == "0" and values["Seccomp:"] == "0", seen
    assert values["umask"] == "0022", seen
    print(seen)
    for place in ("/tmp", "/home", "/usr", "/etc", "/var", "/root"):
        assert f"writes {place}\n" in seen, seen
    assert "may unshare" in seen and "may set suid" in seen, seen
    node.delete("probe")


def volumes(node):
    node.step("volumes and users work through the sandbox")
    mounts = [{"name": "memory", "mountPath": "/memory"}, {"name": "disk", "mountPath": "/data"},
              {"name": "log", "mountPath": "/seen"}]  # fmt: skip
    made = [{"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "disk", "emptyDir": {}},
            {"name": "log", "hostPath": {"path": "/root", "type": "Directory"}}]  # fmt: skip
    node.apply(
        pod("volumes", "stat -f -c %T /memory; id -u; touch /data/a /memory/a && stat -c %g /data/a;"
            " ls /seen > /dev/null 2>&1 || echo closed",
            cpus=1, volumes=made, mounts=mounts, restartPolicy="Never",
            securityContext={"runAsUser": 4321, "runAsGroup": 4321, "fsGroup": 1234})
    )  # fmt: skip
    assert node.output("volumes").split() == ["tmpfs", "4321", "1234", "closed"], node.output("volumes")
    node.delete("volumes")
    assert ROOT not in node.sh("cat /proc/mounts"), "a volume is still mounted"
    said = node.sh("corehold run --cpus 1 -- grep -E '^(Seccomp|Cpus_allowed_list):' /proc/self/status")
    assert said.split()[1] == "0" and said.split()[3].isdigit(), said


def isolated(node):
    node.step("the rest of the machine is off held CPUs, with the rights of the service")
    before = {file: node.sh(f"cat {file}") for file in READ_ONLY}
    held = node.allowed(node.start("held"))
    shown = node.isolation()
    assert shown["level"] == "irqs" and cpus(shown["held"]) == held, shown
    assert not node.not_allowed(), node.not_allowed()
    # user.slice has processes only while somebody is logged in.
    for unit in UNITS:
        allowed = cpus(node.unit_cpus(unit))
        assert (allowed or unit == "user.slice") and not allowed & held, (unit, allowed, held)
    eyes = f"/proc/{node.unit_process('corehold.service')}/root"
    for file in READ_ONLY:
        said = node.sh(f"cat {file} > /root/value; cat /root/value > {eyes}{file}", check=False)
        assert "Read-only file system" in said, f"{file}: {said}"
    node.sh(f"cat {WRITABLE} > /root/value && cat /root/value > {eyes}{WRITABLE}")

    node.step("level full names what the service may not write")
    node.set_level("full")
    found = node.eventually(node.not_allowed, "it is named")
    print(json.dumps(found, indent=1))
    for name in READ_ONLY.values():
        assert any(each["what"].startswith(name) for each in found), (name, found)
    assert all("isolation-full.conf" in each["advice"] for each in found), found
    node.eventually(lambda: node.is_told("CpusNotExclusive", "EROFS"), "an event names it")
    assert {file: node.sh(f"cat {file}") for file in READ_ONLY} == before
    node.sh(f"install -D /usr/share/corehold/isolation-full.conf {FULL}")
    node.restart()
    node.eventually(lambda: not node.not_allowed(), "it may write them")
    shown = node.isolation()
    print(json.dumps(shown["leftovers"], indent=1))
    assert shown["level"] == "full" and cpus(shown["held"]) == held, shown
    for file, value in before.items():
        assert node.sh(f"cat {file}") != value, file

    # All is given back with these rights, and only then they are taken away.
    node.delete("held")
    node.eventually(lambda: {file: node.sh(f"cat {file}") for file in READ_ONLY} == before,
                    "the kernel's settings are as before")
    node.sh(f"rm -r {FULL.rpartition('/')[0]}")
    node.set_level("irqs")
    node.eventually(lambda: not node.isolation()["leftovers"], "nothing is left to give back")


def restarts(node):
    node.step("containers outlive their services")
    steady = node.start("steady")
    cgroup = node.sh(f"cat /proc/{steady}/cgroup").strip()
    group = cgroup.removeprefix("0::/corehold.slice/corehold-pods.service/").split("/")[0]
    assert group in ("pods", "shared"), cgroup

    node.sh("systemctl restart corehold.service")
    goes_on(node, steady)
    # The next start is systemd's own; the launcher is ended too, and with the holder of the
    # cgroup the worst case: it cannot come back while containers run, and is not missed.
    agent = node.unit_process("corehold.service")
    holder = node.unit_process("corehold-pods.service")
    launcher = node.unit_process("corehold-launcher.service")
    node.sh(
        f"kill -9 {launcher} {holder} {agent}; while"
        f" P=$(systemctl show -P MainPID corehold.service); [ $P = 0 ] || [ $P = {agent} ];"
        " do sleep 0.5; done; until systemctl -q is-active corehold.service; do sleep 0.5; done"
    )
    goes_on(node, steady)
    node.start("later")
    node.delete("later")
    return steady


def goes_on(node, process):
    """The pod "steady" is the same process, and known to the agent."""
    assert node.phase("steady") == "Running"
    assert node.main_process("steady") == process
    node.sh(f"kill -0 {process}")


def upgrade(node, steady):
    node.step("upgrade")
    node.sh("sed -i 's/^#topologyManagerPolicy:.*/topologyManagerPolicy: best-effort/' /etc/corehold/node.yaml")
    agent = node.unit_process("corehold.service")
    node.dpkg(NEW)
    assert node.sh("dpkg-query -W -f '${Version}' corehold") == NEW
    node.active("corehold.service", "corehold-launcher.socket")
    assert node.unit_process("corehold.service") != agent
    assert "topologyManagerPolicy: best-effort" in node.sh("cat /etc/corehold/node.yaml")
    goes_on(node, steady)
    node.start("after")
    node.delete("after")


def remove(node, steady, before):
    node.step("removal and purge, with a container that runs")
    held = node.allowed(steady)
    allowed = cpus(node.unit_cpus("system.slice"))
    assert allowed and not allowed & held, (allowed, held)
    said = node.sh("dpkg -P corehold")
    assert "1 containers go on running" in said, said
    assert f"{ROOT} is kept" in said, said
    node.sh(f"kill -0 {steady} && test -d {ROOT}")
    assert node.allowed(steady) == held, "it keeps its CPUs"
    assert not node.changed_since(before), (node.changed_since(before), before)
    node.step("installed again: it is taken over")
    node.dpkg(NEW)
    goes_on(node, steady)
    node.delete("steady")
    node.sh(f"! kill -0 {steady} 2> /dev/null")
    node.step("purge, with nothing that runs")
    print(node.sh("dpkg -P corehold"))
    assert not node.changed_since(before), (node.changed_since(before), before)
    left = node.sh(
        f"ls -d {ROOT} /etc/corehold /run/corehold /run/lock/corehold.lock {CGROUP}"
        " /lib/systemd/system/corehold* /etc/systemd/system/*/corehold*"
        " /etc/systemd/system/corehold* /var/lib/systemd/deb-systemd-helper-*/corehold*"
        " /usr/share/doc/corehold /usr/bin/corehold 2> /dev/null; pidof corehold corehold-mon",
        check=False,
    )
    assert left == "", f"left behind: {left}"
    assert "corehold" not in node.sh("systemctl list-units --all --no-legend 'corehold*'")


def whole_life(guest):
    node = Node(guest)
    try:
        before = node.machine()
        install(node)
        served(node)
        sandbox(node)
        volumes(node)
        isolated(node)
        steady = restarts(node)
        upgrade(node, steady)
        remove(node, steady, before)
    except (AssertionError, Failed):
        print("--- the node's log")
        print(guest.sh("journalctl -q --no-pager -n 60 -o cat", check=False, timeout=DEADLINE))
        raise
