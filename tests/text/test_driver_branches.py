"""The distribution changes a driver package's name, never its branch."""

from __future__ import annotations

import re

from doctor.text import read

from ..judging import report
from ..rows import for_each

PACKAGES = {
    "Arch Linux": "nvidia-{}xx-dkms", "Manjaro Linux": "nvidia-{}xx-dkms", "EndeavourOS Linux": "nvidia-{}xx-dkms",
    "Ubuntu 22.04.4 LTS": "nvidia-driver-{}", "Fedora Linux 41": "-{}", "openSUSE Leap 15.6": "-{}",
    "Debian GNU/Linux 12 (bookworm)": "-{}",
}  # fmt: skip
COMPLAINTS = (
    "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.12.1",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "torch 2.4.0+cu121\nRuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
)


def installs(text: str) -> list[str]:
    """The commands of all fixes that install a driver."""
    commands = [x.command for f in report(read(text)).findings for fix in f.fixes for x in fix.steps]
    tools = (" install", "pacman -S", "yay -S")
    return [one for one in commands if re.search("nvidia|cuda-drivers", one) and any(tool in one for tool in tools)]


@for_each("complaint", COMPLAINTS)
@for_each("branch", [("470.256.02", "470"), ("390.157", "390")])
@for_each("system", [name for name in PACKAGES if PACKAGES[name].startswith("nvidia-{}xx")])
def test_a_legacy_driver_on_arch_never_becomes_the_newest(complaint: str, branch: tuple[str, str], system: str) -> None:
    for command in installs(f"OS: {system}\nDriver Version: {branch[0]}\n{complaint}"):
        assert "nvidia-open" not in command and "--needed nvidia " not in command, command


@for_each("system", [*PACKAGES])
def test_the_branch_stays_and_the_package_is_the_distribution_s(system: str) -> None:
    found = installs(f"OS: {system}\nDriver Version: 470.256.02\n{COMPLAINTS[0]}")
    assert any(PACKAGES[system].format("470") in command for command in found), found
    assert not any("nvidia-open" in command for command in found), found
