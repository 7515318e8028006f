"""A proof compared with an earlier one: which rates changed by more than both vary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..snapshot import Rate, Snapshot, known
from ..snapshot.mask_uuids import Uuids
from .baseline import Baseline, BaselineRate
from .measured_gpu import gpu_of

_SLOWER_IS_MORE = ("us", "ms", "s")
"""Units of time: a larger figure is slower."""


class Change(NamedTuple):
    """One rate then and now, on the GPU with this key. percent: gained (above 0) or lost speed."""

    was: BaselineRate
    now: Rate
    key: str
    percent: float
    clear: bool
    """The ranges of the two measurements do not overlap."""

    @property
    def name(self) -> str:
        """`bf16 matmul`, `memory copy`."""
        return f"{self.was.what} matmul" if self.was.kind == "matmul" else f"{self.was.kind} {self.was.what}"


class Compared(NamedTuple):
    """All rates that both proofs have. gone: GPUs (name, masked key) that only the earlier one had; left_out: rates of
    GPUs that are here, which were not measured again."""

    changes: tuple[Change, ...]
    gone: tuple[tuple[str, str], ...]
    left_out: tuple[BaselineRate, ...]


def baseline_of(s: Snapshot, day: str, regression_percent: float) -> Baseline:
    """What a later proof can be held against: of a Snapshot with measurements, gathered on that day."""
    rates = [
        BaselineRate(
            key=_masked(key),
            kind=rate.kind,
            what=rate.what,
            value=rate.value,
            unit=rate.unit,
            spread_percent=rate.spread_percent,
            gpu=name,
        )
        for rate, key, name in _figures(s)
    ]
    return Baseline(
        rates=tuple(rates),
        driver=known(s.driver.version) or "",
        torch=known(s.torch.version) or "",
        day=day,
        regression_percent=regression_percent,
    )


def compared(s: Snapshot, b: Baseline) -> Compared:
    """This Snapshot's rates compared with those of the earlier proof, GPU by key."""
    now: dict[tuple[str, str, str], tuple[Rate, str]] = {}
    here = {_masked(gpu.key) for gpu in known(s.gpus) or ()} | {"cpu"}
    for rate, key, _ in _figures(s):
        here.add(_masked(key))
        now[_masked(key), rate.kind, rate.what] = rate, key
    changes, left_out, gone = [], [], []
    for was in b.rates:
        found = now.get((was.key, was.kind, was.what))
        if found and was.value > 0 and found[0].value > 0 and found[0].unit == was.unit:
            changes.append(_change(was, *found))
        elif set(was.key.split(">")) <= here:
            left_out.append(was)
        else:
            gone.append((was.gpu, was.key))
    return Compared(tuple(changes), tuple(dict.fromkeys(gone)), tuple(left_out))


def _figures(s: Snapshot) -> Iterator[tuple[Rate, str, str]]:
    """Every measured rate with the key of its GPU (of a pair: both keys) and its name."""
    for rate in known(s.measured.rates) or ():
        if rate.kind != "pair":
            gpu = gpu_of(s, rate.device) if rate.device != "cpu" else None
            yield rate, gpu.key if gpu else rate.device, (known(gpu.name) or "") if gpu else ""
    for pair in known(s.measured.pairs) or ():
        ends = gpu_of(s, pair.source), gpu_of(s, pair.target)
        speed = known(pair.gb_s)
        if speed and known(pair.right) and ends[0] and ends[1]:
            made = Rate(kind="pair", device=f"{pair.source}>{pair.target}", what="copy", value=speed, unit="GB/s",
                        spread_percent=pair.spread_percent)  # fmt: skip
            yield made, f"{ends[0].key}>{ends[1].key}", known(ends[0].name) or ""


def _change(was: BaselineRate, now: Rate, key: str) -> Change:
    ratio = now.value / was.value
    percent = 100 * ((1 / ratio if was.unit in _SLOWER_IS_MORE else ratio) - 1)
    # The spread is from the 10th to the 90th percentile: half of it lies on each side of the median.
    low, high = sorted(((was.value, was.spread_percent), (now.value, now.spread_percent)))
    clear = low[0] * (1 + low[1] / 200) < high[0] * (1 - high[1] / 200)
    return Change(was, now, key, percent, clear)


def _masked(key: str) -> str:
    return Uuids().text(key)
