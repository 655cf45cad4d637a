#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session of kubectl with a simulated node, compared with the one on record.

    session_test.py --corehold PATH --kubectl PATH --version 1.32 [--update]

What kubectl prints (ages, times, UIDs and the like masked) must be golden/VERSION.txt.
--update writes that file instead; read the difference before it is committed.
Exit 77: this kubectl cannot be had here.
"""
import argparse
import contextlib
import difflib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
MACHINE = "package:2 numa:1 l3:1 core:4 pu:2"
DEADLINE = 60.0  # seconds; nothing here takes long unless it hangs
SKIPPED = 77

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0-1"
staticPodPath: manifests
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
listen:
  address: ""
"""
STATIC_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: local}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: registry.example/local:1, command: [serve]}
"""


def eventually(condition, what):
    until = time.monotonic() + DEADLINE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"not in {DEADLINE:.0f} s: {what}")
        time.sleep(0.02)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Agent:
    """A simulated node; its kubeconfig is the one it writes itself."""

    def __init__(self, corehold, root):
        self.root = root
        (root / "manifests").mkdir()
        (root / "manifests/local.yaml").write_text(STATIC_POD, encoding="utf-8")
        (root / "node.yaml").write_text(CONFIG, encoding="utf-8")
        with open(root / "log", "wb") as log:
            self.process = subprocess.Popen(
                [corehold, "agent", "--simulate", MACHINE, "--root", root,
                 "--config", root / "node.yaml"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self.is_ready, "the agent is ready")

    def get(self, target):
        connection = UnixConnection(str(self.root / "run/corehold.sock"))
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("the agent has ended:\n" + self.log())
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def log(self):
        return (self.root / "log").read_text(encoding="utf-8", errors="replace")

    def node_name(self):
        return json.loads(self.get("/api/v1/nodes")[1])["items"][0]["metadata"]["name"]

    def uid(self, pod):
        return json.loads(self.get(f"/api/v1/namespaces/default/pods/{pod}")[1])["metadata"]["uid"]

    def kubeconfig(self):
        path = self.root / "kubeconfig"
        if not path.exists():
            import plain_proxy
            server = plain_proxy.serve(str(self.root / "run/corehold.sock"))
            path.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "corehold",
                "clusters": [{"name": "corehold", "cluster": {"server": server}}],
                "contexts": [{"name": "corehold", "context": {"cluster": "corehold"}}]}))
        return path

    def write_log(self, pod, lines):
        """Simulated containers write nothing; this is what one could have written."""
        directory = self.root / "logs" / self.uid(pod) / "main"
        directory.mkdir(parents=True, exist_ok=True)
        text = "".join(f"2026-11-16T00:00:0{i}.000000000Z stdout F {line}\n"
                       for i, line in enumerate(lines))
        (directory / "0.log").write_text(text, encoding="utf-8")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(DEADLINE)


def os_image():
    with open("/etc/os-release", encoding="utf-8") as file:
        return re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.MULTILINE)[1]


class Mask:
    """Takes out of a text what differs from run to run and from machine to machine."""

    def __init__(self, agent):
        uname = os.uname()
        version = json.loads(agent.get("/version")[1])["gitVersion"]
        self.rules = [
            (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
            (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "TIME"),
            (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"),
             "TIME"),
            (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "TIME"),
            (re.compile(r"/tmp/(LIVE|MERGED)-\d+"), r"\1"),
            (re.compile(r"(Machine ID: +)\S+"), r"\1ID"),
            (re.compile(r"(OS Image: +)\S.*"), r"\1OS"),
            (re.compile(re.escape(os_image())), "OS"),
            (re.compile(re.escape(str(agent.root))), "ROOT"),
            (re.compile(re.escape(str(HERE)) + "/"), ""),
            (re.compile(r"https?://127\.0\.0\.1:\d+"), "SERVER"),
            (re.compile(re.escape(uname.release)), "KERNEL"),
            (re.compile(re.escape(version)), "VERSION"),
            (re.compile(r'(resourceVersion"?: "?)\d+'), r"\1N"),
            (re.compile(rf"(?<![\w.]){re.escape(agent.node_name())}(?![\w])"), "NODE"),
            (re.compile(r"\b[0-9a-f]{8,}\.[0-9a-f]+\b"), "EVENT"),
            (re.compile(r"(?<![\w.:=/-])(\d+[smhd]){1,2}(?![\w])"), "AGE"),
            (re.compile(r"(?<=\S) {2,}"), "  "),
            (re.compile(r" +$", re.MULTILINE), ""),
        ]

    def __call__(self, text):
        for pattern, replacement in self.rules:
            text = pattern.sub(replacement, text)
        return text


class Session:
    def __init__(self, agent, kubectl, version, home):
        self.agent = agent
        self.kubectl = kubectl
        self.version = tuple(int(part) for part in version.split("."))
        self.mask = Mask(agent)
        self.lines = []
        self.environment = {"HOME": str(home), "KUBECONFIG": str(agent.kubeconfig()),
                            "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def has(self, version):
        return self.version >= tuple(int(part) for part in version.split("."))

    def title(self, text):
        self.lines.append(f"\n## {text}\n")

    def start(self, arguments, **more):
        return subprocess.Popen([self.kubectl, *arguments], env={**self.environment, **more},
                                cwd=HERE / "manifests", stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command, **environment):
        """Runs `kubectl COMMAND` and puts down what it says."""
        process = self.start(split(command), **environment)
        try:
            output, _ = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0] + "\n[hangs]\n"
        self.record(command, output, process.returncode)
        return output

    def record(self, command, output, code):
        shown = self.mask(" ".join(command.split()))
        self.lines.append(f"$ kubectl {shown}\n{self.mask(output)}")
        if output and not output.endswith("\n"):
            self.lines.append("\n")
        if code != 0:
            self.lines.append(f"[exit {code}]\n")

    def quietly(self, command):
        """For what only brings the next step about."""
        done = subprocess.run([self.kubectl, *split(command)], env=self.environment, check=False,
                              cwd=HERE / "manifests", stdin=subprocess.DEVNULL, timeout=DEADLINE,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"kubectl {command}: {done.stdout}{done.stderr}")
        return done.stdout

    @contextlib.contextmanager
    def watching(self, command, count):
        """Runs it beside what is done meanwhile, until it has printed `count` lines."""
        process = self.start(split(command))
        found = []

        def read():
            for line in process.stdout:
                found.append(line)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield lambda least: eventually(lambda: len(found) >= least,
                                           f"{command}: {least} lines; has {found}")
            eventually(lambda: len(found) >= count, f"{command}: {count} lines; has {found}")
        finally:
            process.kill()
            process.wait()
            reader.join()
        self.record(command, "".join(found[:count]), 0)


def split(command):
    """Words; '...' keeps blanks together."""
    return [part.replace("'", "") for part in re.findall(r"(?:[^\s']|'[^']*')+", command)]


def looking(session):
    session.title("what is there")
    session.run("version" if session.has("1.28") else "version --short")
    session.run("get --raw /healthz")
    session.run("api-resources")
    session.run("get nodes")
    session.run("get nodes -o wide")
    session.run("get namespaces")
    session.run("get pods -n nothing")
    session.run("get pods")


def applying(session, flags):
    session.title("apply, by the client")
    session.run(f"apply {flags} -f web.yaml --dry-run=server")
    session.run(f"apply {flags} -f web.yaml")
    session.run("wait --for=condition=Ready pod/web --timeout=30s")
    session.run(f"apply {flags} -f web.yaml")
    if session.has("1.32"):
        session.run(f"diff {flags} -f web-changed.yaml".replace("--validate=false ", ""))
    session.run(f"apply {flags} -f web-changed.yaml")
    session.run(f"apply {flags} -f web-forbidden.yaml")


def reading(session):
    session.title("get")
    session.run("get pods")
    session.run("get pods -o wide")
    session.run("get pod web -o yaml")
    session.run("get pod web -o json")
    session.run("get pods -o name")
    session.run("get pods -A")
    session.run("get pods -l app=web --show-labels")
    session.run("get pods -l app!=web,!app")
    session.run("get pods -L app,tier --field-selector status.phase=Running,metadata.name=web")
    session.run("get pods -o jsonpath='{.items[*].metadata.name}{\"\\n\"}'")
    session.run("get pod web -o custom-columns=NAME:.metadata.name,CPU:.spec.containers[0]"
                ".resources.requests.cpu")
    session.run("get pod nope")
    session.run("get deployments")


def describing(session):
    session.title("describe")
    session.run("describe pod web")
    session.run(f"describe node {session.agent.node_name()}")


def server_side(session):
    session.title("apply, by the server")
    session.run("apply --server-side -f cache.yaml")
    session.run("apply --server-side -f cache.yaml")
    session.run("apply --server-side -f cache-changed.yaml")
    session.run("apply --server-side --field-manager=other -f cache-other.yaml")
    session.run("apply --server-side --field-manager=other --force-conflicts -f cache-other.yaml")
    session.run("apply --server-side -f cache-other.yaml")
    session.run("get pod cache -o jsonpath='{.spec.containers[0].image} {.metadata.labels}{\"\\n\"}'")
    session.run("get pod cache -o yaml --show-managed-fields")


def creating(session, flags):
    session.title("create")
    session.run(f"create {flags} -f job.yaml")
    session.run(f"create {flags} -f job.yaml")
    if session.has("1.32"):
        session.run("wait --for=jsonpath='{.status.phase}'=Succeeded pod/job --timeout=30s")
    eventually(lambda: session.quietly("get pod job -o jsonpath={.status.phase}") == "Succeeded",
               "the job is done")
    session.run("get pod job")
    session.run(f"create {flags} -f bad.yaml")
    if session.has("1.32"):
        session.run("create -f typo.yaml")
        session.run("run quick --image=registry.example/quick:1 --command -- serve")
        session.run("get pod quick -o jsonpath='{.metadata.labels} {.spec.containers[0].command}"
                    "{\"\\n\"}'")
    session.title("a pod that does not fit")
    session.run(f"create {flags} -f large.yaml")
    session.run("wait --for=condition=PodScheduled=false pod/large --timeout=30s"
                if session.has("1.32") else "get pod large -o name")
    session.run("get pod large")
    session.run("describe pod large")


def changing(session):
    session.title("patch, label, annotate")
    session.run("patch pod web -p '{\"metadata\":{\"labels\":{\"patched\":\"strategic\"}}}'")
    session.run("patch pod web --type merge -p '{\"metadata\":{\"labels\":{\"patched\":\"merge\"}}}'")
    session.run("patch pod web --type json -p "
                "'[{\"op\":\"replace\",\"path\":\"/metadata/labels/patched\",\"value\":\"json\"}]'")
    session.run("patch pod web --type json -p "
                "'[{\"op\":\"test\",\"path\":\"/metadata/labels/patched\",\"value\":\"no\"}]'")
    session.run("patch pod web -p '{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x:9\"}]}}'")
    session.run("patch pod web -p '{\"spec\":{\"nodeName\":\"elsewhere\"}}'")
    session.run("label pod web colour=red")
    session.run("label pod web colour=blue")
    session.run("label pod web colour=blue --overwrite")
    session.run("label pod web colour- patched-")
    session.run("annotate pod web note='two words'")
    session.run("annotate pod web note-")
    session.run("get pod web -o jsonpath='{.metadata.labels} {.spec.containers[0].image}{\"\\n\"}'")
    session.run("edit pod web", KUBE_EDITOR="sed -i s/tier:.*/tier:\\ edited/")
    session.run("get pod web -L tier")


def logs(session):
    session.title("logs")
    session.agent.write_log("web", ["one", "two", "three"])
    session.run("logs web")
    session.run("logs web --tail=1 -c main")
    session.run("logs web --timestamps --tail=1")
    session.run("logs -l app=web --tail=2 --prefix")
    session.run("logs web -c nope")
    session.run("logs web --previous")
    session.run("logs nope")


def watching(session):
    session.title("get -w")
    with session.watching("get pod cache -w --no-headers -o custom-columns=L:.metadata.labels.seen",
                          3) as so_far:
        so_far(1)
        session.quietly("label pod cache seen=once")
        so_far(2)
        session.quietly("label pod cache seen=twice --overwrite")
    with session.watching("get pods -w --output-watch-events -l app=cache -L seen", 3) as so_far:
        so_far(2)
        session.quietly("label pod cache seen=thrice --overwrite")
    with session.watching("get pods -w --output-watch-events -l seen=thrice", 3) as so_far:
        so_far(2)
        session.quietly("label pod cache seen=gone --overwrite")


def events(session):
    session.title("events")
    session.run("get events --field-selector involvedObject.name=web,reason=Started")
    session.run("get events --field-selector type=Warning -o custom-columns=R:.reason,"
                "N:.involvedObject.name")
    if session.has("1.32"):
        session.run("events --for pod/web")
        session.run("events --types=Warning")


def nodes(session):
    name = session.agent.node_name()
    session.title("the node")
    session.run(f"cordon {name}")
    session.run("get nodes")
    session.run(f"cordon {name}")
    session.run(f"uncordon {name}")
    session.run(f"label node {name} rack=r1")
    session.run("get nodes -l rack=r1 -L rack")
    session.run(f"label node {name} rack-")
    session.run("top node" if False else f"get node {name} -o jsonpath='{{.status.capacity.cpu}} "
                "{.status.allocatable.cpu}{\"\\n\"}'")


def deleting(session, flags):
    session.title("delete")
    session.run("delete pod nope")
    session.run("delete pod nope --ignore-not-found")
    session.run("delete pod job --dry-run=server")
    session.run("delete pod job")
    session.run("delete pod large --grace-period=0 --force" if session.has("1.32")
                else "delete pod large --grace-period=0 --force --wait=false")
    if session.has("1.32"):
        session.run("delete pod quick --grace-period=1")
    session.run("delete pod cache --wait=false")
    session.run("wait --for=delete pod/cache --timeout=30s")
    session.run("delete -f web.yaml --now")
    session.run("get pods -l app")
    session.quietly(f"create {flags} -f web.yaml")
    session.quietly(f"create {flags} -f cache.yaml")
    session.run("delete pods -l app=web")
    session.run("get pods -l app -o name")


def static_pods(session):
    name = session.agent.node_name()
    session.title("static pods")
    session.run(f"get pod local-{name}")
    session.run(f"get pod local-{name} -o jsonpath='{{.metadata.annotations.kubernetes\\.io/config\\."
                "source}{\"\\n\"}'")
    session.run(f"delete pod local-{name}")
    session.run(f"label pod local-{name} a=b")
    session.run("delete pods --all")
    session.run("get pods")


def whole_session(session):
    # Before 1.27 kubectl checks by an OpenAPI document of version 2, which there is not.
    flags = "" if session.has("1.32") else "--validate=false"
    looking(session)
    applying(session, flags)
    reading(session)
    describing(session)
    if session.has("1.32"):
        server_side(session)
    else:
        session.quietly(f"apply {flags} -f cache.yaml")
    creating(session, flags)
    changing(session)
    logs(session)
    watching(session)
    events(session)
    nodes(session)
    static_pods(session)
    deleting(session, flags)


def compare(found, path, update):
    if update:
        path.write_text(found, encoding="utf-8")
        return True
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == expected:
        return True
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(True), found.splitlines(True), str(path.name), "this session"))
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corehold", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    got = subprocess.run([HERE.parent.parent / "tools/kubectl-get", arguments.version],
                         stdout=subprocess.PIPE, text=True, check=False)
    if got.returncode != 0:
        return SKIPPED if got.returncode == 3 else 1
    with tempfile.TemporaryDirectory(prefix="corehold-kubectl-") as directory:
        home = pathlib.Path(directory) / "home"
        root = pathlib.Path(directory) / "node"
        home.mkdir()
        root.mkdir()
        agent = Agent(arguments.corehold, root)
        try:
            session = Session(agent, got.stdout.strip(), arguments.version, home)
            try:
                whole_session(session)
            except BaseException:
                pathlib.Path("/tmp/static_session.txt").write_text("".join(session.lines)); print("".join(session.lines[-6:]))
                print(agent.log())
                raise
        finally:
            agent.stop()
    same = compare("".join(session.lines).lstrip("\n"),
                   HERE / "golden" / f"{arguments.version}.txt", arguments.update)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
