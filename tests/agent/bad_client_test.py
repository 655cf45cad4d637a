# SPDX-License-Identifier: Apache-2.0
"""Clients that do not behave, against a real agent of a simulated machine.

Each is refused with the right status, the agent's memory stays bounded, and a neighbour who
asks properly over TLS and the Unix socket is served all the while. Nothing here measures
speed: deadlines are far away and only there so that a hang is a failure.
"""
import base64
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("COREHOLD", "corehold")
DEADLINE = 600.0  # seconds; nothing here takes long unless it hangs
PATIENCE = 10.0  # seconds; an agent may let go of one whose handshake or request takes longer
IDLE = 5000
LIMIT = 4096  # connections that an agent keeps of each kind
MIB = 1 << 20
POD = "/api/v1/namespaces/default/pods"
CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
listen: {address: "127.0.0.1:0"}
"""


def is_sanitized():
    with open(BINARY, "rb") as file:
        return b"__asan_init" in file.read()


def eventually(condition, what):
    until = time.monotonic() + DEADLINE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"it never happens: {what}")
        time.sleep(0.02)


def in_time(attempt):
    """What an attempt gives that the agent had no right to let go of.

    One that failed, or gave None, after more than the agent's patience is made again: the machine
    was too busy for it.
    """
    until = time.monotonic() + DEADLINE
    while True:
        begun = time.monotonic()
        trouble = value = None
        try:
            value = attempt()
        except OSError as error:
            trouble = error
        now = time.monotonic()
        if value is None and PATIENCE <= now - begun and now < until:
            continue
        if trouble is not None:
            raise trouble
        return value


class Agent:
    """An agent with a root of its own, and how to reach it."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="corehold-bad-")
        with open(os.path.join(self.root, "config.yaml"), "w", encoding="ascii") as file:
            file.write(CONFIG)
        self.log = os.path.join(self.root, "log")
        self.path = os.path.join(self.root, "run", "corehold.sock")
        self.kubeconfig = os.path.join(self.root, "kubeconfig")
        self.start()

    def start(self):
        self.launch()
        with open(self.kubeconfig, encoding="ascii") as file:
            text = file.read()
        self.port = int(re.search(r"server: https://127\.0\.0\.1:(\d+)\n", text)[1])
        self.token = re.search(r'token: "(\w+)"', text)[1]
        authority = re.search(r"certificate-authority-data: (\S+)", text)[1]
        self.trust = ssl.create_default_context(
            cadata=base64.b64decode(authority).decode("ascii"))

    def launch(self):
        # What a sanitizer keeps of memory that was given back would count as the agent's.
        options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "agent", "--root", self.root, "--config",
                 os.path.join(self.root, "config.yaml"), "--simulate", "package:1 core:4 pu:2"],
                env={**os.environ, "ASAN_OPTIONS": options.lstrip(":")},
                stdin=subprocess.DEVNULL, stderr=log)
        eventually(self.is_ready, "the agent is ready")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("the agent has ended: " + self.said())
        with open(self.log, encoding="utf-8") as file:
            return "msg=ready" in file.read()

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)

    def stop(self):
        code = self.end()
        shutil.rmtree(self.root)
        return code

    def memory(self, field="VmRSS"):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(field + r":\s+(\d+) kB", file.read())[1]) << 10

    def connect(self, kind):
        """A connection: "unix", "tls", or "tcp", to the port of TLS but without it."""
        if kind == "unix":
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(DEADLINE)
            plain.connect(self.path)
            return plain
        if kind == "tcp":
            return self.connect_tcp()
        return in_time(lambda: self.trust.wrap_socket(self.connect_tcp(),
                                                      server_hostname="127.0.0.1"))

    def connect_tcp(self):
        return socket.create_connection(("127.0.0.1", self.port), DEADLINE)

    def head(self, line, *more, token=True):
        fields = [line + " HTTP/1.1", "Host: x", *more]
        if token:
            fields.append("Authorization: Bearer " + self.token)
        return ("\r\n".join(fields) + "\r\n\r\n").encode("ascii")

    def ask(self, kind, *pieces):
        """Sends the pieces, as far as they are taken, and reads one answer."""
        return in_time(lambda: self.ask_once(kind, *pieces))

    def ask_once(self, kind, *pieces):
        with contextlib.closing(self.connect(kind)) as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                    break
            return Answers(connection).next()


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def reason(self):
        return json.loads(self.body)["reason"]


