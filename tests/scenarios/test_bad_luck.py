"""The real command on this machine with drivers, torches and files that misbehave: a report in time, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Machine
from tests.fakes.fixtures import fakes  # noqa: F401 (a fixture)

from ..rows import Faults, share
from .torch_build import Workshop, install

SHORT = ("--timeout", "2")
GUARD_S = 90
"""A run that takes so long has hung: deadlines in it are 2 s, and 6 s for torch's import."""


@dataclass
class Trouble:
    """One thing that goes wrong. `driver`: changes of a healthy H100's scenario; `torch`: text of torch/__init__.py."""

    driver: dict[str, str] | None = None
    torch: str | None = None
    harm: Callable[[Path], None] | None = None
    """Damages the installed torch, given its site-packages."""
    flags: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    """Words of a command that runs the rest."""
    code: int | None = None
    """Exit code; None where it depends on this machine."""
    first: str = ""
    among: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    """Fact -> reason."""
    facts: dict[str, Any] = field(default_factory=dict)


HANGS = {"code": 1, "first": "driver-not-answering", "flags": ("--no-import", *SHORT)}
IMPORT = {"flags": ("--expect", "any"), "code": 1, "among": "torch-import-broken"}
SOUND = {"flags": ("--expect", "any")}
_CHILD = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"


def _truncated(site: Path) -> None:
    library = site / "torch" / "lib" / "libtorch_cuda.so"
    library.write_bytes(library.read_bytes()[:1000])


def _metadata(data: bytes) -> Callable[[Path], None]:
    def harm(site: Path) -> None:
        for path in site.glob("*.dist-info/METADATA"):
            path.write_bytes(data)

    return harm


def _replaced(name: str, target: str) -> Callable[[Path], None]:
    """A file that cannot be read, whoever asks: a link to memory that is not mapped, a folder, an endless link."""

    def harm(site: Path) -> None:
        path = next(site.glob(name))
        path.unlink()
        if target == "folder":
            path.mkdir()
        elif target == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(target)

    return harm


