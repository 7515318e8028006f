"""compared: what is gone, new, stays and open after a change; the pairs that its two switches decide."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.judge.compared import Compared, compared


def found(id: str, subject: str = "", status: str = "fail") -> Finding:
    return Finding(id=id, subject=subject, status=status, severity="error", title=id)  # type: ignore[arg-type]


def ids(compare: Compared) -> dict[str, list[tuple[str, str]]]:
    parts = ("gone", "new", "stays", "open")
    return {part: [(one.id, one.subject) for one in getattr(compare, part)] for part in parts if getattr(compare, part)}


def test_a_finding_about_another_gpu_is_new_and_is_the_same_where_the_gpus_changed() -> None:
    before, after = [found("gpu-too-hot", "GPU-0")], [found("gpu-too-hot", "GPU-1")]
    assert ids(compared((), before, after, frozenset(), False)) == {
        "gone": [("gpu-too-hot", "GPU-0")],
        "new": [("gpu-too-hot", "GPU-1")],
    }
    assert ids(compared((), before, after, frozenset(), True)) == {"stays": [("gpu-too-hot", "GPU-1")]}


def test_what_nobody_can_judge_again_is_open_and_not_gone() -> None:
    before = [found("cuda-init-failed"), found("driver-not-loaded"), found("low-shm", status="warn")]
    assert ids(compared((), before, [], frozenset({"cuda-init-failed"}), False)) == {
        "gone": [("driver-not-loaded", ""), ("low-shm", "")],
        "open": [("cuda-init-failed", "")],
    }


def test_only_failures_and_warnings_are_compared() -> None:
    before, after = [found("a", status="unknown"), found("b")], [found("b", status="warn"), found("c", status="pass")]
    assert ids(compared(("driver 580",), before, after, frozenset(), False)) == {"stays": [("b", "")]}
    assert compared(("driver 580",), before, after, frozenset(), False).changed == ("driver 580",)
