#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other users and leftovers cannot keep an agent from starting; another agent can."""
import os
import shutil
import subprocess
import sys
import unittest

from node import BINARY, NodeTest

HOST_LOCK = "/run/corehold/agent.lock"
PUBLIC_LOCK = "/run/lock/corehold.lock"  # of version 0.1
STRANGER = 65534

# Does the trick, says whether it worked, and stays until its input ends.
TRICK = """
import fcntl, os, struct, sys
trick, path, user = sys.argv[1:]
if int(user) != 0:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
def lock(flags, kind):
    fd = os.open(path, flags, 0o644)
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0))
try:
    if trick == "read lock":
        lock(os.O_RDONLY, fcntl.F_RDLCK)
    elif trick == "write lock":
        lock(os.O_RDWR | os.O_CREAT, fcntl.F_WRLCK)
    elif trick == "directory":
        os.mkdir(path)
        open(path + "/full", "w").close()
    elif trick == "link":
        os.symlink("/etc/passwd", path)
    print("done", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
sys.stdin.read()
"""


class Trick:
    """A process of another user, or of root, that has done something to a path."""

    def __init__(self, trick, path, user=STRANGER):
        self.process = subprocess.Popen([sys.executable, "-c", TRICK, trick, path, str(user)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def leave(path):
    """What an agent of version 0.1 leaves."""
    with open(path, "w", encoding="ascii") as file:
        file.write("1\n")
    os.chmod(path, 0o644)


class TheLocks(NodeTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.node.base, 0o755)
        remove(PUBLIC_LOCK)
        self.addCleanup(remove, PUBLIC_LOCK)
        os.makedirs(os.path.join(self.node.root, "run"))
        self.root_locks = [os.path.join(self.node.root, "run", name)
                           for name in ("lock", "agent.lock")]

    def refused(self):
        done = subprocess.run([BINARY, "agent", "--config", self.node.config, "--root",
                               os.path.join(self.node.base, "other")],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_are_not_held_up_by_readers_of_what_an_older_agent_left(self):
        leave(PUBLIC_LOCK)
        leave(self.root_locks[1])
        with Trick("read lock", PUBLIC_LOCK) as host, Trick(
                "read lock", self.root_locks[1]) as root:
            self.assertEqual((host.said, root.said), ("done", "done"))
            self.node.start()
            self.assertIn(f"{HOST_LOCK} is held by process {self.node.process.pid}",
                          self.refused())
        self.assertEqual(self.node.stop(), 0)

    def test_cannot_be_opened_by_anybody_else(self):
        self.node.start()
        for path in (HOST_LOCK, self.root_locks[0]):
            for trick in ("read lock", "write lock"):
                with Trick(trick, path) as refused:
                    self.assertEqual(refused.said, "PermissionError", f"{trick} {path}")
            with Trick("link", os.path.dirname(path) + "/mine") as refused:
                self.assertEqual(refused.said, "PermissionError", path)
        self.assertEqual(self.node.stop(), 0)
        with Trick("read lock", HOST_LOCK) as refused:
            self.assertEqual(refused.said, "PermissionError")

    def test_are_not_held_up_by_what_others_put_in_the_public_place(self):
        for trick in ("write lock", "directory", "link"):
            with self.subTest(trick), Trick(trick, PUBLIC_LOCK) as stranger:
                self.assertEqual(stranger.said, "done")
                self.node.start()
                self.assertIn(f"is held by process {self.node.process.pid}", self.refused())
                self.assertEqual(self.node.stop(), 0)
            remove(PUBLIC_LOCK)
        self.assertNotEqual(os.path.getsize("/etc/passwd"), 0)

    def test_keep_an_agent_of_version_0_1_and_this_one_apart(self):
        leave(PUBLIC_LOCK)
        with Trick("write lock", PUBLIC_LOCK, user=0) as older:
            self.assertEqual(older.said, "done")
            self.assertIn(f"another agent manages the CPUs of this machine: {PUBLIC_LOCK} is held",
                          self.refused())
        self.node.start()
        with Trick("write lock", PUBLIC_LOCK, user=0) as older:
            self.assertNotEqual(older.said, "done")


if __name__ == "__main__":
    unittest.main(verbosity=2)
