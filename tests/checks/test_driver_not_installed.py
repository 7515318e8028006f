"""driver-not-installed: a card on the bus, no module, no libraries."""

from __future__ import annotations

import re

from doctor.snapshot import NOT_ASKED, Missing

from ..healthy import healthy
from ..judging import assert_fix_works, ids, report, run
from ..rows import for_each
from ..sickness import bound_to, gvisor, not_installed, not_loaded
from .test_no_nvidia_gpu import without_gpu


def test_healthy_machine_passes() -> None:
    assert run("driver-not-installed", healthy())[0] == "pass"


@for_each("container", [False, True])
def test_no_driver_comes_first_and_can_be_mended(container: bool) -> None:
    sick = not_installed(healthy(container=container))
    assert ids(sick, status="fail")[0] == "driver-not-installed"
    finding = run("driver-not-installed", sick)[2][0]
    assert finding.fixes[0].possible_here
    assert_fix_works(sick, finding)


@for_each(
    ("system", "word"),
    [("ubuntu", "ubuntu-drivers"), ("debian", "apt-get"), ("rocky", "dnf"), ("fedora", "dnf"), ("arch", "pacman")],
)
def test_the_command_is_the_distributions(system: str, word: str) -> None:
    finding = run("driver-not-installed", not_installed(healthy()).replace({"host.os_id": system}))[2][0]
    steps = finding.fixes[0].steps
    assert word in steps[0].command and steps[0].needs_root
    assert "reboot" in steps[-1].command


def test_in_a_container_the_host_is_meant_and_nothing_is_installed_inside() -> None:
    finding = run("driver-not-installed", not_installed(healthy(container=True)))[2][0]
    assert "host" in finding.title.lower()
    assert all(not step.possible_here for fix in finding.fixes for step in fix.steps if step.where == "host")


def test_where_a_provider_is_known_its_filter_is_named() -> None:
    sick = not_installed(healthy(container=True)).replace({"host.provider": "runpod"})
    assert "RunPod" in run("driver-not-installed", sick)[2][0].fixes[0].steps[0].text


def test_unknown_without_the_deciding_facts() -> None:
    sick = not_installed(healthy())
    assert run("driver-not-installed", sick.replace({"driver.pci_devices": Missing("denied")}))[0] == "unknown"
    assert run("driver-not-installed", sick.replace({"driver.libcuda_path": NOT_ASKED}))[0] == "unknown"
    assert run("driver-not-installed", gvisor(healthy()))[0] == "unknown"


def test_other_causes_are_not_this_one() -> None:
    for sick in (without_gpu(healthy()), not_loaded(healthy())):
        assert "driver-not-installed" not in ids(sick)


def test_no_fix_installs_a_branch_that_has_dropped_the_gpu() -> None:
    """580 is the last branch for Maxwell, Pascal and Volta, and only its proprietary module drives them."""
    wanted = {
        "rocky": "nvidia-driver:580-dkms", "fedora": "cuda-drivers-580", "arch": "nvidia-580xx-dkms",
        "opensuse-leap": "cuda-drivers-580", "debian": "cuda-drivers-580", "ubuntu": "nvidia-driver-580",
    }  # fmt: skip
    wrong = []
    for model in ("v100", "gtx1080", "h100"):
        for system, package in wanted.items():
            s = healthy(model).replace({"host.os_id": system})
            unbuilt = not_loaded(s).replace({"driver.module_built": False})
            for sick in (not_installed(s), not_loaded(s), bound_to(not_installed(s), "nouveau"), unbuilt):
                fixes = [fix for finding in report(sick).findings for fix in finding.fixes]
                lines = [
                    step.command for fix in fixes for step in fix.steps if re.search(r"nvidia-|cuda-dri", step.command)
                ]
                lines = [line for line in lines if "install " in line or " -S" in line]
                old = [line for line in lines if package in line and "open" not in line]
                if len(old) != (len(lines) if model != "h100" else 0) or not (lines or model == "h100"):
                    wrong.append((model, system, lines))
    assert wrong == []
