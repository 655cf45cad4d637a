# SPDX-License-Identifier: Apache-2.0
"""kubectl beside a simulated node: what it is asked and what it says, as a text to compare."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE = 300.0  # seconds; nothing here takes long unless it hangs


def eventually(condition, what):
    until = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"not in {DEADLINE:.0f} s: {what()}")
        time.sleep(0.02)


def split(command):
    """Words; '...' keeps blanks together."""
    return [part.replace("'", "") for part in re.findall(r"(?:[^\s']|'[^']*')+", command)]


def os_image():
    with open("/etc/os-release", encoding="utf-8") as file:
        return re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.MULTILINE)[1]


class Mask:
    """Takes out of a text what differs from run to run and from machine to machine."""

    def __init__(self, agent, node):
        version = agent.get("/version").json["gitVersion"]
        self.rules = [
            (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
            (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "TIME"),
            (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"),
             "TIME"),
            (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "TIME"),
            (re.compile(r"\S*/(LIVE|MERGED)-\d+"), r"\1"),
            (re.compile(r"(Machine ID: +)\S+"), r"\1ID"),
            (re.compile(r"(OS Image: +)\S.*"), r"\1OS"),
            (re.compile(re.escape(os_image())), "OS"),
            (re.compile(re.escape(str(agent.root))), "ROOT"),
            (re.compile(re.escape(str(HERE)) + "/"), ""),
            (re.compile(r"https?://127\.0\.0\.1:\d+"), "SERVER"),
            (re.compile(re.escape(os.uname().release)), "KERNEL"),
            (re.compile(re.escape(version)), "VERSION"),
            (re.compile(r'(resourceVersion"?: "?)\d+'), r"\1N"),
            (re.compile(rf"(?<![\w.]){re.escape(node)}(?![\w])"), "NODE"),
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
        self.node = agent.get("/api/v1/nodes").json["items"][0]["metadata"]["name"]
        self.mask = Mask(agent, self.node)
        self.lines = []
        self.environment = {"HOME": str(home), "TMPDIR": str(home),
                            "KUBECONFIG": os.path.join(agent.root, "kubeconfig"),
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
            def until(least):
                eventually(lambda: len(found) >= least,
                           lambda: f"{command}: {least} lines, not {found}")
            yield until
            until(count)
        finally:
            process.kill()
            process.wait()
            reader.join()
        self.record(command, "".join(found[:count]), 0)

    def write_log(self, pod, lines):
        """Simulated containers write nothing; this is what one could have written."""
        uid = self.agent.get(f"/api/v1/namespaces/default/pods/{pod}").json["metadata"]["uid"]
        directory = pathlib.Path(self.agent.root) / "logs" / uid / "main"
        directory.mkdir(parents=True, exist_ok=True)
        text = "".join(f"2026-11-16T00:00:0{i}.000000000Z stdout F {line}\n"
                       for i, line in enumerate(lines))
        (directory / "0.log").write_text(text, encoding="utf-8")
