"""Agent: proof that torch computes on a device; JSON lines on stdout. Standard library and torch (1.13 on), no numpy.

Run under the patient's Python: `python -m doctor.patient.torch_proof --device cuda|cuda:N,...|cpu [--first N]`. `cuda`
is every device that torch offers, from N on. Lines: {"begin": STEP, "device": D, "so_far": {...}} before each step
that may hang, with what is known of the device by then; {"field": "import_seconds"|"pid"|"torch_devices", "value": V};
{"phase": "proof", "device": D, "key": K, "start": T, "end": T} (seconds of the monotonic clock); {"torch_proof":
{...}} once a device has computed, and again, whole, when all of them have worked at the same time; {"ended": {...}}
for what was left out. An error that sticks to the context ends the process early: the devices that are left have no
line, and a new process can go on with them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings

from .noise import real_output
from .torch_device_proof import Proof
from .torch_inputs import Inputs, no_tf32
from .torch_lines import AGENT, Lines
from .torch_work import work_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Sequence

MAX_DEVICES = 64


class Agent(Lines):
    """Proves device by device."""

    def run(self, requested: str, first: int) -> None:
        """The whole proof."""
        self.emit(field="pid", value=os.getpid())
        started = time.monotonic()
        self.emit(begin="import torch")
        try:
            import torch
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: some packages end the process in their import
            self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
            self.fail("import", error)
            return
        self.emit(field="import_seconds", value=round(time.monotonic() - started, 3))
        try:
            no_tf32(torch)
            work = Inputs(torch)
            if requested == "cpu":  # before torch's list of GPUs: a sick driver may hang there
                proof = Proof(self, torch, work, "cpu")
                if proof.compute() and proof.able:
                    work_together([proof])
            offered = self.offered(torch)
            names = requested.split(",")
            wanted = offered[first:] if requested == "cuda" else [name for name in offered if name in names]
            for name in names if requested not in ("cuda", "cpu") else ():
                if name not in offered:
                    self.leave_out("device", name, "torch offers %d CUDA devices" % len(offered), "failed")
            able = []
            for name in wanted:
                proof = Proof(self, torch, work, name)
                if not proof.compute():
                    return
                able += [proof] if proof.able else []
            work_together(able)
        except Exception as error:  # a package named torch that is no torch
            self.fail("torch", error)

    def offered(self, torch: Any) -> List[str]:
        """CUDA devices by torch's names."""
        self.emit(begin="torch_devices")
        count = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
        names = ["cuda:%d" % index for index in range(min(count, MAX_DEVICES))]
        if count > MAX_DEVICES:
            self.emit(cap="measured-devices", looked=MAX_DEVICES, listed=count)
        self.emit(field="torch_devices", value=names)
        return names


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler can hang or crash it."""
    parser = argparse.ArgumentParser(prog=AGENT, description="Proof that torch computes on a device.")
    parser.add_argument("--device", required=True, help="cuda (every device), cuda:N,cuda:M or cpu")
    parser.add_argument("--first", type=int, default=0, help="with --device cuda: the first device")
    flags = parser.parse_args(arguments)
    if not re.match(r"(cuda|cpu|cuda:\d{1,3}(,cuda:\d{1,3})*)$", flags.device) or flags.first < 0:
        parser.error("--device takes cuda, cuda:N, cuda:N,cuda:M or cpu, --first no negative number")
    descriptor = real_output()
    warnings.simplefilter("ignore")
    Agent(descriptor).run(flags.device, flags.first)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
