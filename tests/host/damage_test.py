#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damage of the files under the root of a real agent, at starts of random histories.

What runs goes on, whatever is damaged: the agent starts and all is as it was, or it names the file
and says what to do, and --recover goes on with what runs. Nothing of a pod is deleted. In ctest one
file of each name; COREHOLD_HISTORIES is the number of histories, COREHOLD_KINDS=all damages each
file in all ways.
"""
import base64
import http.client
import os
import random
import re
import shutil
import ssl
import stat
import subprocess
import unittest

from node import (CONFIG, DEADLINE, Node, NodeTest, eventually, pod, processes_with, start_time)

HISTORIES = int(os.environ.get("COREHOLD_HISTORIES", "1"))
SEED = int(os.environ.get("COREHOLD_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
ALL_KINDS = os.environ.get("COREHOLD_KINDS") == "all"
KINDS = ["flip", "truncate", "empty", "remove", "directory", "link", "fifo"]
SERVED = CONFIG.replace('address: ""', 'address: "127.0.0.1:0"')
SIMULATED = ["--simulate", "package:1 core:4 pu:2"]
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def read_tree(top):
    """What there is below a directory: ("file", mode, bytes), ("link", target) or ("dir", mode)."""
    found = {}
    for directory, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            key = os.path.relpath(path, top)
            if stat.S_ISLNK(status.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[key] = ("dir", stat.S_IMODE(status.st_mode))
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    found[key] = ("file", stat.S_IMODE(status.st_mode), file.read())
    return found


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def write_tree(top, wanted):
    """Makes the tree what it was; what is so already is left alone."""
    now = read_tree(top)
    for key in sorted(now, reverse=True):
        if key not in wanted or now[key][0] != wanted[key][0]:
            remove(os.path.join(top, key))
    for directory, _, files in os.walk(top):
        for name in files:  # sockets and FIFOs
            path = os.path.join(directory, name)
            if os.path.relpath(path, top) not in wanted:
                os.unlink(path)
    for key in sorted(wanted):
        path = os.path.join(top, key)
        kind = wanted[key]
        if now.get(key) == kind and os.path.lexists(path):
            continue
        if kind[0] == "dir":
            os.makedirs(path, exist_ok=True)
            os.chmod(path, kind[1])
        elif kind[0] == "link":
            remove(path)
            os.symlink(kind[1], path)
        else:
            remove(path)
            with open(path, "wb") as file:
                file.write(kind[2])
            os.chmod(path, kind[1])


def damage(path, kind, dice):
    """False: there is nothing to damage."""
    content = b""
    if os.path.isfile(path) and not os.path.islink(path):
        with open(path, "rb") as file:
            content = file.read()
    if kind in ("flip", "truncate", "empty"):
        if not content:
            return False
        at = dice.randrange(len(content))
        if kind == "flip":
            changed = bytearray(content)
            changed[at] ^= 1 << dice.randrange(8)
        with open(path, "wb") as file:
            file.write({"flip": bytes(changed) if kind == "flip" else b"",
                        "truncate": content[:at], "empty": b""}[kind])
        return True
    remove(path)
    if kind == "directory":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("/nowhere/at/all", path)
    elif kind == "fifo":
        os.mkfifo(path)
    return True


class Damage(NodeTest):
    reconcile = "1s"

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.node.base)
        self.node = Node(config=SERVED, reconcile=self.reconcile)
        self.dice = random.Random(SEED)
        self.arguments = []
        self.counts = {"damaged": 0, "harmless": 0, "refused": 0, "recovered": 0}
        self.client = None
        self.addCleanup(self.end_client)

    def end_client(self):
        if self.client:
            self.client.kill()
            self.client.communicate()
            self.client = None

    # The histories.

    def told_pod(self, name, cpus):
        """With every kind of file that a pod can have below the root."""
        data, info, assigned = (os.path.join(self.node.base, "mnt", each)
                                for each in ("data", "info", "assigned"))
        for path in (data, info, assigned):
            os.makedirs(path, exist_ok=True)
        made = pod(name, ["sh", "-c", f"echo begun; echo mine > {data}/mine; exec sleep 100000"],
                   cpus=cpus)
        made["metadata"]["annotations"] = {"corehold.dev/podinfo": assigned}
        made["spec"]["volumes"] = [
            {"name": "data", "emptyDir": {}},
            {"name": "info", "downwardAPI": {"items": [
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
        made["spec"]["containers"][0]["volumeMounts"] = [
            {"name": "data", "mountPath": data}, {"name": "info", "mountPath": info}]
        return made

    def live(self):
        """A life of an agent: what must be found again is in self.expected, by name of pod."""
        node = self.node
        node.start(*self.arguments)
        self.expected = {}
        is_run = not self.arguments and self.dice.random() < 0.4
        node.create(self.told_pod("shared", None))
        if not is_run:
            node.create(self.told_pod("own", 1))
        for name in ["shared"] if is_run else ["shared", "own"]:
            uid = node.running(name)
            self.expected[name] = {"uid": uid, "pids": self.first_pids(uid)}
        if is_run:
            self.client = node.run("--cpus", "1", "--", "sleep", "100000")
            eventually(lambda: any(item["metadata"]["name"].startswith("run-")
                                   and item["status"]["phase"] == "Running"
                                   for item in node.pods()), "the command runs")
        go = os.path.join(node.base, "go")
        if not self.arguments:
            node.create(pod("ends", ["sh", "-c", f"while [ ! -e {go} ]; do sleep 0.02; done; exit 5"],
                            restartPolicy="Never"))
            self.ends = node.running("ends")
        if self.dice.random() < 0.5:
            node.kill()
        else:
            self.assertEqual(node.stop(), 0)
        if not self.arguments:
            record = os.path.join(node.root, "containers", self.ends, "main", "exit.json")
            with open(go, "w", encoding="ascii"):
                pass
            eventually(lambda: os.path.exists(record), "the container has ended")
            eventually(lambda: not self.node.pids(self.ends), "its processes have gone")
            eventually(lambda: not [pid for pid in processes_with(f"containers/{self.ends}")],
                       "its monitor has gone")
            os.unlink(go)

    def first_pids(self, uid):
        return [] if self.arguments else [(pid, start_time(pid)) for pid in self.node.pids(uid)]

    # What must hold.

    def check_machine(self):
        """Nothing was killed."""
        for name, known in self.expected.items():
            for pid, started in known["pids"]:
                self.assertEqual(start_time(pid), started, f"{name} was killed")
        if self.client:
            self.assertIsNone(self.client.poll(), "the command of run has ended")

    def check_pods_files(self, left, damaged):
        for key, kind in left.items():
            if key != damaged and key.endswith("/mine") and kind[0] == "file":
                with open(os.path.join(self.node.root, key), "rb") as file:
                    self.assertEqual(file.read(), kind[2], key)

    def check_api(self, damaged, recovered):
        node = self.node
        for name, known in self.expected.items():
            found = node.pod(name)
            if self.arguments and recovered and found is None:
                continue  # a simulated container is lost with the store
            self.assertIsNotNone(found, f"pod {name} is lost")
            self.assertEqual(found["metadata"]["uid"], known["uid"])
            if self.arguments and "simulated.json" in damaged:
                continue  # as if the machine had been started anew
            status = eventually(lambda: (node.pod(name)["status"].get("containerStatuses")
                                         or None), "it has a status")[0]
            self.assertIn("running", status["state"], f"{name}: {status}")
            self.assertEqual(status["restartCount"], 0, name)
            self.check_podinfo(name, known["uid"])
        if not self.arguments:
            self.check_end(damaged, recovered)
            self.check_cpus()
        self.check_tls()

    def check_end(self, damaged, recovered):
        found = self.node.pod("ends")
        if found is None:
            self.assertTrue(recovered and "store.db" in damaged, "pod ends is lost")
            return
        ended = eventually(lambda: self.node.pod("ends")["status"]["containerStatuses"][0]["state"]
                           .get("terminated"), "its end is known")
        if f"containers/{self.ends}" in damaged and ended["reason"] == "ContainerStatusUnknown":
            self.assertTrue(recovered or "exit.json" in damaged, damaged)
            return
        self.assertEqual(ended["exitCode"], 5, f"{damaged}: {ended}")

    def check_cpus(self):
        if "own" in self.expected:
            own = self.node.container_cpus(self.expected["own"]["uid"])
            shared = lambda: self.node.container_cpus(self.expected["shared"]["uid"])
            eventually(lambda: not own & shared(), "no CPU is held twice")

    def check_podinfo(self, name, uid):
        path = os.path.join(self.node.root, "podinfo", uid, "info", "name")

        def says_so():
            try:
                with open(path, encoding="utf-8") as file:
                    return file.read() == name
            except OSError:
                return False
        eventually(says_so, f"{path} says {name}", 60)

    def check_tls(self):
        with open(os.path.join(self.node.root, "kubeconfig"), encoding="utf-8") as file:
            text = file.read()
        authority = base64.b64decode(re.search("certificate-authority-data: (.*)", text).group(1))
        token = re.search('token: "(.*)"', text).group(1)
        port = int(re.search(r"server: https://127.0.0.1:(\d+)", text).group(1))
        context = ssl.create_default_context(cadata=authority.decode())
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context,
                                                 timeout=DEADLINE)
        connection.request("GET", "/api/v1/pods", headers={"Authorization": f"Bearer {token}"})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    # Starts.

    def starts(self, *more):
        """The last line of a start that was refused; None: the agent is ready."""
        node = self.node
        with open(node.log_path, "w", encoding="utf-8"):
            pass
        node.launch(*self.arguments, *more)

        def is_decided():
            if node.process.poll() is not None:
                return True
            try:
                return node.is_ready()
            except AssertionError:
                return True
        eventually(is_decided, "the agent is ready or has ended")
        if node.process.poll() is None:
            return None
        said = node.log().rstrip().splitlines()
        self.assertEqual(node.process.returncode, 1, "\n".join(said[-20:]))
        return said[-1]

    def start_on(self, left, key, kind):
        node = self.node
        write_tree(node.root, left)
        if not damage(os.path.join(node.root, key), kind, self.dice):
            return
        self.counts["damaged"] += 1
        said = self.starts()
        self.check_machine()
        self.check_pods_files(left, key)
        if said is None:
            self.counts["harmless"] += 1
            self.check_api(key, False)
            self.check_machine()
            node.kill()
            return
        self.counts["refused"] += 1
        self.assertIn(node.root + "/", said)
        if "--recover" in said:
            again = self.starts("--recover")
            self.assertIsNone(again, f"refused with: {said}; then with --recover: {again}")
            self.counts["recovered"] += 1
        else:
            # It says what stands in the way: somebody has put it there, and takes it away.
            self.assertIn(os.path.join(node.root, key).split("/..data")[0], said)
            self.assertIn(kind, ("directory", "link", "fifo"), said)
            remove(os.path.join(node.root, key))
            again = self.starts()
            if again is not None and "--recover" in again:
                again = self.starts("--recover")
            self.assertIsNone(again, f"refused with: {said}; then: {again}")
        self.check_machine()
        self.check_pods_files(left, key)
        self.check_api(key, True)
        node.kill()
        again = self.starts()
        self.assertIsNone(again, f"after --recover: {again}")
        self.check_api(key, True)
        self.check_machine()
        node.kill()

    def files_of(self, left):
        """Of each kind of file one, or with COREHOLD_KINDS=all every file."""
        kept = [key for key, kind in left.items()
                if kind[0] in ("file", "link") and ".corrupt-" not in key]
        if ALL_KINDS:
            return kept
        by_name = {}
        for key in kept:
            by_name.setdefault(UID.sub("UID", re.sub(r"content-\w+", "content", key)), []).append(key)
        return [self.dice.choice(same) for same in by_name.values()]

    def test_is_harmless_or_refused_by_name_and_recovered_on_request(self):
        print(f"seed {SEED}, {HISTORIES} histories", flush=True)
        for history in range(2 * HISTORIES):
            self.arguments = SIMULATED if history % 2 else []
            self.live()
            left = read_tree(self.node.root)
            for key in self.files_of(left):
                kinds = KINDS if ALL_KINDS else [self.dice.choice(KINDS)]
                for kind in kinds:
                    with self.subTest(damaged=key, kind=kind, simulated=bool(self.arguments)):
                        self.start_on(left, key, kind)
                    if self.node.runs():
                        self.node.kill()
            write_tree(self.node.root, left)
            self.end_client()
            self.assertIsNone(self.starts())
            for name in [item["metadata"]["name"] for item in self.node.pods()]:
                self.node.delete(name, grace=0)
                self.node.gone(name)
            self.assertEqual(self.node.stop(), 0)
            shutil.rmtree(self.node.root)
        self.arguments = []
        print(self.counts, flush=True)

    def test_of_the_disk_that_is_read_only_is_refused_by_name(self):
        self.live()
        left = read_tree(self.node.root)
        with open(self.node.log_path, "w", encoding="utf-8"):
            pass
        command = [self.node.binary, "agent", "--config", self.node.config, "--root",
                   self.node.root]
        script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, self.node.root, *command],
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.rstrip().splitlines()[-1],
                         re.escape(self.node.root) + ".*EROFS")
        self.assertEqual(read_tree(self.node.root), left)
        self.check_machine()
        self.assertIsNone(self.starts())
        self.check_api("", False)
        self.end_client()


class ALinkInThePlaceOfADirectory(NodeTest):
    """What is behind it is somebody else's."""

    def test_is_refused_by_name_and_never_followed(self):
        node = self.node
        node.start()
        node.create(pod("a", ["sleep", "1000"]))
        uid = node.running("a")
        foreign = os.path.join(node.base, "foreign")
        os.makedirs(foreign + "/v/h")
        os.makedirs(foreign + "/main")
        left = read_tree(foreign)
        for place in (f"containers/{uid}", f"containers/{uid}/main"):
            node.kill()
            shutil.rmtree(os.path.join(node.root, place))
            os.symlink(foreign, os.path.join(node.root, place))
            node.launch()
            self.assertEqual(node.process.wait(DEADLINE), 1)
            self.assertIn(f"{place} is a link", node.log())
            self.assertEqual(read_tree(foreign), left)
            node.start("--recover")
            self.assertIn(f".link-{os.path.basename(place)} now", node.log())
            self.assertEqual(node.running("a"), uid)
            self.assertEqual(read_tree(foreign), left)
        node.delete("a", grace=0)
        node.gone("a")
        self.assertEqual(read_tree(foreign), left)


if __name__ == "__main__":
    unittest.main(verbosity=2)
