# SPDX-License-Identifier: Apache-2.0
"""An agent on a machine that is not there, and its API over the Unix socket."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
DEADLINE = 300  # seconds; nothing here takes long unless it hangs


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=DEADLINE):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, code, headers, body):
        self.code, self.headers, self.text = code, headers, body.decode()

    @property
    def json(self):
        return json.loads(self.text)


class Watch:
    """A watch under way: its events, one after the other."""

    def __init__(self, connection, answer):
        self.connection, self.answer = connection, answer

    def next(self):
        line = self.answer.readline()
        return json.loads(line) if line else None

    def close(self):
        self.connection.close()


class Agent:
    def __init__(self, corehold, topology="package:1 core:4 pu:2", config=None):
        self.corehold, self.topology = corehold, topology
        self.root = tempfile.mkdtemp(prefix="corehold-api-")
        self.config = None
        if config is not None:
            self.config = os.path.join(self.root, "node.yaml")
            with open(self.config, "w", encoding="utf-8") as file:
                file.write(config)
        self.process = None
        self.hold = os.path.join(self.root, "hold-delays")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.root)

    @property
    def socket(self):
        return os.path.join(self.root, "run", "corehold.sock")

    def start(self):
        arguments = [self.corehold, "agent", "--simulate", self.topology, "--root", self.root]
        if self.config:
            arguments += ["--config", self.config]
        environment = {**os.environ, "COREHOLD_HOLD_DELAYS": self.hold}
        with open(os.path.join(self.root, "log"), "ab") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            try:
                if self.get("/readyz").code == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                raise AssertionError("the agent has ended: " + self.log())
            time.sleep(0.05)
        raise AssertionError("the agent is not ready: " + self.log())

    def stop(self, number=signal.SIGTERM):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(timeout=DEADLINE)

    @contextlib.contextmanager
    def held_delays(self):
        """Within this no scale-down delay ends, however long it takes: it can be looked at."""
        with open(self.hold, "w", encoding="ascii"):
            pass
        try:
            yield
        finally:
            os.remove(self.hold)

    def log(self):
        with open(os.path.join(self.root, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def ask(self, method, path, body=None, content_type="application/json", headers=None):
        connection = UnixConnection(self.socket)
        try:
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            sent = {"Accept": "application/json", **(headers or {})}
            if body is not None:
                sent["Content-Type"] = content_type
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def patch(self, path, body, kind=MERGE):
        return self.ask("PATCH", path, body, kind)

    def watch(self, path, **parameters):
        connection = UnixConnection(self.socket)
        query = urllib.parse.urlencode({"watch": "true", **parameters})
        connection.request("GET", f"{path}?{query}", headers={"Accept": "application/json"})
        return Watch(connection, connection.getresponse())

    def wait_for(self, path, condition):
        """The object at the path, once it is as wanted."""
        deadline = time.monotonic() + DEADLINE
        while True:
            answer = self.get(path)
            if condition(answer):
                return answer
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        raise AssertionError(f"{path} does not become as wanted: {answer.text}")


PODS = "/api/v1/namespaces/default/pods"


def pod(name, cpus=0, command=("sleep", "1000"), **metadata):
    """A pod with one container `main`; with CPUs of its own, or sharing."""
    container = {"name": "main", "command": list(command)}
    if cpus:
        container["resources"] = {"limits": {"cpu": str(cpus), "memory": "64Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container]},
    }
