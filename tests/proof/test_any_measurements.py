"""Any measurements that fit the struct, however odd, are judged without a crash: a saved report may hold them."""

from __future__ import annotations

import re
import types
import typing
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from doctor.judge import judge, load
from doctor.judge.verdict import verdict
from doctor.snapshot import Measured, Missing, Snapshot

from ..drawn import drawn
from ..judging import POLICY, matrix
from .stories import BOARDS, KEY, machine, proven, watched
from .test_stories import MEASURED

NUMBERS = st.sampled_from([0, 0.0, -1.0, 1e-9, 0.5, 1, 5, 64, 100.0, 1024, 1e12, -1e12])
TEXTS = {
    "device": ["cuda:0", "cuda:1", "cpu", "", "cuda:x"], "key": [KEY, "", "GPU-other", "MIG-1"],
    "kind": ["matmul", "memory", "copy", "loader", "copies", "launch", "other"],
    "what": ["bf16", "fp32", "copy", "h2d-pinned", "1", "4", "eager", ""],
    "phase": ["matmul", "memory", "copy", "watch", "training"], "agent": ["torch_proof", "torch_speed"],
    "name": ["NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""], "tensor_device": ["cuda:0", "cpu", ""],
    "error": ["", "CUDA out of memory"], "detail": ["", "made smaller"], "step": ["matmul bf16", "import"],
}  # fmt: skip


def value(kind: Any, field: str) -> st.SearchStrategy[Any]:
    """A strategy for one type, mostly of values that the judgement branches on."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return st.one_of(*(value(part, field) for part in get_args(kind)))
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if origin is tuple:
        return st.lists(value(get_args(kind)[0], field), min_size=1, max_size=3).map(tuple)
    if origin is dict:
        keys = st.sampled_from(["power-cap", "sw-thermal", "hw-thermal", "power-brake", "m"])
        return st.dictionaries(keys, st.sampled_from([0.0, 20.0, 100.0]), max_size=2)
    if kind is Missing:
        return st.sampled_from([Missing("not-asked"), Missing("absent"), Missing("error", "x"), Missing("timeout")])
    if kind is type(None):
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind is int:
        return NUMBERS.map(int)
    if kind is float:
        return NUMBERS
    if kind is str:
        return st.sampled_from(TEXTS.get(field, ["", "x"]))
    hints = typing.get_type_hints(kind)
    return st.fixed_dictionaries({name: value(hints[name], name) for name in kind.__struct_fields__}).map(
        lambda f: kind(**f)
    )


HINTS = typing.get_type_hints(Measured)
FIELDS = [name for name in Measured.__struct_fields__ if name != "level"]


@st.composite
def odd(draw: st.DrawFn) -> Measured:
    """A sound proof and a watched run, of which up to four sections are replaced by anything that fits."""
    b = BOARDS["h100"]
    sound = msgspec.structs.replace(proven(b).measured, watch=watched(b, gpu_busy_percent=20.0).measured.watch)
    names = draw(st.lists(st.sampled_from(FIELDS), max_size=4, unique=True))
    return msgspec.structs.replace(sound, **{name: draw(value(HINTS[name], name)) for name in names})


CATALOGUE = [load(check_id) for check_id in sorted(MEASURED)]


@drawn(150, suppress_health_check=list(HealthCheck))
@given(odd(), st.booleans())
def test_no_measurement_is_too_odd(measured: Measured, listed: bool) -> None:
    s = machine(BOARDS["h100"]) if listed else Snapshot()
    s = s.replace({"measured": measured})
    done = judge(s, matrix(), POLICY, CATALOGUE)
    assert not [f"{c.id}: {c.reason}" for c in done.checks if "the check itself failed" in c.reason]
    assert done.measured == verdict(s, matrix(), done.findings)
    said = " ".join(f"{f.title} {f.detail}" for f in (*done.findings, *done.remarks))
    assert not re.search(r"\b(None|nan|inf|Missing)\b", said)
