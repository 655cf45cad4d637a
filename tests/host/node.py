# SPDX-License-Identifier: Apache-2.0
"""A real agent on this machine, for tests: started, asked, killed and cleaned up after.

Everything it makes is under a temporary root and in cgroups named corehold; leftovers()
says what is still there. Only one agent can manage a machine's CPUs, so tests that use this
hold the ctest resource lock "host-cpus".
"""
import ctypes
import glob
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ.get("COREHOLD", "corehold")
# The leak checker of a sanitized build forks while the program ends. For the agent a child of
# a run's client is the run's, to be killed with it, and then the checker waits for ever.
os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
AGENT_OPTIONS = {"ASAN_OPTIONS": "detect_leaks=1"}
DEADLINE = 300.0  # seconds; nothing here takes long unless it hangs

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
cpuManagerReconcilePeriod: {reconcile}
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
listen:
  address: ""
"""


def parse_cpus(text):
    """The set that a kernel list such as "0-2,5" names."""
    cpus = set()
    for item in text.strip().split(","):
        if item:
            first, _, last = item.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def online_cpus():
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        return parse_cpus(file.read())


def eventually(condition, what, deadline=DEADLINE):
    """What `condition` returns once it is true; fails the test when it never is."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"after {deadline:.0f} s still not: {what}")
        time.sleep(0.005)


def status_field(pid, name, task=None):
    """A line of /proc/PID/status, or None when there is no such process."""
    path = f"/proc/{pid}/status" if task is None else f"/proc/{pid}/task/{task}/status"
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(name + ":"):
                    return line.split(":", 1)[1].strip()
    except (FileNotFoundError, ProcessLookupError):
        pass
    return None


def allowed_cpus(pid):
    """The CPUs every thread of the process may use, as the kernel says."""
    cpus = set()
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return cpus
    for task in tasks:
        text = status_field(pid, "Cpus_allowed_list", task)
        if text is not None:
            cpus |= parse_cpus(text)
    return cpus


def start_time(pid):
    """In clock ticks since boot; with the pid it names a process for good. None: dead."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
            return None if fields[0] == "Z" else int(fields[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


def processes_with(text):
    """Pids of processes that have `text` in their command line or environment, but us."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{entry}/{part}", "rb") as file:
                    if text.encode() in file.read():
                        found.append(int(entry))
                        break
            except OSError:
                pass
    return found


def our_cgroups():
    """Directories of ours in any mounted hierarchy, deepest first."""
    found = []
    for pattern in ("/sys/fs/cgroup/corehold", "/sys/fs/cgroup/*/corehold"):
        for top in glob.glob(pattern):
            for directory, _, _ in os.walk(top, topdown=False):
                found.append(directory)
    return found


def cpuset_directory(uid, container):
    """The container's cgroup with the cpuset controller."""
    for pattern in (f"/sys/fs/cgroup/cpuset/corehold/{uid}/{container}",
                    f"/sys/fs/cgroup/corehold/pods/{uid}/{container}",
                    f"/sys/fs/cgroup/corehold/shared/{uid}/{container}"):
        if os.path.isdir(pattern):
            return pattern
    return None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def pod(name, command, cpus=None, limit=None, **spec):
    """A pod of one container: exclusive CPUs with `cpus`, else shared."""
    container = {"name": "main", "image": "host", "command": command}
    if cpus is not None:
        amounts = {"cpu": str(cpus), "memory": "64Mi"}
        container["resources"] = {"limits": amounts, "requests": amounts}
    elif limit is not None:
        container["resources"] = {"limits": limit}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec}}


class Refused(Exception):
    """The API's Status of a call that failed."""

    def __init__(self, code, status):
        super().__init__(f"{code}: {status.get('message', status)}")
        self.code = code
        self.status = status


