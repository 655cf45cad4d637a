#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A QEMU guest, driven by a shell on its serial line.

The first start of a shape boots for some ten seconds and saves the running guest; every later
one continues from there in a second or two. The disk is mounted only then, so programs may
change without another boot.
"""
import ctypes
import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import image

# An Intel model: under TCG only those show SMT and one L3 per die. Without cmpxchg16b, whose emulation
# in QEMU 7.2 breaks the flags now and then, so that kernels of 6.12 and later crash.
CPU = "qemu64,vendor=GenuineIntel,family=6,model=85,stepping=4,-cx16"
# no_timer_check: on a busy host the timer may seem not to work, and the kernel gives up.
KERNEL_LINE = (
    "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable random.trust_cpu=on no_timer_check"
)
PR_SET_PDEATHSIG = 1
# Seconds without an answer after which a guest is given up. Far more than anything takes on a busy
# host: nothing but a guest that hangs is to be noticed.
HANGS = 600
SLOW = 10  # seconds; commands that take longer are shown
EXTRA_DISK = 64 << 20  # bytes


@dataclass(frozen=True)
class Shape:
    """A machine: how its CPUs are arranged, and in which NUMA nodes."""

    name: str
    cpus: int
    smp: str
    nodes: tuple
    megabytes: int = 768  # of each NUMA node

    def arguments(self):
        words = ["-smp", f"{self.cpus},{self.smp}", "-m", str(self.megabytes * len(self.nodes))]
        for number, cpus in enumerate(self.nodes):
            words += ["-object", f"memory-backend-ram,id=m{number},size={self.megabytes}M"]
            words += ["-numa", f"node,nodeid={number},cpus={cpus},memdev=m{number}"]
        for target in range(1, len(self.nodes)):
            words += ["-numa", f"dist,src=0,dst={target},val=21"]
        return words


# Two sockets of two dies (one L3 each) of two cores of two threads; a NUMA node per socket.
M16 = Shape("16", 16, "sockets=2,dies=2,cores=2,threads=2", ("0-7", "8-15"))
# Two sockets of three cores of two threads.
M12 = Shape("12", 12, "sockets=2,dies=1,cores=3,threads=2", ("0-5", "6-11"))


class Failed(Exception):
    """A command in the guest failed, or the guest did not answer."""


class Crashed(Failed):
    """The guest's kernel has crashed, or its CPUs wait for each other for ever. QEMU 7.2 emulates 16
    CPUs with mistakes that kernels stumble over now and then, when they boot and later: crashes were
    seen with 6.12, without anything of ours, and three CPUs that hang in the kernel with 6.1."""


# As the kernel writes to its console. A CPU that hangs in the kernel for a hundred seconds hangs for good.
CRASH = re.compile(
    rb"\] (?:BUG: |Oops: |Kernel panic - |watchdog: BUG: soft lockup - CPU#\d+ stuck for \d{3,}s!)[^\n]*\n"
)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Guest:
    """One running guest. Use as a context manager: it ends with the block."""

    # What another kind of guest changes.
    init = image.HERE / "init"
    kernel_line = KERNEL_LINE
    patience = 300  # seconds to boot in
    boots = 3  # a kernel that got no CPU while it measured its clocks may wait for ever
    all_processes = "ps -o"
    cgroups_left = "-mindepth 1"  # how find(1) finds cgroups that no test may leave behind
    device = "/dev/vda"  # has what the saved guest does not know yet; mounted on /image

    def __init__(self, shape, cache, programs, suite=image.SUITE, devices=False):
        """With `devices` it has an NVMe and a virtio disk with eight queues each, and a network
        card that leads nowhere. QEMU cannot save an NVMe: such a guest is booted every time."""
        self.shape = shape
        self.cache = Path(cache).resolve()
        self.programs = programs
        self.suite = suite
        self.devices = devices
        self.process = None
        self.seen = bytearray()  # all that came over the serial line
        self.calls = 0

    def __enter__(self):
        image.check_programs()
        self.cache.mkdir(parents=True, exist_ok=True)
        with open(self.cache / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kernel = self.make_kernel()
            self.base = [
                image.program("qemu-system-x86_64"), "-accel", "tcg,thread=multi", "-machine", "q35",
                "-cpu", CPU, *self.shape.arguments(), "-display", "none", "-serial", "stdio",
                "-no-reboot", *self._network(), "-kernel", str(image.vmlinuz(kernel)),
                "-initrd", str(image.initramfs(self.cache, kernel, self.init)),
                "-append", self.kernel_line,
            ]  # fmt: skip
            self.disks = self.make_disks()
            if not self.devices:
                saved = self._saved()
                self._start("-incoming", f"exec:cat {saved}")
        try:
            if self.devices:
                self._boot()
            self._wait_until_running()
            # What the saved kernel remembers of the disk may be from another one.
            self.sh(
                f"echo 3 > /proc/sys/vm/drop_caches; mkdir -p /image"
                f" && mount -t ext4 -o ro {self.device} /image"
                f" && date -s @{int(time.time())} > /dev/null",
            )
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    @property
    def name(self):
        """Of what is saved of it."""
        return self.shape.name if self.suite == image.SUITE else f"{self.shape.name}-{self.suite}"

    def make_kernel(self):
        return image.kernel(self.cache, self.suite)

    def make_disks(self):
        return [image.disk(self.cache, self.programs)]

    def _start(self, *more):
        self.scratch = tempfile.TemporaryDirectory()
        self.control = f"{self.scratch.name}/qmp"
        drives = []
        for disk in self.disks:
            drives += ["-drive", f"file={disk},if=virtio,format=raw,readonly=on"]
        if self.devices:
            drives += self._more_disks()
        self.process = subprocess.Popen(
            [*self.base, *drives, "-qmp", f"unix:{self.control},server=on,wait=off", *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            preexec_fn=die_with_parent,
        )
        os.set_blocking(self.process.stdout.fileno(), False)

    def _network(self):
        if not self.devices:
            return ["-nic", "none"]
        return ["-netdev", "user,id=net0,restrict=on", "-device", "virtio-net-pci,netdev=net0"]

    def _more_disks(self):
        words = []
        # The address lets the disk with our programs stay the first.
        for name, device in (("nvme", "nvme,serial=nvme,max_ioqpairs=8"),
                             ("queues", "virtio-blk-pci,num-queues=8,addr=0x1d")):
            path = f"{self.scratch.name}/{name}"
            with open(path, "wb") as file:
                file.truncate(EXTRA_DISK)
            words += ["-drive", f"file={path},if=none,format=raw,id={name}",
                      "-device", f"{device},drive={name}"]
        return words

    def _end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
            self.scratch.cleanup()

    def _wait_until_running(self):
        """Until the saved state is loaded: what is sent to the serial line before is lost."""
        deadline = time.monotonic() + HANGS
        while not os.path.exists(self.control):
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = self.process.stdout.read() or b""
                raise Failed(f"QEMU does not start: {said.decode(errors='replace')}")
            time.sleep(0.02)
        with Monitor(self.control) as monitor:
            while monitor.ask("query-status")["status"] != "running":
                if time.monotonic() > deadline:
                    raise Failed("QEMU does not load the saved guest")
                time.sleep(0.05)

    def _saved(self):
        """The state file of this shape; boots and saves it when it is not there."""
        version = subprocess.run([self.base[0], "--version"], capture_output=True, text=True).stdout
        kernel, initrd = (
            Path(self.base[self.base.index(option) + 1]) for option in ("-kernel", "-initrd")
        )
        words = [word for word in self.base if word not in (str(kernel), str(initrd))]
        # All but the last disk are in use when it is saved; of that one it knows the size.
        known = [disk.name for disk in self.disks[:-1]] + [self.disks[-1].stat().st_size]
        key = image.digest(version, *words, *known, kernel, initrd)
        state = self.cache / f"state-{self.name}-{key}.bin"
        if state.exists():
            return state
        image.keep_only(self.cache, f"state-{self.name}-{image.ANY_DIGEST}.bin", state)
        began = time.monotonic()
        self._boot()
        self._save(state)
        print(f"booted and saved machine {self.name}: {time.monotonic() - began:.1f} s")
        return state

    def _boot(self):
        for left in reversed(range(self.boots)):
            self._start()
            try:
                self._wait_for(re.compile(rb"guest is up\n"), self.patience)
                return
            except Failed as failed:
                self._end()
                self.seen.clear()
                if left == 0:
                    raise
                print(f"booting again: {str(failed)[:300]}", flush=True)

    def _save(self, state):
        try:
            partial = state.with_suffix(".partial")
            self.sh("sync; echo 3 > /proc/sys/vm/drop_caches")
            with Monitor(self.control) as monitor:
                monitor.ask("migrate", uri=f"exec:cat > {partial}")
                monitor.wait_until_saved()
            os.rename(partial, state)
        finally:
            self._end()
            self.seen.clear()

    def _wait_for(self, pattern, timeout):
        """What came before the match, and its groups; both are taken out."""
        deadline = time.monotonic() + timeout
        while True:
            crash = CRASH.search(self.seen)
            if crash:
                raise Crashed(self.seen[crash.start() :][:2000].decode(errors="replace"))
            match = pattern.search(self.seen)
            if match:
                before, groups = bytes(self.seen[: match.start()]), match.groups()
                del self.seen[: match.end()]
                return before, groups
            left = deadline - time.monotonic()
            tail = self.seen[-2000:].decode(errors="replace")
            if left <= 0:
                raise Failed(f"no answer from the guest within {timeout} s; last it said: {tail}")
            if select.select([self.process.stdout], [], [], left)[0]:
                data = self.process.stdout.read(65536)
                if data == b"":
                    raise Failed(f"the guest has ended; last it said: {tail}")
                self.seen += data or b""

    def sh(self, command, timeout=HANGS, check=True):
        """Runs a shell command in the guest; its output. Its code goes to self.code."""
        self.calls += 1
        mark = f"@@{self.calls}"
        text = f"{{ {command}\n}} </dev/null 2>&1; echo '{mark}' $?\n"
        began, used = time.monotonic(), self.seconds_used()
        self._send(text.encode())
        before, (code,) = self._wait_for(re.compile(rf"{mark} (\d+)\n".encode()), timeout)
        took = time.monotonic() - began
        if took > SLOW:
            used = self.seconds_used() - used
            print(f"  slow: {took:.1f} s, {used:.1f} s of CPU: {command[:100]!r}", flush=True)
        output = before.decode(errors="replace")
        self.code = int(code)
        if check and self.code != 0:
            raise Failed(f"in the guest: {command}\nexit code {self.code}: {output}")
        return output

    def seconds_used(self):
        """CPU time of the guest: tells a guest that works from one that gets no CPU."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, data):
        # QEMU takes what the line can hold; the guest throttles it.
        self.process.stdin.write(data)

    def write(self, path, text):
        """A file in the guest."""
        self.sh(f"cat > {path} <<'END_OF_FILE'\n{text}\nEND_OF_FILE")

    def timed(self, command, **options):
        """Output and seconds, the serial line included."""
        began = time.monotonic()
        return self.sh(command, **options), time.monotonic() - began


class Monitor:
    """QEMU's machine protocol, as far as saving needs it."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(HANGS)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.ask("qmp_capabilities")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def ask(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "error" in answer:
                raise Failed(f"QEMU: {command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def wait_until_saved(self):
        while True:
            status = self.ask("query-migrate").get("status")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise Failed(f"QEMU: saving the guest: {status}")
            time.sleep(0.1)


if __name__ == "__main__":  # guest.py CACHE PROGRAM...: commands from standard input, for people
    with Guest(M16, sys.argv[1], sys.argv[2:]) as person:
        for line in sys.stdin:
            answer, seconds = person.timed(line.rstrip("\n"), check=False)
            print(f"{answer}[{person.code}] {seconds:.2f} s", flush=True)
