"""A finding that others explain names its root cause, and has fixes only where none of its causes has any."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.findings import Finding, Fix, Step
from doctor.judge.rank import rank

DRIVER, TORCH, KERNEL = "driver-not-loaded", "torch-import-broken", "gpu-path-not-available"


def finding(
    name: str, *causes: str, fixed: bool = True, subject: str = "", status: str = "fail", layer: str = "driver"
) -> Finding:
    fix = Fix(id=f"repair-{name}", title="Repair it", steps=(Step(text="Do it.", where="host"),))
    return Finding(
        id=name, status=status, severity="error", title=name, subject=subject, layer=layer,  # type: ignore[arg-type]
        downstream_of=causes, fixes=(fix,) if fixed else (),
    )  # fmt: skip


def ranked(*findings: Finding, gpus: dict[str, str] | None = None) -> dict[tuple[str, str], tuple[str, bool]]:
    """By id and subject: the cause, and whether there is a fix."""
    return {(f.id, f.subject): (f.cause, bool(f.fixes)) for f in rank(findings, {}, gpus)}


def test_the_root_of_a_chain_is_the_cause_and_has_the_fix() -> None:
    found = ranked(finding(KERNEL, TORCH, layer="python"), finding(TORCH, DRIVER, layer="python"), finding(DRIVER))
    assert found == {(DRIVER, ""): ("", True), (TORCH, ""): (DRIVER, False), (KERNEL, ""): (DRIVER, False)}


def test_where_the_root_has_no_fix_the_next_in_the_chain_keeps_its_own() -> None:
    found = ranked(finding(KERNEL, TORCH), finding(TORCH, DRIVER), finding(DRIVER, fixed=False))
    assert found == {(DRIVER, ""): ("", False), (TORCH, ""): (DRIVER, True), (KERNEL, ""): (DRIVER, False)}


def test_a_cause_that_was_not_found_explains_nothing() -> None:
    assert ranked(finding(KERNEL, TORCH)) == {(KERNEL, ""): ("", True)}


def test_a_warning_explains_no_failure_and_keeps_no_fix_under_one() -> None:
    assert ranked(finding(TORCH, DRIVER), finding(DRIVER, status="warn"))[TORCH, ""] == ("", True)
    assert ranked(finding(TORCH, DRIVER, status="warn"), finding(DRIVER))[TORCH, ""] == (DRIVER, False)


def test_the_cause_is_the_one_of_the_same_gpu() -> None:
    """GPU 1 is hot and slow; GPU 0 is hot for a reason of its own, which has no fix here."""
    gpus = {"GPU-0": "GPU-0", "GPU-1": "GPU-1"}
    hot = [finding("gpu-too-hot", subject=f"GPU-{n}", layer="hardware", fixed=bool(n)) for n in (0, 1)]
    slow = finding("thermally-throttled", "gpu-too-hot", subject="GPU-1", layer="hardware")
    assert ranked(*hot, slow, gpus=gpus)["thermally-throttled", "GPU-1"] == ("gpu-too-hot", False)
    other = finding("thermally-throttled", "gpu-too-hot", subject="GPU-1", layer="hardware")
    assert ranked(hot[0], other, gpus=gpus)["thermally-throttled", "GPU-1"] == ("", True)


def test_a_circle_of_causes_hides_none() -> None:
    found = ranked(finding(TORCH, DRIVER), finding(DRIVER, TORCH), finding(KERNEL, TORCH))
    assert set(found.values()) == {("", True)}


def order(*findings: Finding) -> list[str]:
    return [f.id for f in rank(findings, {})]


def test_each_rule_of_the_order_decides_where_those_before_it_do_not() -> None:
    """Status, layer, severity, direct evidence before inference, then the id: one pair each, against the alphabet."""
    base = finding("z-last", layer="driver")
    for first, second in (
        (base, replace(base, id="a-first", status="unknown")),
        (replace(base, status="unknown"), replace(base, id="a-first", status="warn")),
        (base, replace(base, id="a-first", layer="python")),
        (replace(base, severity="critical"), replace(base, id="a-first", severity="error")),
        (base, replace(base, id="a-first", direct=False)),
    ):
        assert order(first, second) == order(second, first) == ["z-last", "a-first"], second
    assert order(base, replace(base, id="a-first")) == ["a-first", "z-last"]
    subjects = [f.subject for f in rank([replace(base, subject="GPU-1"), replace(base, subject="GPU-0")], {})]
    assert subjects == ["GPU-0", "GPU-1"]


def test_what_a_board_reports_is_passed_on_to_hardware_alone() -> None:
    """An ECC error is no consequence of a missing module, though a GPU that fell off the bus could be one."""
    declared = {"gpu-fell-off-bus": ("uvm-device-missing", "gpu-link-lost"), "ranks": ("gpu-fell-off-bus",)}
    error = finding("gpu-hardware-ecc-fault", "gpu-fell-off-bus", layer="hardware")
    other = finding("ranks", "gpu-fell-off-bus", layer="libraries")
    for cause, layer, explained in (("uvm-device-missing", "driver", False), ("gpu-link-lost", "hardware", True)):
        found = {f.id: f.cause for f in rank([error, other, finding(cause, layer=layer)], declared)}
        assert (found[error.id] == cause, found[other.id]) == (explained, cause)
