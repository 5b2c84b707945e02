"""How a process serves: it computes on one thread, one run after the other, keeps freed memory, and sends each message
at once."""

import ctypes
import os
import platform
import socket
import stat
from collections import deque
from functools import cache
from pathlib import Path
from threading import Lock, get_ident

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
MEBIBYTE = 2**20


def prepare() -> None:
    """Set torch and the allocator up for many short passes. May be called again.

    Many visitors share the processor: one thread for each was measured faster for them than several.

    A recorded pass keeps all its tensors, and the check of it makes as many again. glibc gives large ones back to the
    kernel as soon as they are freed and asks for them anew, and the kernel then clears each page: half as long as the
    arithmetic of a pass over 256 tokens, and a third of the time of its check (`python -m bench.passes`). So freed
    memory is kept. Another C library goes on as it is.
    """
    import torch

    torch.set_num_threads(1)
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 32 * MEBIBYTE)  # the most that it takes
        libc.mallopt(M_TRIM_THRESHOLD, 1024 * MEBIBYTE)
        libc.mallopt(M_TOP_PAD, 64 * MEBIBYTE)


@cache
def send_at_once() -> None:
    """Turn Nagle's algorithm off (RFC 896) for all TCP sockets of this process, once.

    With it, the second of two small messages waits until the first was acknowledged, and the other side puts that off
    by 40 ms: half of what a reader waited for a click. asyncio turns it off itself, but only where a socket names its
    protocol, and the one that Streamlit listens on does not. New connections inherit what that one is told here; the
    connection of the first visit is there already. Where a system does not list its sockets, all stays as it is.
    """
    listed = Path("/dev/fd")
    for entry in os.listdir(listed) if listed.is_dir() else ():
        try:
            duplicate = os.dup(int(entry))
        except OSError:  # closed since it was listed
            continue
        if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
            os.close(duplicate)
            continue
        with socket.socket(fileno=duplicate) as found:
            if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Turns:
    """Runs of several visitors one after the other, in the order in which they came: `with turns: ...`.

    Streamlit starts a thread for each. But Python runs one at a time, and each of a pass's hundreds of operations lets
    the others in and then waits for them; side by side, all of them take longer than one after the other: with twenty
    readers, the slowest twentieth of the runs took 5.8 s and more instead of 1.2 (`python -m bench.readers`).
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()
        self._holder: int | None = None  # the thread whose turn it is

    def __enter__(self) -> None:
        with self._guard:
            if self._holder is None:
                self._holder = get_ident()
                return
            mine = Lock()
            mine.acquire()
            self._waiting.append(mine)
        mine.acquire()  # until the one before lets go
        self._holder = get_ident()

    def __exit__(self, *_: object) -> None:
        with self._guard:
            if self._waiting:  # it goes from one to the next: nobody who comes in between takes it
                self._waiting.popleft().release()
            else:
                self._holder = None

    def pause(self) -> None:
        """Let those go first who wait: between the steps of something long. Outside of a turn nothing happens."""
        if self._waiting and self._holder == get_ident():
            self.__exit__()
            self.__enter__()


turns = Turns()
