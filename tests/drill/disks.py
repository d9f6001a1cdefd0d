"""File systems of a drill's own, and how each is hurt: full, without a free inode, read-only.

They are mounted in a mount namespace that ends with the drill, however it ends.
"""

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

SPELLS = ("full", "no inodes", "read-only")
TRIES = 5
MOST_BYTES = 4 * 2**30
MOST_INODES = 200_000
CLONE_NEWNS = 0x20000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 0x2
NOT_PERMITTED = (errno.EPERM, errno.EACCES)

_libc = ctypes.CDLL(None, use_errno=True)


class Disk:
    """A tmpfs at `folder`; where mounting is not permitted, a plain folder that is never hurt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_mounted = self.is_hurt = False

    def mount(self) -> None:
        """From the main thread, before any process of the drill: they inherit what it sees."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if has_own_namespace():
            _mount(b"tmpfs", self.folder, b"tmpfs", 0, _limits(MOST_BYTES, MOST_INODES))
            self.is_mounted = True

    def hurt(self, what: str) -> Callable[[], None] | None:
        """The way back; None where it cannot be hurt, or is already. Raises OSError."""
        if not self.is_mounted or self.is_hurt:
            return None
        ways = {"full": self._fill, "no inodes": self._use_inodes, "read-only": self._protect}
        undo = ways[what]()
        self.is_hurt = True

        def heal() -> None:
            self.is_hurt = False
            undo()

        return heal

    def _fill(self) -> Callable[[], None]:
        self._shrink(lambda used: ((used.f_blocks - used.f_bfree) * used.f_frsize, MOST_INODES))
        return self._make_room

    def _use_inodes(self) -> Callable[[], None]:
        self._shrink(lambda used: (MOST_BYTES, used.f_files - used.f_ffree))
        return self._make_room

    def _shrink(self, used_by: Callable[[os.statvfs_result], tuple[int, int]]) -> None:
        """Somebody may take more between the look and the change: then look again."""
        for left in reversed(range(TRIES)):
            try:
                self._resize(*used_by(os.statvfs(self.folder)))
                break
            except OSError as exc:
                if exc.errno != errno.EINVAL or not left:
                    raise

    def _make_room(self) -> None:
        self._resize(MOST_BYTES, MOST_INODES)

    def _resize(self, size: int, inodes: int) -> None:
        """OSError where more is in use by now."""
        _mount(b"tmpfs", self.folder, b"tmpfs", MS_REMOUNT, _limits(max(size, 4096), inodes))

    def _protect(self) -> Callable[[], None]:
        """Over it lies the same, read-only. What is open already stays writable, as after any
        remount: a process notices it when it opens the file again."""
        _mount(bytes(self.folder), self.folder, b"", MS_BIND | MS_REC, b"")
        _mount(b"", self.folder, b"", MS_REMOUNT | MS_BIND | MS_RDONLY, b"")
        return self._unmount

    def _unmount(self) -> None:
        _check(_libc.umount2(bytes(self.folder), MNT_DETACH))

    def end(self) -> None:
        if self.is_mounted:
            self.is_mounted = False
            self._unmount()


@cache
def has_own_namespace() -> bool:
    """False where the machine does not permit it; any other error is raised."""
    try:
        _check(_libc.unshare(CLONE_NEWNS))
        _mount(b"none", Path("/"), b"", MS_REC | MS_PRIVATE, b"")
    except OSError as exc:
        if exc.errno in NOT_PERMITTED:
            return False
        raise
    return True


def _limits(size: int, inodes: int) -> bytes:
    return f"size={size},nr_inodes={inodes},mode=0755".encode()


def _mount(source: bytes, target: Path, kind: bytes, flags: int, data: bytes) -> None:
    _check(_libc.mount(source, bytes(target), kind, ctypes.c_ulong(flags), data))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
