"""`healthcheck --format prometheus` and `node-problem-detector`, read by Prometheus' own parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from doctor.snapshot import NOT_ASKED, known

from ..cli.command import gpudoctor, save
from ..healthy import healthy
from ..report.samples import HOSTILE
from ..sickness import without_nvml

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def series(data: bytes) -> Series:
    """Every sample by its name and labels, as Prometheus reads them."""
    found = {}
    for family in text_string_to_metric_families(data.decode()):
        assert family.type == "gauge" and family.documentation, family.name
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def test_a_healthy_machine(tmp_path: Path) -> None:
    s = healthy("h100", "h100", container=False)
    done = gpudoctor("healthcheck", "--format", "prometheus", "--from", save(tmp_path, s))
    found = series(done.stdout)
    assert done.returncode == 0 and found["gpudoctor_answered", ()] == 1 and found["gpudoctor_exit_code", ()] == 0
    assert found["gpudoctor_verdict", (("verdict", "pass"),)] == 1 and found["gpudoctor_gpus", ()] == 2
    (gpu, *_) = known(s.gpus) or ()
    labels = {"gpu": "0", "UUID": gpu.uuid, "pci_bus_id": gpu.pci_address, "modelName": gpu.name}
    key = tuple(sorted((name, str(value)) for name, value in labels.items()))
    assert (
        found["gpudoctor_gpu_memory_total_bytes", key] == (known(gpu.memory_total_mib) or 0) * 2**20
        and found["gpudoctor_gpu_failed", key] == 0
    )
    assert found["gpudoctor_check_status", (("check", "no-nvidia-gpu"), ("layer", "hardware"))] == 0
    assert found["gpudoctor_last_check_timestamp_seconds", ()] > 1.7e9


def test_a_sick_gpu_and_hostile_names(tmp_path: Path) -> None:
    s = healthy("h100", "h100", container=False)
    first, second = known(s.gpus) or ()
    sick = replace(second, row_remap_failed=True, name=f'{HOSTILE}"}} 1\n# HELP x')
    done = gpudoctor("healthcheck", "--format", "prometheus", "--from", save(tmp_path, replace(s, gpus=(first, sick))))
    found = series(done.stdout)
    failed = {dict(key[1])["gpu"]: value for key, value in found.items() if key[0] == "gpudoctor_gpu_failed"}
    assert done.returncode == 1 and failed == {"0": 0, "1": 1}
    assert found["gpudoctor_check_status", (("check", "gpu-hardware-ecc-fault"), ("layer", "hardware"))] == 2


def test_what_a_node_problem_detector_takes(tmp_path: Path, on_machine: Callable[..., dict[str, str]]) -> None:
    """0: no problem, 1: a proven one, 2: not known; a line of at most 80 characters."""
    well = healthy(container=False)
    sick = replace(well, gpus=tuple(replace(gpu, row_remap_failed=True) for gpu in known(well.gpus) or ()))
    blind = without_nvml(well).replace({"gpus": NOT_ASKED, "driver.cuda_devices": NOT_ASKED})
    for s, code in ((well, 0), (sick, 1), (blind, 2)):
        done = gpudoctor("healthcheck", "--format", "node-problem-detector", "--from", save(tmp_path, s))
        assert done.returncode == code, done
        assert done.stdout.count(b"\n") == 1 and len(done.stdout) <= 81
    done = gpudoctor("healthcheck", "--format", "node-problem-detector", "--from", "/nonexistent")
    assert done.returncode == 2
    late = gpudoctor(
        "healthcheck", "--format=node-problem-detector", "--timeout", "1", env=on_machine("nvml-hangs-init")
    )
    assert late.returncode in (1, 2) and late.stdout.count(b"\n") == 1


def test_a_check_that_is_cut_off_says_so_in_a_series(on_machine: Callable[..., dict[str, str]]) -> None:
    from doctor.report.prometheus_text import cut_off

    assert series(cut_off("no answer\nwithin 10 s").encode()) == {("gpudoctor_answered", ()): 0}
