# SPDX-License-Identifier: Apache-2.0
"""Other people's tasks on a machine with cgroup v2: where they live, and what they are allowed.

A service, a login session, a program that starts others all the time, one that pins itself again
and again, and one in the root cgroup. Without systemd they have cgroups of their own below the root.
"""
import re

TOP = "/sys/fs/cgroup"
# Kind of program: its cgroup, and how it behaves. Hopping: it tries to be on any CPU now and then. The one
# in the root cgroup never does: what it may use there is its own affinity, and that would be lost.
KINDS = {
    "service": ("system/app", "neighbour {options} --hop"),
    "session": ("user/session", "neighbour {options} --hop"),
    "forker": ("system/cron", "neighbour {options} --hop --fork-every 60000000"),
    "pinned": ("system/app", "neighbour {options} --pin {cpu}"),
    "root": ("", "taskset {mask:x} neighbour {options}"),
}
# Samples are written when the CPU changes, and every microsecond. An emulated CPU takes a few for one look.
SAMPLING = "--interval 1000 --capacity 12000000 --burst 20000000 --rest 1000000"
FIELDS = re.compile(r"^(/proc/(\d+)/status):Cpus_allowed_list:\s*(\S+)$", re.MULTILINE)


class Others:
    """Without systemd. Use as a context manager: nothing of it is left afterwards."""

    def __init__(self, guest):
        self.guest = guest
        self.pids = {}  # of programs, by name

    def __enter__(self):
        self.make_cgroups()
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.end()
            self.remove_cgroups()

    def make_cgroups(self):
        self.guest.sh(
            f"cd {TOP} && echo +cpuset +cpu > cgroup.subtree_control && mkdir system user"
            " && echo +cpuset > system/cgroup.subtree_control"
            " && echo +cpuset > user/cgroup.subtree_control"
            " && mkdir system/app system/cron user/session"
        )

    def remove_cgroups(self):
        self.guest.sh(f"cd {TOP} && rmdir system/app system/cron system user/session user")

    def start(self, name, cgroup, command):
        """In the cgroup; its process id."""
        said = self.guest.sh(
            f"sh -c 'echo $$ > {TOP}/{cgroup}/cgroup.procs; exec {command}'"
            f" > /tmp/{name}.log 2>&1 & echo $!"
        )
        return self.started(name, int(said))

    def started(self, name, pid):
        """Once it is the program itself, with the affinity it was given, and no shell before it."""
        self.guest.sh(f"while grep -q -e taskset -e numactl -e exec /proc/{pid}/cmdline; do usleep 20000; done")
        self.pids[name] = pid
        return pid

    def start_kinds(self, folder, cpus):
        """One of each kind. The CPUs are where one pins itself; the one in the root cgroup is pinned there alone,
        so that it is there whenever nobody holds them."""
        mask = sum(1 << cpu for cpu in cpus)
        for kind, (cgroup, command) in KINDS.items():
            options = f"{folder} --kind {kind} {SAMPLING}"
            self.start(kind, cgroup, command.format(options=options, cpu=min(cpus), mask=mask))

    def signal(self, name, *names):
        """To these programs. One that starts others lets the last of them end."""
        pids = " ".join(str(self.pids[each]) for each in names)
        self.guest.sh(f"kill -{name} {pids}")

    def end(self, *names):
        """All of them, or these."""
        ended = [self.pids.pop(name) for name in names or list(self.pids)]
        if ended:
            pids = " ".join(map(str, ended))
            self.guest.sh(
                f"kill -KILL {pids} 2> /dev/null; for P in {pids};"
                " do while [ -d /proc/$P ]; do sleep 0.1; done; done",
                check=False,
            )

    def allowed(self, *names):
        """Where each may run, as a kernel list."""
        names = names or list(self.pids)
        files = " ".join(f"/proc/{self.pids[name]}/status" for name in names)
        said = self.guest.sh(f"grep -H Cpus_allowed_list {files}", check=False)
        found = {int(pid): cpus for _, pid, cpus in FIELDS.findall(said)}
        return {name: found.get(self.pids[name]) for name in names}

    def cgroup_files(self):
        """What cpusets of others say, by file."""
        said = self.guest.sh(
            f"cd {TOP}; for F in $(find . -name cpuset.cpus -o -name cpuset.cpus.effective"
            " -o -name cpuset.cpus.partition | grep -v ^./corehold); do echo $F $(cat $F); done"
        )
        return {line.split()[0]: " ".join(line.split()[1:]) for line in said.splitlines()}


class OthersOfSystemd(Others):
    """The same with systemd: units and scopes."""

    SLICES = {"system/app": "system.slice", "system/cron": "system.slice", "user/session": "user.slice"}

    def make_cgroups(self):
        pass

    def remove_cgroups(self):
        pass

    def start(self, name, cgroup, command):
        if not cgroup:
            return super().start(name, cgroup, command)
        path = "/usr/local/bin:/image/bin:/usr/bin:/bin"
        self.guest.sh(
            f"systemd-run -q --unit=other-{name} --slice={self.SLICES[cgroup]} -E PATH={path}"
            f" -E LD_LIBRARY_PATH=$LD_LIBRARY_PATH sh -c 'exec {command}'"
        )
        said = self.guest.sh(f"systemctl show -P MainPID other-{name}")
        return self.started(name, int(said))

    def end(self, *names):
        for name in names or list(self.pids):
            self.guest.sh(f"systemctl kill -s KILL other-{name} 2> /dev/null", check=False)
        super().end(*names)