TROUBLES: dict[str, Trouble] = {
    "nvml-hangs-in-init": Trouble({"fail.nvmlInit": "hang"}, missing={"driver.nvml_init": "timeout"}, **HANGS),
    "nvml-hangs-in-a-field": Trouble(
        {"fail.nvmlDeviceGetPowerUsage": "hang"}, missing={"gpus.0.power_draw_w": "timeout"}, **HANGS,
        facts={"gpus.0.name": "NVIDIA H100 80GB HBM3", "driver.nvml_driver_version": "580.82.07"},
    ),
    "nvml-crashes": Trouble({"fail.nvmlDeviceGetPowerUsage": "crash"}, missing={"gpus.0.power_draw_w": "error"}, **HANGS),
    "nvml-crashes-in-init": Trouble({"fail.nvmlInit": "crash"}, missing={"driver.nvml_init": "error"}, **HANGS),
    "nvml-ends-the-process": Trouble({"fail.nvmlInit": "exit"}, missing={"driver.nvml_init": "error"}, **HANGS),
    "cuinit-hangs": Trouble(
        {"fail.cuInit": "hang"}, missing={"driver.cu_init": "timeout"}, **HANGS, facts={"driver.cuda_version": "13.0"}
    ),
    "cuinit-aborts": Trouble({"fail.cuInit": "abort"}, missing={"driver.cu_init": "error"}, **HANGS),
    "both-hang": Trouble(  # where the PCI list has no NVIDIA device that comes first
        {"fail.cuInit": "hang", "fail.nvmlInit": "hang"}, **{**HANGS, "first": ""}, among="driver-not-answering",
        missing={"driver.cu_init": "timeout", "driver.nvml_init": "timeout"},
    ),
    "both-hang-where-no-gpu-is-expected": Trouble(
        {"fail.cuInit": "hang", "fail.nvmlInit": "hang"}, flags=("--no-import", "--expect", "any", *SHORT), code=1,
        first="driver-not-answering",
    ),
    "cuda-crashes-where-no-gpu-is-expected": Trouble(
        {"fail.cuInit": "crash"}, flags=("--no-import", "--expect", "any", *SHORT), code=1, first="driver-not-answering"
    ),
    "torch-raises": Trouble(
        torch="raise ImportError('libcudnn.so.9: cannot open shared object file')", **IMPORT,
        facts={"torch_run.import_fault": "raised"},
    ),
    "torch-segfaults": Trouble(
        torch="import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", **IMPORT,
        facts={"torch_run.import_fault": "crash", "torch.cuda": "12.8"},
    ),
    "torch-ends-the-process": Trouble(torch="import os; os._exit(3)", **IMPORT, facts={"torch_run.import_fault": "crash"}),
    "torch-exits-politely": Trouble(torch="raise SystemExit(0)", **IMPORT, facts={"torch_run.import_fault": "raised"}),
    "torch-never-returns": Trouble(
        torch="import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(60)",
        **{**IMPORT, "flags": ("--expect", "any", *SHORT)}, facts={"torch_run.import_fault": "hang"},
    ),
    "torch-leaves-a-child": Trouble(torch=_CHILD + "raise ImportError('x')", **IMPORT),
    "torch-recurses": Trouble(torch="def f(): f()\nf()", **IMPORT),
    "torch-is-no-python": Trouble(torch="this is not Python\n", **IMPORT),
    "torch-is-something-else": Trouble(torch="__version__ = '0'\n", **SOUND, facts={"torch_run.imported": True}),
    "torch-makes-noise": Trouble(
        torch="import sys\nprint('{\"field\": \"version\"}' * 1000)\nsys.stdout.flush()\n"
        "import os; os.write(1, b'\\xff\\xfe noise\\n'); os.write(2, b'noise' * 100000)\nraise ImportError('at last')",
        **IMPORT, facts={"torch_run.import_error": "ImportError: at last"},
    ),
    "truncated-libtorch-cuda": Trouble(
        harm=_truncated, flags=("--expect", "any", "--no-import"), missing={"torch.sass": "error"},
        facts={"torch.cuda": "12.8"},
    ),
    "empty-libtorch-cuda": Trouble(
        harm=lambda site: (site / "torch/lib/libtorch_cuda.so").write_bytes(b"") and None, **SOUND,
        missing={"torch.sass": "error"},
    ),
    "metadata-is-noise": Trouble(harm=_metadata(bytes(range(256)) * 50), **SOUND, facts={"torch.version": "2.9.1+cu128"}),
    "metadata-is-empty": Trouble(harm=_metadata(b""), **SOUND, facts={"torch.version": "2.9.1+cu128"}),
    "metadata-of-one-endless-line": Trouble(harm=_metadata(b"Requires-Dist: " + b"x" * 1_000_000), **SOUND),
    "metadata-unreadable": Trouble(
        harm=_replaced("torch-*.dist-info/METADATA", "/proc/self/mem"), **SOUND, facts={"torch.version": "2.9.1+cu128"}
    ),
    "metadata-is-a-folder": Trouble(harm=_replaced("torch-*.dist-info/METADATA", "folder"), **SOUND),
    "version-file-is-a-pipe": Trouble(
        harm=_replaced("torch/version.py", "pipe"), flags=("--expect", "any", "--no-import"), missing={"torch.cuda": "error"}
    ),
    "version-file-is-an-endless-link": Trouble(
        harm=_replaced("torch/version.py", "version.py"), **SOUND, missing={"torch.cuda": "error"}
    ),
    "library-unreadable": Trouble(
        harm=_replaced("torch/lib/libtorch_cuda.so", "/proc/self/mem"), **SOUND, missing={"torch.sass": "error"}
    ),
    "home-cannot-be-written": Trouble(env={"HOME": "/proc", "XDG_CACHE_HOME": "/proc", "TMPDIR": "/proc"}, **SOUND),
    "home-is-no-folder": Trouble(env={"HOME": "/dev/null"}, **SOUND),
    "environment-is-not-utf8": Trouble(env={"LD_LIBRARY_PATH": os.fsdecode(b"/opt/\xff\xfe"), "LC_ALL": "C"}, **SOUND),
    "no-network": Trouble(before=("unshare", "-n"), **SOUND),
}  # fmt: skip

