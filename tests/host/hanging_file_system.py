# SPDX-License-Identifier: Apache-2.0
"""A file system that does not answer: FUSE, spoken by nobody.

A process that looks at anything in it waits until it is killed, or until the file system is
answered for, which release() does by hanging up: everything there fails from then on.
"""
import ctypes
import os

MNT_DETACH = 2


def is_there():
    return os.path.exists("/dev/fuse")


class HangingFileSystem:
    def __init__(self, directory):
        self.directory = directory
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if self._libc.mount(b"corehold-test", directory.encode(), b"fuse", 0, options.encode()) != 0:
            number = ctypes.get_errno()
            os.close(self._fd)
            raise OSError(number, os.strerror(number), directory)

    def release(self):
        """Idempotent."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        self._libc.umount2(self.directory.encode(), MNT_DETACH)
