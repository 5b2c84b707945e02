"""How a process computes when it serves passes: on one thread, and without handing freed memory back in between."""

import ctypes
import platform

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
