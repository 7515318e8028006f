"""torch.distributed of the fake torch: an all-reduce over files beside the store. FAKE_TORCH's `ranks` {"1": FAULT}
tells what goes wrong: hang, crash, wrong; any other text is raised.
"""

from __future__ import annotations

import json
import os
import signal
import time

_told = json.loads(os.environ.get("FAKE_TORCH", "{}"))
_group = {}


def is_available():
    return _told.get("distributed", True)


def is_nccl_available():
    return _told.get("nccl", True)


def init_process_group(backend, init_method, rank, world_size, timeout):
    with open(os.environ["FAKE_TORCH_BACKENDS"], "a") as file:
        file.write(backend + "\n")
    _group.update(rank=rank, size=world_size, folder=os.path.dirname(init_method[len("file://") :]))


def all_reduce(tensor):
    rank, folder = _group["rank"], _group["folder"]
    fault = _told.get("ranks", {}).get(str(rank), "")
    if fault == "hang":
        time.sleep(600)
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGABRT)
    if fault not in ("", "wrong"):
        raise RuntimeError(fault)
    with open(os.path.join(folder, f"part-{rank}.new"), "w") as file:
        file.write(str(tensor.value))
    os.rename(file.name, os.path.join(folder, f"part-{rank}"))
    total = 0
    for other in range(_group["size"]):
        path = os.path.join(folder, f"part-{other}")
        while not os.path.exists(path):
            time.sleep(0.01)
        with open(path) as part:
            total += int(part.read())
    tensor.value = total + (fault == "wrong")