class Answers:
    """What comes out of a connection."""

    def __init__(self, connection):
        self.connection = connection
        self.bytes = b""

    def more(self):
        try:
            piece = self.connection.recv(65536)
        except (ConnectionResetError, ssl.SSLError):
            piece = b""
        self.bytes += piece
        return bool(piece)

    def next(self):
        """None: the other side has hung up."""
        while b"\r\n\r\n" not in self.bytes:
            if not self.more():
                return None
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        size = int(headers.get("content-length", 0))
        while len(self.bytes) < size and self.more():
            pass
        body, self.bytes = self.bytes[:size], self.bytes[size:]
        return Answer(int(lines[0].split(" ")[1]), headers, body)


class Neighbour(threading.Thread):
    """Asks properly, again and again, each time on a new connection.

    One that is let go before its answer asks again, as clients do: on a machine so busy that a
    handshake takes longer than its deadline, or thousands of connections come meanwhile, that
    is right. It must be served all the same.
    """

    def __init__(self, agent, kind):
        super().__init__()
        self.agent = agent
        self.kind = kind
        self.served = 0
        self.trouble = None
        self.over = False

    def run(self):
        while not self.over and self.trouble is None:
            answer = None
            with contextlib.suppress(OSError):
                answer = self.agent.ask(self.kind, self.agent.head("GET /api/v1/nodes"))
            if answer is not None and answer.status == 200:
                self.served += 1
            elif answer is not None:
                self.trouble = str(answer.status)
            time.sleep(0.01)