Ran = tuple[dict[str, Any], subprocess.CompletedProcess[str]]


def _run(trouble: Trouble, folder: Path, fakes: Path, workshop: Workshop) -> Ran:  # noqa: F811
    prefix = folder / "venv"
    venv.create(prefix, with_pip=False, symlinks=True)
    site = next((prefix / "lib").glob("python3*")) / "site-packages"
    install(site, "2.9.1+cu128", workshop, {}, {})
    if trouble.torch is not None:
        (site / "torch" / "__init__.py").write_text(trouble.torch)
    if trouble.harm is not None:
        trouble.harm(site)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "NVIDIA_", "LD_", "PYTHON"))}
    if trouble.driver is not None:
        env = Machine.load("healthy-h100").with_(**trouble.driver).environment(fakes, folder / "driver")
    env.update(trouble.env, PYTHONDONTWRITEBYTECODE="1")
    command = [*trouble.before, sys.executable, "-m", "doctor", "check", "--format", "json", "--python", str(prefix)]
    run = subprocess.run(
        [*command, *trouble.flags], env=env, capture_output=True, text=True, timeout=GUARD_S, check=False, cwd=folder
    )
    return (json.loads(run.stdout) if run.stdout else {}), run


def _fact(report: dict[str, Any], path: str) -> Any:
    value: Any = report["snapshot"]
    for name in path.split("."):
        value = value[int(name)] if name.isdigit() else value[name]
    return value


PARTS = 12
"""The first part is quick."""
NAMES = [name for name in TROUBLES if name != "no-network"]


def side_by_side(names: list[str], folder: Path, fakes: Path) -> dict[str, Ran]:  # noqa: F811
    """These troubles, four at a time: most of the time they wait for deadlines."""
    workshop = Workshop(folder / "workshop")
    with ThreadPoolExecutor(4) as pool:
        done = pool.map(lambda name: _run(TROUBLES[name], folder / name, fakes, workshop), names)
        return dict(zip(names, done, strict=True))


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_there_is_a_report(part: int, tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    ran = side_by_side(share(NAMES, part, PARTS), tmp_path, fakes)
    with Faults() as faults:
        for name, (report, run) in ran.items():
            with faults.of(name):
                there_is_a_report(name, report, run)


def test_there_is_a_report_without_a_network(tmp_path: Path, fakes: Path) -> None:  # noqa: F811
    ((report, run),) = side_by_side(["no-network"], tmp_path, fakes).values()
    if "unshare" in run.stderr:
        pytest.skip("this user may not make a network namespace")
    there_is_a_report("no-network", report, run)


def there_is_a_report(name: str, report: dict[str, Any], run: subprocess.CompletedProcess[str]) -> None:
    trouble = TROUBLES[name]
    assert report, run.stderr
    assert run.stderr == "", "nothing but the report"
    assert run.returncode == report["exit_code"]
    ids = [finding["id"] for finding in report["findings"]]
    assert trouble.code in (None, run.returncode), ids
    assert not trouble.first or ids[0] == trouble.first, ids
    assert not trouble.among or trouble.among in ids
    assert {path: _fact(report, path)["missing"] for path in trouble.missing} == trouble.missing
    assert {path: _fact(report, path) for path in trouble.facts} == trouble.facts
    assert not [row for row in report["checks"] if "itself failed" in row["reason"]]
