"""Where the text says 'exactly', the command names the version; where the part cannot be here, only the host's step."""

from __future__ import annotations

import shlex

from doctor.fixes.driver import pinned, start_fabric_manager
from doctor.snapshot import Missing

from ..healthy import healthy
from ..judging import run
from ..rows import for_each
from ..sickness import cuda_says

VERSION = "570.211.01"
LINES = {
    "ubuntu": "sudo apt-get install -y 'nvidia-fabricmanager-570=570.211.01-*'",
    "debian": "sudo apt-get install -y 'nvidia-fabricmanager-570=570.211.01-*'",
    "rocky": "sudo dnf install -y 'nvidia-fabric*manager-570.211.01'",
    "fedora": "sudo dnf install -y 'nvidia-fabric*manager-570.211.01'",
    "sles": "sudo zypper install -y nvidia-fabricmanager-570=570.211.01",
    "opensuse-leap": "sudo zypper install -y nvidia-fabricmanager-570=570.211.01",
    "gentoo": "",
}


@for_each("system", sorted(LINES))
def test_the_fabric_manager_of_the_drivers_version(system: str) -> None:
    s = healthy("h100").replace({"host.os_id": system, "host.user_is_root": False})
    first, second = start_fabric_manager(s, VERSION)[0].steps
    assert first.command == LINES[system] and VERSION in first.text
    assert second.command == "sudo systemctl enable --now nvidia-fabricmanager"


def test_an_old_red_hat_has_yum() -> None:
    s = healthy("h100").replace({"host.os_id": "rhel", "host.os_version": "7.9", "host.user_is_root": True})
    assert pinned(s, "package", "1.2").startswith("yum install")


@for_each("version", ["570.211.01'; reboot #", "$(reboot)", "a b"])
def test_a_version_is_one_word_of_the_shell(version: str) -> None:
    for system in ("ubuntu", "rocky", "sles"):
        s = healthy("h100").replace({"host.os_id": system, "host.user_is_root": True})
        words = shlex.split(pinned(s, "package", version))
        assert len(words) == 4 and version in words[3], words


def test_no_switch_in_a_virtual_machine_leaves_only_the_hosts_step() -> None:
    for kind, here in (("none", True), ("kvm", False), (Missing("absent"), True)):
        sick = cuda_says(healthy("h100"), 802).replace({"host.virtualization": kind})
        fixes = run("fabric-manager-not-running", sick)[2][0].fixes
        commands = [step.command for fix in fixes for step in fix.steps if step.command]
        assert any("fabric" in line for line in commands) is here, kind
        assert here or [fix.id for fix in fixes] == ["choose-another-host"]
