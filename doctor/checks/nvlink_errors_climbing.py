"""A GPU's NVLink links are producing errors right now.

What is wrong: while gpudoctor is running, a link is repeating transmissions, retraining, or receiving damaged packets.

Symptoms: `nvidia-smi nvlink -e` prints counters that grow from call to call. NCCL is slow or uneven; Xid 74 (or 145
to 150) may follow, and then the link is down.

Why it happens: a bad cable, bridge, board or switch port; heat.

How to fix it: reset the GPUs; if the counters grow again, have the link (bridge, board, switch) checked. If the machine
is rented, switch to a different host.

Counters start again at 0 after each reset, and a few errors are normal, so a count alone is only a note. gpudoctor
reads nonzero counters a second time about 100 ms later, and warns if there were replays or recoveries in between, or
damaged packets (CRC) at a rate of 100 per second or more.

Source: NVML fields 161 to 163 (Hopper and before) and 214, 215 (Blackwell and later), nvml.h; limits: DCGM
(DCGM_LIMIT_MAX_NVLINK_ERROR 1, DCGM_LIMIT_MAX_NVLINK_CRC_ERROR 100 a second).
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Matrix, Policy
from ..fixes.links import reset_links
from ..snapshot import Gpu, NvLinkErrors, Snapshot, known
from ._readings import Readings, limit, listed, name_of

CHECK = Check(
    __name__,
    title="NVLink error counts are rising",
    sound="NVLink error counts are not rising fast",
    severity="warning",
    layer="hardware",
    tags=("gpu", "health", "nvlink"),
    downstream_of=("nvlink-fabric-unhealthy", "gpu-fell-off-bus"),
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for each GPU with a link whose counters rise; one note for those whose counters do not."""
    seen, quiet = Readings(), []
    for gpu in listed(s):
        errors = seen.of("nvlink_errors", gpu.nvlink_errors) or ()
        apart_s = (known(gpu.counters_apart_ms) or 100) / 1000
        crc = limit(p, "nvlink_crc_per_s", 100)
        climbing = [link for link in errors if link.climbed or link.crc_climbed / apart_s >= crc]
        if not climbing:
            quiet += [(gpu, errors)] if errors else []
            continue
        links = ", ".join(str(link.link) for link in climbing)
        yield CHECK.warn(
            f"{name_of(gpu)}: NVLink error counts are rising on link{'s' * (len(climbing) > 1)} {links}",
            f"{_counts(climbing)} since the last reset; "
            f"{sum(link.climbed + link.crc_climbed for link in climbing)} of them within {apart_s * 1000:.0f} ms.",
            facts={
                "links": [link.link for link in climbing],
                "climbed": sum(link.climbed for link in climbing),
                "crc_climbed": sum(link.crc_climbed for link in climbing),
            },
            subject=gpu.key,
            fixes=reset_links(s),
        )
    if quiet:
        yield _remark(quiet)
    seen.end("NVLink error counters")


def _remark(quiet: list[tuple[Gpu, tuple[NvLinkErrors, ...]]]) -> Finding:
    names = ", ".join(f"GPU {known(gpu.index)}" for gpu, _ in quiet)
    links = [link for _, errors in quiet for link in errors]
    return CHECK.remark(
        f"NVLink errors were counted on {names}, but the counts are not rising now",
        f"{_counts(links)} since the last reset. A few are normal; a count that keeps rising is not.",
        facts={"links": [[known(gpu.index), error.link] for gpu, errors in quiet for error in errors]},
    )


def _counts(links: list[NvLinkErrors]) -> str:
    """`3 replays, 1 recovery`."""
    words = (
        ("replay", "replay", "replays"),
        ("recovery", "recovery", "recoveries"),
        ("crc", "damaged packet", "damaged packets"),
        ("failed", "failed recovery", "failed recoveries"),
    )
    sums = [(sum(getattr(link, name) for link in links), one, many) for name, one, many in words]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in sums if count)
