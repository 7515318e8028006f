"""Weights and KV caches that `fit` gives for the configs of `fit_models.jsonl`, against what was published.

A row's address says who published the figure: the index or the files of a repository, a model's page, a log. `half`:
written down before the formulas were last repaired, or after. Weights: bytes of all tensors, 2 %. KV cache: bytes of
`tokens` tokens of `batch` sequences in `bits` bits, 3 %. Off: the distance from the nearer end of what `fit` gives.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doctor.fit.config import Model, read_model
from doctor.fit.layers import Unbuildable
from doctor.fit.memory import cache, estimate
from doctor.fit.safetensors import Unreadable
from doctor.fit.work import Work

DATA = Path(__file__).with_suffix(".jsonl")
GB = 1e9
WEIGHTS_PERCENT, CACHE_PERCENT = 2.0, 3.0


class Compared(NamedTuple):
    """One published figure. given: bytes, low and high, or why `fit` gives none; off: percent."""

    model: str
    kind: str
    half: str
    what: str
    published: float
    given: tuple[float, float] | str
    off: float

    @property
    def right(self) -> bool:
        """Within what is allowed; False also where nothing is given."""
        most = WEIGHTS_PERCENT if self.what == "weights" else CACHE_PERCENT
        return not isinstance(self.given, str) and abs(self.off) <= most


def rows() -> list[dict[str, Any]]:
    """All rows of the file."""
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def compared(row: dict[str, Any]) -> Iterator[Compared]:
    """Each figure of a row."""
    what = [name for name in ("weights", "kv") if name in row]
    family = str(row["config"]["model_type"])
    try:
        model = _model(row["config"])
    except (Unbuildable, Unreadable) as error:
        for name in what:
            published = row["weights"] if name == "weights" else row["kv"]["bytes"]
            yield Compared(row["model"], family, row["half"], _named(name), published, str(error), 0.0)
        return
    for name in what:
        published = row["weights"] if name == "weights" else row["kv"]["bytes"]
        given = _weights(model, row.get("dtype", "")) if name == "weights" else _cache(model, row["kv"])
        low, high = given
        off = 100 * (min(max(published, low), high) / published - 1)
        yield Compared(row["model"], family, row["half"], _named(name), published, given, off)


def _named(name: str) -> str:
    return "weights" if name == "weights" else "KV cache"


def _model(config: dict[str, Any]) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config), "utf-8")
        return read_model(path)


def _weights(model: Model, dtype: str) -> tuple[float, float]:
    work = Work(task="inference", dtype=dtype or model.dtype or "bf16", stored=None if dtype else model.stored)
    least, most = (
        estimate(model.shape, count, work).states for count in (model.fewest or model.count, model.most or model.count)
    )
    return min(least[0], most[0]), max(least[1], most[1])


def _cache(model: Model, kv: dict[str, Any]) -> tuple[float, float]:
    low, high = cache(model.shape, Work(task="inference", sequence=kv["tokens"], batch=kv.get("batch", 1)))
    return low * kv.get("bits", 16) / 16, high * kv.get("bits", 16) / 16


def shown(found: list[Compared]) -> list[str]:
    """A table, then the sums."""
    lines = ["| model | model_type | figure | written | published | `fit` | off |", f"|{' --- |' * 7}"]
    for one in found:
        if isinstance(one.given, str):
            given, off = "not known", one.given.removeprefix("config.json: ")
        else:
            ends = [f"{end / GB:.4g}" for end in one.given]
            given, off = " to ".join(dict.fromkeys(ends)) + " GB", f"{one.off:+.2f} %"
        published = f"{one.published / GB:.4g} GB"
        lines.append(f"| {one.model} | {one.kind} | {one.what} | {one.half} | {published} | {given} | {off} |")
    for half in ("before", "after"):
        these = [one for one in found if one.half == half]
        unknown = sum(isinstance(one.given, str) for one in these)
        right = sum(one.right for one in these)
        lines += ["", f"{half}: {right} of {len(these)} figures right, {unknown} not known"]
    kinds = {one.kind for one in found if not isinstance(one.given, str)}
    models = {one.model for one in found if not isinstance(one.given, str)}
    lines += ["", f"answered: {len(models)} models of {len(kinds)} architectures"]
    return lines


def models(half: str = "") -> list[Compared]:
    """All figures, or those of one half."""
    return [one for row in rows() if half in ("", row["half"]) for one in compared(row)]