def small_pod(name):
    return {"metadata": {"name": name},
            "spec": {"terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "m", "command": ["sleep", "1d"]}]}}


def deep_pod():
    return b'{"metadata": {"name": "deep"}, "spec": ' + b'{"a":' * 1000 + b"1" + b"}" * 1001


class BadClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < IDLE + 1000:
            raise unittest.SkipTest(f"this user may open {hard} files only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        cls.factor = 8 if is_sanitized() else 1
        cls.agent = Agent()
        cls.neighbours = [Neighbour(cls.agent, kind) for kind in ("unix", "tls")]
        for neighbour in cls.neighbours:
            neighbour.start()

    @classmethod
    def tearDownClass(cls):
        for neighbour in cls.neighbours:
            neighbour.over = True
            neighbour.join()
        if cls.agent.stop() != 0:
            raise AssertionError("the agent did not end well")

    def setUp(self):
        self.before = self.agent.memory()

    def tearDown(self):
        self.assert_others_served()

    def assert_others_served(self):
        """From now on, whatever else is going on."""
        for neighbour in self.neighbours:
            served = neighbour.served
            eventually(lambda: neighbour.trouble or neighbour.served >= served + 3,
                       f"another client is served over {neighbour.kind}")
            self.assertIsNone(neighbour.trouble, neighbour.kind)

    def assert_memory_grew_less_than(self, amount):
        self.assertLess(self.agent.memory() - self.before, amount * self.factor)

    def hold(self, connection):
        self.addCleanup(connection.close)
        return connection

    def test_who_has_no_token_is_refused(self):
        for more in ([], ["Authorization: Bearer " + "0" * 64], ["Authorization: Bearer"],
                     ["Authorization: Basic YTpi"]):
            for line in ("GET /api/v1/pods", "GET /metrics", f"DELETE {POD}/a", "GET /nothing"):
                answer = self.agent.ask("tls", self.agent.head(line, *more, token=False))
                self.assertEqual(answer.status, 401, line)
                self.assertEqual(answer.reason(), "Unauthorized")
        self.assertEqual(self.agent.ask("tls", self.agent.head("GET /readyz", token=False)).status,
                         200)

    def test_run_is_refused_over_tls(self):
        answer = self.agent.ask("tls", self.agent.head("POST /apis/corehold.dev/v1alpha1/run",
                                                       "Content-Length: 2"), b"{}")
        self.assertEqual((answer.status, answer.reason()), (403, "Forbidden"))

    def test_a_token_over_plain_http_is_not_heard(self):
        answer = self.agent.ask("tcp", self.agent.head("GET /api/v1/pods"))
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.body, b"Client sent an HTTP request to an HTTPS server.\n")

    def test_a_body_of_100_mb_is_refused_and_not_read(self):
        piece = bytes(64 << 10)
        for kind, token, status in (("unix", True, 413), ("tls", True, 413), ("tls", False, 401)):
            head = self.agent.head("POST " + POD, f"Content-Length: {100 * MIB}", token=token)
            answer = self.agent.ask(kind, head, *([piece] * (100 * MIB // len(piece))))
            self.assertIsNotNone(answer, kind)
            self.assertEqual(answer.status, status, kind)
            chunked = self.agent.head("POST " + POD, "Transfer-Encoding: chunked", token=token)
            answer = self.agent.ask(kind, chunked, b"%x\r\n" % (100 * MIB),
                                    *([piece] * (100 * MIB // len(piece))))
            self.assertIsNotNone(answer, kind)
            self.assertEqual(answer.status, status, kind)
        self.assert_memory_grew_less_than(16 * MIB)

    def test_many_large_bodies_at_once_are_bounded(self):
        size = 3 * MIB
        held = []
        for _ in range(60):
            connection = self.hold(self.agent.connect("unix"))
            connection.setblocking(False)
            held.append([connection, self.agent.head("POST " + POD, f"Content-Length: {size}") +
                         bytes(size - 1)])
        until = time.monotonic() + DEADLINE
        while any(item[1] for item in held) and time.monotonic() < until:
            for item in held:
                try:
                    item[1] = item[1][item[0].send(item[1][:256 << 10]):] if item[1] else b""
                except BlockingIOError:
                    pass
                except OSError:
                    item[1] = b""
        self.assert_others_served()
        self.assert_memory_grew_less_than(96 * MIB)

    def assert_writes_are_served(self):
        body = json.dumps(small_pod("written")).encode("ascii")
        for kind in ("unix", "tls"):
            head = self.agent.head(f"POST {POD}?dryRun=All", "Content-Type: application/json",
                                   f"Content-Length: {len(body)}")
            answer = self.agent.ask(kind, head, body)
            self.assertIsNotNone(answer, kind)
            self.assertEqual(answer.status, 201, answer.body)

    def test_who_has_no_token_has_no_body_read(self):
        for line in ("POST /healthz", "GET /readyz", "PUT /livez/ping", "POST " + POD):
            for more in (f"Content-Length: {2 * MIB}", "Transfer-Encoding: chunked",
                         "Content-Length: 9\r\nExpect: 100-continue"):
                answer = self.agent.ask("tls", self.agent.head(line, more, token=False))
                self.assertEqual((answer.status, answer.reason()), (401, "Unauthorized"), line)
                self.assertEqual(answer.headers["connection"], "close")
        # With the token, and without a body, all is as before.
        self.assertEqual(self.agent.ask("tls", self.agent.head("POST /healthz")).status, 405)
        self.assertEqual(self.agent.ask("tls", self.agent.head("POST /healthz", token=False)).status,
                         405)

    def test_unfinished_bodies_without_a_token_keep_nobody_from_writing(self):
        for _ in range(40):
            connection = self.hold(self.agent.connect("tls"))
            with contextlib.suppress(OSError):
                connection.sendall(self.agent.head("POST /healthz", f"Content-Length: {3 * MIB}",
                                                   token=False) + bytes(2 * MIB))
            self.assert_writes_are_served()
        self.assert_memory_grew_less_than(32 * MIB)

    def test_who_has_shown_the_token_is_not_let_go_for_those_without(self):
        known = self.hold(self.agent.connect("tls"))
        answers = Answers(known)

        def is_served():
            # Often: one that asks nothing for a minute may be let go.
            known.sendall(self.agent.head("GET /api/v1/nodes"))
            answer = answers.next()
            self.assertIsNotNone(answer, "the connection was closed")
            self.assertEqual(answer.status, 200)

        is_served()
        for count in range(LIMIT + 500):
            self.hold(self.agent.connect("tcp"))
            if count % 100 == 0:
                is_served()
        for count in range(400):
            connection = self.hold(self.agent.connect("tls"))
            with contextlib.suppress(OSError):
                connection.sendall(self.agent.head("GET /healthz", token=False) + b"GET /healthz H")
            if count % 10 == 0:
                is_served()
        is_served()
        self.assert_writes_are_served()

    def test_the_slow_are_let_go(self):
        slow = [self.hold(self.agent.connect(kind)) for kind in ("unix", "tls") for _ in range(100)]
        for connection in slow:
            with contextlib.suppress(OSError):  # let go already
                connection.sendall(b"GET /api/v1/pods HTTP/1.1\r\nX: ")
        # Half a handshake: a header of a record, and a hello that stops in the middle.
        hello = ssl.MemoryBIO()
        half = self.agent.trust.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="127.0.0.1")
        with contextlib.suppress(ssl.SSLWantReadError):
            half.do_handshake()
        said = hello.read()
        for begin in (b"", said[:5], said[:100], said):
            for _ in range(150):
                connection = self.hold(self.agent.connect("tcp"))
                with contextlib.suppress(OSError):
                    connection.sendall(begin)
                slow.append(connection)
        self.assert_others_served()
        self.assert_memory_grew_less_than(32 * MIB)
        for connection in slow:
            connection.setblocking(False)
        left = set(slow)
        until = time.monotonic() + DEADLINE
        while left and time.monotonic() < until:
            for connection in list(left):
                try:
                    if isinstance(connection, ssl.SSLSocket) or connection.family == socket.AF_UNIX:
                        connection.send(b"x")
                    while connection.recv(65536):
                        pass
                    left.remove(connection)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
                except OSError:
                    left.remove(connection)
            time.sleep(0.2)
        self.assertEqual(len(left), 0, "connections that are kept for ever")

    def test_thousands_that_ask_nothing_stand_in_nobodys_way(self):
        for kind in ("unix", "tcp"):
            idle = []
            for _ in range(IDLE):
                idle.append(self.hold(self.agent.connect(kind)))
            self.assert_others_served()
            descriptors = len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))
            self.assertLess(descriptors, 2 * LIMIT + 200)
            for connection in idle:
                connection.close()
        self.assert_memory_grew_less_than(32 * MIB)

    def test_idle_clients_with_tls_are_cheap(self):
        count = 1000
        for _ in range(count):
            self.hold(self.agent.connect("tls"))
        self.assert_others_served()
        self.assert_memory_grew_less_than(count * (32 << 10))

    def test_what_cannot_be_understood_is_refused(self):
        pod = b'{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "m"}]}}'
        for what, field, body, status in (
                ("unknown media type", "application/x-nonsense", pod, 415),
                ("1,000-deep JSON", "application/json", deep_pod(), 400),
                ("invalid UTF-8", "application/json", pod.replace(b'"a"', b'"\xff\xfe"'), 400),
                ("no JSON", "application/json", b"\0" * 1000, 400),
                ("a huge number of fields", "application/json",
                 b"{" + b",".join(b'"%d":1' % i for i in range(100000)) + b"}", 422)):
            for kind in ("unix", "tls"):
                with self.subTest(what, kind=kind):
                    head = self.agent.head("POST " + POD, "Content-Type: " + field,
                                           f"Content-Length: {len(body)}")
                    answer = self.agent.ask(kind, head, body)
                    self.assertEqual(answer.status, status, answer.body)
                    self.assertEqual(json.loads(answer.body)["kind"], "Status")

    def test_a_huge_header_is_refused(self):
        for kind in ("unix", "tls"):
            line = self.agent.head("GET /" + "x" * (MIB // 2))
            self.assertEqual(self.agent.ask(kind, line).status, 431)
            field = self.agent.head("GET /api/v1/pods", "X: " + "x" * MIB)
            answer = self.agent.ask(kind, field)
            self.assertEqual(answer.status, 431)
            self.assertEqual(json.loads(answer.body)["code"], 431)
            fields = self.agent.head("GET /api/v1/pods", *(f"X{i}: x" for i in range(100000)))
            self.assertEqual(self.agent.ask(kind, fields).status, 431)

    def test_yaml_that_takes_long_to_read_is_refused(self):
        for body in (b"[" * MIB, b"a: [" + b"1," * MIB, b"#\n" + b"{" * MIB):
            for line, field in ((f"PATCH {POD}/a?fieldManager=m&force=true",
                                 "application/apply-patch+yaml"), ("POST " + POD,
                                                                  "application/yaml")):
                answer = self.agent.ask("unix", self.agent.head(line, "Content-Type: " + field,
                                                                f"Content-Length: {len(body)}"),
                                        body)
                self.assertEqual((answer.status, answer.reason()), (413, "RequestEntityTooLarge"))
        self.assert_memory_grew_less_than(32 * MIB)

    def test_a_watch_may_last_as_long_as_a_number_can_say(self):
        for seconds in (2**63 - 1, 2**63 - 2, 10**12):
            with contextlib.closing(self.agent.connect("unix")) as connection:
                connection.sendall(self.agent.head(
                    f"GET /api/v1/pods?watch=1&timeoutSeconds={seconds}"))
                self.assertEqual(Answers(connection).next().status, 200)

    def write(self, line, value=None):
        body = b"" if value is None else json.dumps(value).encode("ascii")
        return self.agent.ask("unix", self.agent.head(line, "Content-Type: application/json",
                                                      f"Content-Length: {len(body)}"), body)

    def test_large_pods_end_nobodys_watch(self):
        watches = []
        for target in ("/api/v1/pods", "/api/v1/namespaces/other/pods"):
            connection = self.hold(self.agent.connect("unix"))
            connection.sendall(self.agent.head(f"GET {target}?watch=1"))
            answers = Answers(connection)
            self.assertEqual(answers.next().status, 200)
            watches.append(answers)
        for i in range(3):
            large = small_pod(f"large-{i}")
            large["spec"]["containers"][0]["args"] = ["x" * 1000] * 1400
            self.assertEqual(self.write("POST " + POD, large).status, 201)
            self.assertEqual(self.write(f"DELETE {POD}/large-{i}").status, 200)
            self.read_until(watches[0], b'{"type":"DELETED"')
        large["spec"]["containers"][0]["args"] = ["x" * 1000] * 1900
        large["metadata"]["name"] = "larger"
        self.assertEqual(self.write("POST " + POD, large).status, 413)
        last = small_pod("last")
        self.assertEqual(self.write("POST /api/v1/namespaces/other/pods", last).status, 201)
        for answers in watches:
            self.read_until(answers, b'"name":"last"')
        self.assertEqual(self.write("DELETE /api/v1/namespaces/other/pods/last").status, 200)

    def read_until(self, answers, text):
        """Reads a watch, which must not end, until this has come."""
        while text not in answers.bytes:
            # What is searched again is only as much as a piece of the text may be in.
            answers.bytes = answers.bytes[-100:]
            self.assertTrue(answers.more(), "the watch has ended")
            self.assertFalse(b'{"type":"ERROR"' in answers.bytes, "the watch has failed")
        answers.bytes = b""

    def test_garbage_behind_a_request_ends_the_connection(self):
        for kind in ("unix", "tls"):
            with contextlib.closing(self.agent.connect(kind)) as connection:
                good = self.agent.head("GET /api/v1/nodes")
                connection.sendall(good + good + b"\x00\xff garbage\r\n\r\n" + good)
                answers = Answers(connection)
                self.assertEqual([answers.next().status for _ in range(3)], [200, 200, 400])
                self.assertIsNone(answers.next())
            # A request inside another's body must not become one.
            body = self.agent.head(f"DELETE {POD}/a")
            head = self.agent.head("POST " + POD, f"Content-Length: {len(body)}",
                                   "Transfer-Encoding: chunked")
            self.assertEqual(self.agent.ask(kind, head, body).status, 400)

    def test_memory_does_not_grow_from_round_to_round(self):
        sizes = []
        for _ in range(4):
            held = [self.agent.connect(kind) for kind in ("unix", "tls", "tcp") for _ in range(300)]
            for connection in held:
                with contextlib.suppress(OSError):  # let go already
                    connection.sendall(b"GET /api/v1/pods HTTP/1.1\r\nX: " + b"x" * 4000)
            for kind in ("unix", "tls"):
                head = self.agent.head("POST " + POD, f"Content-Length: {3 * MIB}")
                self.assertIn(self.agent.ask(kind, head, bytes(3 * MIB)).status, (400, 413))
            self.assert_others_served()
            for connection in held:
                connection.close()
            self.assert_others_served()
            sizes.append(self.agent.memory())
        self.assertLess(sizes[-1] - sizes[0], 8 * MIB * self.factor, sizes)


class Commands(unittest.TestCase):
    """The client commands over TLS, and how an agent comes to listen."""

    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.stop)

    def corehold(self, *arguments):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, check=False,
                              timeout=DEADLINE)

    def test_commands_reach_the_agent_over_tls(self):
        server = f"https://127.0.0.1:{self.agent.port}"
        for options in (["--root", self.agent.root, "--server", server],
                        ["--kubeconfig", self.agent.kubeconfig],
                        ["--server", f"https://localhost:{self.agent.port}", "--kubeconfig",
                         self.agent.kubeconfig]):
            done = self.corehold("get", "nodes", *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.corehold("run", "--cpus", "1", "--kubeconfig", self.agent.kubeconfig, "--",
                             "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("corehold run works over the agent's Unix socket only", done.stderr)
        other = Agent()
        self.addCleanup(other.stop)
        done = self.corehold("get", "nodes", "--server", server, "--kubeconfig", other.kubeconfig)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"speak TLS with {server}: its certificate cannot be trusted: ", done.stderr)

    def test_a_simulated_machine_listens_where_it_is_told_only(self):
        self.agent.end()
        self.assertTrue(os.path.exists(self.agent.kubeconfig))
        with open(os.path.join(self.agent.root, "config.yaml"), "w", encoding="ascii") as file:
            file.write(CONFIG.partition("listen:")[0])
        self.agent.launch()
        self.assertFalse(os.path.exists(self.agent.kubeconfig))
        self.assertNotIn("serving over TLS", self.agent.said())

    def test_a_port_that_is_taken_does_not_keep_the_agent_from_starting(self):
        self.agent.end()
        port = self.agent.port
        taker = socket.create_server(("127.0.0.1", port))
        self.addCleanup(taker.close)
        with open(os.path.join(self.agent.root, "config.yaml"), "w", encoding="ascii") as file:
            file.write(CONFIG.replace(":0", f":{port}"))
        self.agent.start()
        self.assertEqual(self.agent.port, port)
        self.assertIn(f"listen.address: 127.0.0.1:{port} is taken by another program",
                      self.agent.said())
        self.assertNotIn("serving over TLS", self.agent.said())
        done = self.corehold("get", "nodes", "--root", self.agent.root)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        taker.close()
        eventually(lambda: "serving over TLS" in self.agent.said(), "the port is served")
        answer = self.agent.ask("tls", self.agent.head("GET /api/v1/nodes"))
        self.assertEqual(answer.status, 200)

    def test_the_credentials_outlive_the_agent(self):
        self.assertEqual(os.stat(self.agent.kubeconfig).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.join(self.agent.root, "pki")).st_mode & 0o777, 0o700)
        self.assertNotIn(self.agent.token, self.agent.said())
        self.agent.end()
        token, authority = self.agent.token, self.agent.trust.get_ca_certs(binary_form=True)
        self.agent.start()
        self.assertEqual(self.agent.token, token)
        self.assertEqual(self.agent.trust.get_ca_certs(binary_form=True), authority)
        answer = self.agent.ask("tls", self.agent.head("GET /api/v1/nodes"))
        self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()