class Node:
    def __init__(self, root=None, config=CONFIG, reconcile="1s", binary=BINARY):
        self.base = tempfile.mkdtemp(prefix="corehold-test-")
        self.root = root or os.path.join(self.base, "root")
        self.binary = binary
        self.config = os.path.join(self.base, "config.yaml")
        self.log_path = os.path.join(self.base, "agent.log")
        self.process = None
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config.format(reconcile=reconcile))

    # The agent's life.

    def launch(self, *arguments, before_exec=None):
        """Starts the agent and does not wait for it."""
        command = [self.binary, "agent", "--config", self.config, "--root", self.root,
                   "--log-level", "debug", *arguments]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, env={**os.environ, **AGENT_OPTIONS},
                                            stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True,
                                            preexec_fn=before_exec)

    def start(self, *arguments, **options):
        self.launch(*arguments, **options)
        eventually(self.is_ready, "the agent is ready")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the agent ended with {self.process.returncode}:\n{self.log()}")
        try:
            return self.call("GET", "/readyz", raw=True)
        except (OSError, http.client.HTTPException, Refused):
            return None

    def kill(self):
        """kill -9: the agent has no time for anything."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """SIGTERM: containers go on."""
        self.process.terminate()
        return self.process.wait(DEADLINE)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    # The API.

    @property
    def socket_path(self):
        return os.path.join(self.root, "run", "corehold.sock")

    def call(self, method, path, body=None, raw=False):
        connection = _UnixConnection(self.socket_path)
        try:
            text = None if body is None else json.dumps(body)
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            content = answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
        if answer.status >= 400:
            try:
                status = json.loads(content)
            except ValueError:
                status = {"message": content}
            raise Refused(answer.status, status)
        return content if raw else json.loads(content)

    def create(self, manifest):
        return self.call("POST", "/api/v1/namespaces/default/pods", manifest)

    def pods(self):
        return self.call("GET", "/api/v1/pods")["items"]

    def pod(self, name):
        try:
            return self.call("GET", f"/api/v1/namespaces/default/pods/{name}")
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def delete(self, name, grace=None):
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        try:
            self.call("DELETE", f"/api/v1/namespaces/default/pods/{name}{query}")
        except Refused as refused:
            if refused.code != 404:
                raise

    def gone(self, name):
        eventually(lambda: self.pod(name) is None, f"pod {name} is gone")

    def running(self, name):
        """Waits until the pod runs; its uid."""
        def runs():
            found = self.pod(name)
            return found if found and found["status"].get("phase") == "Running" and all(
                "running" in status["state"]
                for status in found["status"]["containerStatuses"]) else None
        return eventually(runs, f"pod {name} runs")["metadata"]["uid"]

    def restarts(self, name):
        return sum(status["restartCount"]
                   for status in self.pod(name)["status"]["containerStatuses"])

    def cpus(self):
        return self.call("GET", "/apis/corehold.dev/v1alpha1/cpus")

    def events(self, reason):
        items = self.call("GET", "/api/v1/events")["items"]
        return [item for item in items if item["reason"] == reason]

    # The machine.

    def pids(self, uid, container="main"):
        """Processes of the container, by its cgroup."""
        directory = cpuset_directory(uid, container)
        if directory is None:
            return []
        try:
            with open(os.path.join(directory, "cgroup.procs"), encoding="ascii") as file:
                return [int(line) for line in file.read().split()]
        except FileNotFoundError:
            return []

    def container_cpus(self, uid, container="main"):
        """Where the kernel lets its processes run."""
        cpus = set()
        for pid in self.pids(uid, container):
            cpus |= allowed_cpus(pid)
        return cpus

    def run(self, *arguments, **options):
        """`corehold run` with this node's root; a Popen."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([self.binary, "run", "--root", self.root, *arguments], **options)

    def command(self, *arguments):
        """Any client command; (exit code, standard output, standard error)."""
        done = subprocess.run([self.binary, *arguments, "--root", self.root],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        return done.returncode, done.stdout, done.stderr

    def isolation(self, action, *arguments):
        """corehold isolation ACTION; (exit code, standard output, standard error)."""
        done = subprocess.run([self.binary, "isolation", action, "--root", self.root, *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        return done.returncode, done.stdout, done.stderr

    def verify_checkpoint(self):
        done = subprocess.run(
            [self.binary, "checkpoint", "verify", os.path.join(self.root, "cpu_manager_state")],
            capture_output=True, text=True, timeout=DEADLINE, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the checkpoint is not valid: {done.stdout}{done.stderr}")

    def checkpoint(self):
        with open(os.path.join(self.root, "cpu_manager_state"), encoding="utf-8") as file:
            return json.load(file)

    # The end.

    def clean(self):
        """Deletes every pod, stops the agent, removes what is left. Never raises."""
        try:
            if self.process is not None and not self.runs():
                self.start()
            for item in self.pods():
                self.delete(item["metadata"]["name"], grace=0)
            eventually(lambda: not self.pods(), "all pods are gone")
        except (AssertionError, OSError, Refused, http.client.HTTPException) as trouble:
            print(f"cleaning up: {trouble}", file=sys.stderr)
        if self.runs():
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()
        self.release()

    def release(self):
        """Lets everybody else back on all CPUs. Never raises."""
        if not os.path.exists(os.path.join(self.root, "isolation.json")):
            return
        try:
            code, _, err = self.isolation("release")
            if code != 0:
                print(f"cleaning up: isolation release: {err}", file=sys.stderr)
        except (OSError, subprocess.SubprocessError) as trouble:
            print(f"cleaning up: {trouble}", file=sys.stderr)

    def leftovers(self):
        """What is still on the machine, as lines; empty when all is clean."""
        found = []
        with open("/proc/self/mounts", encoding="utf-8") as file:
            found += [f"mount {line.split()[1]}" for line in file if self.base in line]
        found += [f"process {pid}" for pid in processes_with(self.base)]
        found += [f"cgroup {directory}" for directory in
                  glob.glob("/sys/fs/cgroup/*/corehold-system")]
        found += [f"cgroup {directory}" for directory in our_cgroups()
                  if os.path.basename(directory) != "corehold"]
        return found

    def sweep(self):
        """By force, after a test that failed."""
        for pid in processes_with(self.base):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.release()
        for directory in our_cgroups():
            try:
                with open(os.path.join(directory, "cgroup.procs"), encoding="ascii") as file:
                    for pid in file.read().split():
                        os.kill(int(pid), signal.SIGKILL)
            except (OSError, ValueError):
                pass
        for _ in range(100):
            for directory in our_cgroups():
                try:
                    os.rmdir(directory)
                except OSError:
                    pass
            if not our_cgroups():
                break
            time.sleep(0.02)
        shutil.rmtree(self.base, ignore_errors=True)


class NodeTest(unittest.TestCase):
    """A test with a node of its own, which leaves nothing behind."""

    reconcile = "1s"

    def setUp(self):
        require_machine()
        self.node = Node(reconcile=self.reconcile)
        self.addCleanup(self.leave)

    def leave(self):
        self.node.clean()
        left = self.node.leftovers()
        failed = any(error for _, error in self._outcome.errors) if hasattr(
            self._outcome, "errors") else False
        if failed or left:
            print(self.node.log()[-6000:], file=sys.stderr)
        self.node.sweep()
        self.assertEqual(left, [], "left behind on the machine")

    def check_books(self):
        """No CPU lost or doubled, in the agent's map and in the checkpoint."""
        self.node.verify_checkpoint()
        shown = self.node.cpus()
        holders = [parse_cpus(shown["shared"])] + [
            parse_cpus(holder["assigned"]) for holder in shown["containers"]
            if holder.get("assigned")]
        union = set().union(*holders)
        self.assertEqual(sum(len(cpus) for cpus in holders), len(union), f"doubled: {shown}")
        self.assertEqual(union, online_cpus(), f"lost: {shown}")


class Watch:
    """Tells when a file in a directory has been replaced by a rename (inotify)."""

    IN_MOVED_TO = 0x80

    def __init__(self, directory, name):
        self._name = name.encode()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._libc.inotify_add_watch(self._fd, directory.encode(), self.IN_MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), directory)

    def fired(self):
        """Whether it has happened since the last call."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return False
        at = 0
        while at < len(data):
            _, _, _, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16:at + 16 + length].rstrip(b"\0")
            if name == self._name:
                return True
            at += 16 + length
        return False

    def close(self):
        os.close(self._fd)


SKIPPED = 77


def require_machine():
    """Two CPUs, root: else the test is skipped, which in CI is a failure."""
    missing = None
    if os.geteuid() != 0:
        missing = "root is needed to make cgroups"
    elif len(online_cpus()) < 2:
        missing = "two CPUs are needed"
    if missing:
        if os.environ.get("CI") == "true":
            raise AssertionError(missing)
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
