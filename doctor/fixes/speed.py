"""Fixes for what was measured; after each of them, it is measured again."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

from msgspec.structs import replace

from ..findings import Fix, Step
from ..snapshot import Measured, Snapshot, known
from .driver import other_host
from .where import RECHECK, host_sudo, on_host

AGAIN: dict[str, Any] = {"measured.level": RECHECK}
"""What was measured is no longer true."""
PROVE = "gpudoctor prove"
_LEVEL_FLAGS = {"quick": "--quick", "full": "--full", "links": "--links"}
_LEAST_TIMEOUT_S = 600


def measured_again(fixes: Iterable[Fix | None]) -> tuple[Fix, ...]:
    """The same fixes, each with a measurement to be made after its last step.

    A GPU that only the measurement knows has no facts that a step could change.
    """
    found = []
    for fix in fixes:
        if fix is not None:
            *before, last = fix.steps
            changes = {path: value for path, value in last.changes.items() if (path, value) != ("gpus", ())}
            text = last.text.replace("gpudoctor check again", "gpudoctor prove again")
            found.append(replace(fix, steps=(*before, replace(last, text=text, changes={**changes, **AGAIN}))))
    return tuple(found)


def in_code(fix_id: str, title: str, text: str, command: str = "", note: str = "") -> Fix:
    """A change in the program."""
    step = Step(text=text, command=command, where="code", changes=AGAIN)
    return Fix(id=fix_id, title=title, steps=(step,), note=note)


def here(fix_id: str, title: str, text: str, command: str = PROVE) -> Fix:
    """Something to do in this shell."""
    return Fix(id=fix_id, title=title, steps=(Step(text=text, command=command, where="shell", changes=AGAIN),))


def with_more_time(
    m: Measured, fix_id: str = "prove-again", title: str = "Run gpudoctor prove again with more time"
) -> Fix:
    """The same proof with twice the time that it had, and at least 600 s."""
    device = known(m.device) or "cuda"
    flags = [_LEVEL_FLAGS.get(str(known(m.level)), ""), f"--device {device}" if device != "cuda" else ""]
    if soak := known(m.soak):
        flags.append(f"--soak {ceil(max(point.at_s + point.seconds for point in soak))}")
    seconds = max(_LEAST_TIMEOUT_S, ceil(2 * (known(m.timeout_s) or 0.0)))
    command = " ".join([PROVE, *filter(None, flags), f"--timeout {seconds}"])
    return here(fix_id, title, "The timeout is in seconds.", command)


def leave_out(s: Snapshot, device: str) -> tuple[Fix, ...]:
    """Continue with the GPUs that computed correctly; nothing if there are none. `device`: torch's name for the faulty
    one."""
    m = s.measured
    good = [p.device[5:] for p in known(m.torch) or () if p.right is True and p.device.startswith("cuda:")]
    good = good or [str(p.device) for p in known(m.driver) or () if p.right is True]
    bad = {device, *(f"cuda:{p.device}" for p in known(m.driver) or () if p.right is not True)}
    numbers = [int(number) for number in good if number.isdecimal() and f"cuda:{number}" not in bad]
    set_now = known(s.host.env("CUDA_VISIBLE_DEVICES"))
    names = set_now.split(",") if set_now else [str(number) for number in range(1 + max(numbers, default=0))]
    if not numbers or max(numbers) >= len(names):
        return ()
    listed = [names[number].strip() for number in numbers]
    plain = all(name.isdecimal() for name in listed)  # the name of a GPU is masked in what is printed
    what = "Programs started from this shell use" if plain else f"In CUDA_VISIBLE_DEVICES, leave {device} out and keep"
    return (
        here(
            "leave-gpu-out",
            "Leave this GPU out until it is repaired",
            f"{what} the GPUs that computed correctly. The host's kernel log shows what happened to this one (sudo "
            "dmesg | grep -i -e xid -e nvrm).",
            f"export CUDA_VISIBLE_DEVICES={','.join(listed)}" if plain else "",
        ),
    )


def larger_batch(batch: int | None) -> Fix:
    """The cheapest cure of a GPU that waits for launches. `batch`: from which on the sweep's model fills it."""
    filled = f" The small model measured here needs a batch of about {batch} to keep the GPU busy." if batch else ""
    return in_code(
        "larger-batch",
        "Use a larger batch",
        "Make the batch two to ten times as large, as long as it fits in memory and a step takes no longer, and raise "
        f"the learning rate with it.{filled}",
        note="If a larger batch hurts training, keep the batch size and run several training jobs at once on this GPU.",
    )


def fewer_launches() -> Fix:
    """The same kernels with less host time."""
    return in_code(
        "fewer-launches",
        "Launch fewer kernels",
        "torch.compile merges small kernels; its mode reduce-overhead replays them as one CUDA graph. "
        "AdamW(..., fused=True) runs the optimizer as one kernel. Keep .item(), print and other calls that wait for "
        "the GPU out of the loop.",
        'model = torch.compile(model, mode="reduce-overhead")',
    )


def more_workers(cores: float | None) -> Fix:
    """Load data in parallel with the training."""
    count = max(2, min(16, int(cores) - 1)) if cores else 4
    return in_code(
        "more-loader-workers",
        "Load data with more worker processes",
        "Decode and augment in workers, or once beforehand; keep small data sets on the GPU as one tensor.",
        f"DataLoader(..., num_workers={count}, pin_memory=True, persistent_workers=True)",
    )


def local_data() -> Fix:
    """Take the disk out of the loop."""
    return in_code(
        "local-data",
        "Store the decoded data on a local disk",
        "Many small files and remote disks are slow: copy the files once, or pack them (WebDataset, Parquet, one "
        "tensor).",
    )


def faster_core(s: Snapshot) -> Fix:
    """Another machine, chosen by its cores."""
    words = "with faster cores (clock above 4 GHz, newer generation), not a faster GPU"
    return measured_again([other_host(s, words)])[0]


def clocks_reset(s: Snapshot, key: str, memory: bool = False) -> Fix:
    """Unlock the clocks of a GPU."""
    index = next((known(g.index) for g in known(s.gpus) or () if g.key == key), None)
    choice = "" if index is None else f" -i {index}"
    command = f"{host_sudo(s)}nvidia-smi{choice} {'-rmc' if memory else '-rgc'}"
    step = on_host(s, "Unlock the clocks, then measure again on a free GPU.", command, dict(AGAIN))
    return Fix(id="reset-clocks", title=f"Reset the {'memory' if memory else 'SM'} clocks", steps=(step,))
