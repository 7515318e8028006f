"""The graph of causes is sound, and no check stumbles over a fact that is missing."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.checks._seen import ALL_CAUSES
from doctor.commands.assess import known_ids
from doctor.judge import load_all
from doctor.snapshot import Missing, Snapshot
from doctor.text.cause_pages import load_causes

from ..healthy import healthy
from ..judging import ids, report
from ..rows import for_each
from ..sickness import (
    bound_to,
    compat_loaded,
    cuda_says,
    env,
    gvisor,
    not_given,
    not_installed,
    not_loaded,
    nvml_says,
    unlisted,
)
from .gpu_readings import monitored
from .test_no_nvidia_gpu import without_gpu
from .test_wsl import linux_driver, without_dxg, wsl1, wsl2


def test_every_cause_that_a_check_names_is_a_check() -> None:
    names = set(known_ids())
    assert set(ALL_CAUSES) <= names
    for check in (*load_all(), *load_causes()):
        assert set(check.about.downstream_of) <= names, check.id


def test_no_check_explains_itself() -> None:
    causes = {check.id: check.about.downstream_of for check in (*load_all(), *load_causes())}

    def walk(check_id: str, way: tuple[str, ...]) -> None:
        assert check_id not in way, f"a circle: {' <- '.join((*way, check_id))}"
        for cause in causes[check_id]:
            walk(cause, (*way, check_id))

    for check_id in (
        "no-nvidia-gpu",
        *ALL_CAUSES,
        "cuda-init-failed",
        "required-fact-missing",
        "gpu-expectation-unmet",
    ):
        walk(check_id, ())


MACHINES = {
    "healthy": healthy(), "two": healthy("h100", "a100"), "container": healthy(container=True), "wsl2": wsl2(),
    "wsl1": wsl1(), "no dxg": without_dxg(), "linux driver": linux_driver(), "no gpu": without_gpu(healthy()),
    "not installed": not_installed(healthy()), "not loaded": not_loaded(healthy()), "nouveau": bound_to(healthy(), "nouveau"),
    "gvisor": gvisor(healthy()), "not given": not_given(healthy(container=True)), "unlisted": unlisted(healthy()),
    "803": cuda_says(compat_loaded(healthy()), 803), "804": cuda_says(compat_loaded(healthy("rtx3060")), 804),
    "nvml 18": nvml_says(healthy(), 18), "nvml 999": nvml_says(healthy(container=True), 999), "empty": Snapshot(),
}  # fmt: skip


def facts_of(s: Snapshot) -> list[str]:
    sections = ("host", "container", "driver", "cuda")
    names = [f"{section}.{name}" for section in sections for name in getattr(s, section).__struct_fields__]
    return [name for name in names if name != "driver.faults"] + ["gpus"]


@for_each("name", MACHINES, quick=4)
def test_no_check_stumbles_over_a_missing_fact(name: str) -> None:
    """A check that raises is reported as UNKNOWN with `the check itself failed`: that must never be seen."""
    machine = MACHINES[name]
    for path in ("", *facts_of(machine)):
        s = machine.replace({path: Missing("denied", "not readable")}) if path else machine
        broken = [f"{c.id}: {c.reason}" for c in report(s).checks if "the check itself failed" in c.reason]
        assert not broken, f"without {path or 'nothing'}: {broken}"


HARMLESS = {
    "GPU identifier": {"CUDA_VISIBLE_DEVICES": "GPU-00000000-0000-4000-8000-233000000000"},
    "index": {"CUDA_VISIBLE_DEVICES": "0"},
}


@for_each("models", [("h100",), ("a100", "a100"), ("rtx4090",), ("rtx5090",), ("l4",), ("t4",), ("h100", "l4")])
@for_each("container", [False, True])
def test_healthy_machines_have_no_finding(models: tuple[str, ...], container: bool) -> None:
    assert ids(healthy(*models, container=container)) == []


def test_harmless_things_are_no_finding() -> None:
    assert ids(wsl2()) == []
    for variables in HARMLESS.values():
        assert ids(env(healthy(), **variables)) == []


def test_a_fault_of_one_gpu_does_not_explain_what_another_one_has() -> None:
    """GPU 0 has memory errors, and a row waits to be remapped on GPU 1 (or on GPU 0 itself)."""
    s = monitored(healthy("h100", "h100"))
    assert isinstance(s.gpus, tuple)
    for other, causes in ((0, ("gpu-hardware-ecc-fault",)), (1, ())):
        gpus = [replace(s.gpus[0], ecc_uncorrected_volatile=3), s.gpus[1]]
        gpus[other] = replace(gpus[other], row_remap_pending=True)
        found = {f.id: f for f in report(s.replace({"gpus": tuple(gpus)})).findings}
        assert found["row-remap-pending"].downstream_of == causes, other
        assert found["row-remap-pending"].subject == s.gpus[other].key
