"""Part of the agent collective_proof: the work of its children, the pairs and the ranks."""

from __future__ import annotations

import datetime
import time

from .collective_lines import Out, load, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence, Tuple

    Line = Dict[str, Any]

MAX_RANKS = 64
ALL_PAIRS = 8
"""Up to so many devices every pair is tried: the GPUs of one host."""
COPY_BYTES = (64 << 20, 4 << 20)
"""Bytes that pass between two devices; fewer where memory is out."""
COPIES = 5
"""Times that are taken, each of as many copies as take BATCH_MS, IN_A_BATCH at most."""
BATCH_MS, IN_A_BATCH = 4.0, 16
CHECKED = 3
"""Copies that are compared, each into memory that held something else."""
SMALL_COPIES = 50
"""Of four bytes each, between two events: their latency."""
REDUCED = 1 << 18
"""Elements of the all-reduce: 1 MiB of float32 holding whole numbers, so that the sum is exact in any order."""
LARGEST = 10000


def pairs_of(names: Sequence[str]) -> List[Tuple[str, str]]:
    """Ordered pairs of up to eight devices; above, neighbours in the ring, both ways. Each device comes early: the ring
    first, then those further apart, so that little is left out where the time is over."""
    count = len(names)
    steps = range(1, count) if count <= ALL_PAIRS else (1, count - 1)
    return [(names[n], names[(n + step) % count]) for step in steps for n in range(count)]


def pairs_child(out: Out, flags: Any) -> None:
    """The devices, then a copy over each pair from `--pairs-from` on, as far as no error sticks to the process."""
    torch = load(out)
    if torch is None:
        return
    offered = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    chosen = [int(word) for word in flags.devices.split(",") if word] or list(range(offered))
    there_are = ["cuda:%d" % index for index in chosen if index < offered]
    names = there_are[:MAX_RANKS]
    if len(there_are) > MAX_RANKS:
        out.emit(cap="collective-devices", looked=MAX_RANKS, listed=len(there_are))
    if len(there_are) < len(chosen):
        out.leave_out("devices", "torch offers %d CUDA devices, not all of %s" % (offered, flags.devices), "failed")
    there = bool(torch.distributed.is_available())
    out.emit(devices=names, distributed=there, nccl=there and bool(torch.distributed.is_nccl_available()))
    for source, target in pairs_of(names)[flags.pairs_from :]:
        line: Line = {"source": source, "target": target}
        out.emit(begin="pair", device="%s>%s" % (source, target))
        try:
            copy_pair(out, torch, source, target, line)
        except Exception as error:
            words = words_of(error)
            line.update(right={"missing": "error", "detail": words}, error=words, fault="failed")
        out.emit(pair=line)
        if "fault" in line and spoiled(torch, (source, target)):
            break


def copy_pair(out: Out, torch: Any, source: str, target: str, line: Line) -> None:
    """Random numbers from device to device, read back and compared; GB/s and latency by events on the source."""
    ends = [int(name[len("cuda:") :]) for name in (source, target)]
    line["peer_access"] = bool(torch.cuda.can_device_access_peer(*ends))
    for size in COPY_BYTES:
        try:
            sent = torch.randint(-(1 << 31), (1 << 31) - 1, (size // 4,), dtype=torch.int32)
            there, here = sent.to(source), torch.zeros(size // 4, dtype=torch.int32, device=target)
            torch.cuda.synchronize(ends[1])
            with torch.cuda.device(ends[0]):
                first = copies_ms(torch, there, here, 1)
                batch = max(1, min(IN_A_BATCH, int(BATCH_MS / first))) if first > 0 else IN_A_BATCH
                times = sorted(copies_ms(torch, there, here, batch) / batch for _ in range(COPIES))
                wrong = wrong_numbers(torch, there, here, sent.to(target), ends)
                if first < BATCH_MS:  # else the link is so slow that its latency says nothing
                    one, other = there[:1], here[:1]
                    copies_ms(torch, one, other, 1)
                    small = sorted(copies_ms(torch, one, other, SMALL_COPIES) for _ in range(COPIES))
                    line["latency_us"] = round(1e3 * small[COPIES // 2] / SMALL_COPIES, 3)
        except RuntimeError as error:
            if size == COPY_BYTES[-1] or "out of memory" not in str(error):
                raise
            detail = "out of memory with %d MiB: made smaller" % (size >> 20)
            out.leave_out("pair", detail, device="%s>%s" % (source, target))
            continue
        line["right"] = not wrong
        if wrong:
            line["error"] = "%d of %d numbers came wrong" % (wrong, CHECKED * size // 4)
        median = times[COPIES // 2]
        if median > 0:
            line["gb_s"] = round(size / median / 1e6, 3)
            line["spread_percent"] = round(100 * (times[-1] - times[0]) / median, 1)
            line["mib"] = size >> 20
        return


def wrong_numbers(torch: Any, source: Any, target: Any, expected: Any, ends: Sequence[int]) -> int:
    """How many numbers of some copies are not what they must be. `expected` came to the target from the host: so the
    way back has no part in it."""
    wrong = 0
    for number in range(CHECKED):
        target.fill_(number)
        torch.cuda.synchronize(ends[1])
        target.copy_(source, non_blocking=True)
        for end in ends:
            torch.cuda.synchronize(end)
        wrong += int((target != expected).sum())
    return wrong


def copies_ms(torch: Any, source: Any, target: Any, count: int) -> float:
    """Milliseconds that so many copies take, one behind the other on the current stream, without a wait between."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(count):
        target.copy_(source, non_blocking=True)
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def spoiled(torch: Any, names: Sequence[str]) -> bool:
    """Whether an error sticks to a device's context, so that every further call fails."""
    try:
        for name in names:
            torch.cuda.synchronize(int(name[len("cuda:") :]))
    except Exception:
        return True
    return False


def rank_child(out: Out, flags: Any) -> None:
    """One rank: its line has `seconds` and `wrong` (elements of the sum), or `error`."""
    step = "import torch"
    out.emit(begin=step)
    try:
        import torch
        from torch import distributed

        device = "cpu" if flags.device == "cpu" else "cuda:" + flags.devices
        if device != "cpu":
            torch.cuda.set_device(int(flags.devices))
        step = "init_process_group"
        out.emit(begin=step)
        started = time.monotonic()
        distributed.init_process_group(
            flags.backend,
            init_method="file:///" + flags.store.lstrip("/"),
            rank=flags.rank,
            world_size=flags.ranks,
            timeout=datetime.timedelta(seconds=flags.seconds),
        )
        step = "all_reduce"
        out.emit(begin=step)
        parts = [numbers(torch, flags.seed + rank) for rank in range(flags.ranks)]
        total, mine = sum(parts), parts[flags.rank].clone().to(device)
        distributed.all_reduce(mine)
        if device != "cpu":
            torch.cuda.synchronize()
        wrong = int((mine.cpu() != total).sum())
        out.emit(seconds=round(time.monotonic() - started, 3), wrong=wrong)
    except BaseException as error:
        out.emit(**{"error": words_of(error), "at": time.monotonic(), "in": step})


def numbers(torch: Any, seed: int) -> Any:
    """What one rank adds: whole numbers as float32, the same in every process that knows the seed."""
    return torch.randint(LARGEST, (REDUCED,), generator=torch.Generator().manual_seed(seed)).float()
