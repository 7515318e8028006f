"""A process that has imported gpudoctor, and forks itself for each command line (forks.py).

python fork_server.py SOCKET: a number. Each request is a JSON object (`arguments`, `env`, `cwd`) with four descriptors: stdin, stdout,
stderr, and a pipe on which first the child's pid, then its exit status comes (4 bytes each).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pkgutil
import random
import selectors
import socket
import struct
import sys
from importlib import import_module
from typing import Any, NoReturn

LEFT_OUT = ("doctor.patient", "doctor.__main__", "doctor.mcp", "compat_matrix.importers")


def preload() -> None:
    """Import every module of ours that needs nothing else than what is installed."""
    for name in ("doctor", "compat_matrix"):
        package = import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.startswith(LEFT_OUT):
                try:
                    import_module(found.name)
                except ImportError:
                    continue


def serve(requests: socket.socket) -> None:
    """Until the other end is closed."""
    waiting = selectors.DefaultSelector()
    waiting.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not requests:
                waiting.unregister(key.fileobj)
                pid, told = key.data
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):  # it took too long, and nobody waits for it any more
                    os.write(told, struct.pack("i", code))
                os.close(told)
                continue
            message, passed, _flags, _address = socket.recv_fds(requests, 1 << 20, 4, socket.MSG_CMSG_CLOEXEC)
            if not message:
                return
            told = passed[3]
            pid = os.fork()
            if not pid:
                waiting.close()
                requests.close()
                os.close(told)
                command(json.loads(message), passed[:3])
            for number in passed[:3]:
                os.close(number)
            os.write(told, struct.pack("i", pid))
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))


def command(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the process that was asked for, to its end."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    random.seed()
    sys.argv = request["arguments"]
    from gpudoctor.__main__ import main

    try:
        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)  # `main` itself leaves with the exit code


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(sys.executable)
    preload()
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
