"""Whole live runs: real child processes, real environments, and torches that misbehave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from doctor.patient.gather import gather
from doctor.probes.collect import Options, collect
from doctor.snapshot import Missing, Snapshot

from .tree import OPEN_DRIVER, Tree, fatbin

VERSION = "__version__ = '2.6.0+cu124'\ncuda = '12.4'\nhip = None\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    return folder


def with_torch(environment: Path, code: str) -> Path:
    """A torch of the test's own in a real environment."""
    site = next((environment / "lib").glob("python3*")) / "site-packages" / "torch"
    site.mkdir(exist_ok=True)
    (site / "__init__.py").write_text(code)
    (site / "version.py").write_text(VERSION)
    return site


def look(environment: Path, **options: Any) -> Snapshot:
    env = {**os.environ, "VIRTUAL_ENV": str(environment), "PYTHONDONTWRITEBYTECODE": "1"}
    return collect(Options(env=env, **options))


def test_torch_that_raises(environment: Path) -> None:
    with_torch(environment, "raise ImportError('libcudnn.so.9: cannot open shared object file')")
    snapshot = look(environment)
    assert snapshot.python.patient.prefix == str(environment)
    assert (snapshot.torch.version, snapshot.torch.build) == ("2.6.0+cu124", "cuda")
    assert (snapshot.torch_run.imported, snapshot.torch_run.import_fault) == (False, "raised")
    assert "libcudnn.so.9" in str(snapshot.torch_run.import_error)


def test_torch_that_kills_its_process(environment: Path) -> None:
    with_torch(environment, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert look(environment).torch_run.import_fault == "crash"


def test_torch_that_never_comes_back(environment: Path) -> None:
    with_torch(environment, "import time\nprint('noise')\nwhile True: time.sleep(60)")
    snapshot = look(environment, import_deadline_s=1.0)
    assert snapshot.torch_run.import_fault == "hang"
    assert snapshot.torch.version == "2.6.0+cu124"
    assert not isinstance(snapshot.host.kernel, Missing)


def test_torch_in_the_working_directory_is_named_and_not_run(environment: Path, tmp_path: Path) -> None:
    with_torch(environment, "raise ImportError('from the environment')")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('from the working directory')")
    previous = os.getcwd()
    os.chdir(tmp_path)
    try:
        snapshot = look(environment)
    finally:
        os.chdir(previous)
    assert "from the environment" in str(snapshot.torch_run.import_error)
    assert snapshot.python.hidden_by == (str(tmp_path / "torch" / "__init__.py"),)


def test_left_out_by_the_caller_is_not_asked(environment: Path) -> None:
    with_torch(environment, "raise ImportError('x')")
    snapshot = look(environment, import_torch=False, ask_driver=False)
    assert snapshot.torch_run.imported == Missing("not-asked")
    assert snapshot.driver.cu_init == Missing("not-asked") and snapshot.gpus == Missing("not-asked")


def test_environment_without_torch_is_not_asked_to_import_it(tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False)
    assert look(tmp_path).torch_run.imported == Missing("absent", "torch is not installed")


def test_environment_without_an_interpreter(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("version = 3.11.1\n")
    site = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("")
    (site / "version.py").write_text(VERSION)
    snapshot = look(tmp_path)
    assert snapshot.torch.version == "2.6.0+cu124"
    assert snapshot.torch_run.imported == Missing("absent", "the environment has no interpreter")


def test_progress_is_told() -> None:
    words: list[str] = []
    collect(Options(import_torch=False), words.append)
    assert words[0] == "files" and "driver" in words


def test_gatherer_needs_the_standard_library_alone(tree: Tree) -> None:
    site = "/venv/lib/python3.11/site-packages"
    tree.kernel().python("/venv", cfg="version = 3.11.9\n").torch(site).file("/proc/driver/nvidia/version", OPEN_DRIVER)
    tree.file(f"{site}/torch/lib/libtorch_cuda.so", fatbin("padded"))
    repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    child = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from doctor.patient.gather import gather; from doctor.probes import tools\n"
        "gather(lambda line: print(json.dumps(line)), sys.argv[2], {'PATH': '/venv/bin'}, tools, {})\n"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('msgspec', 'click', 'rich', 'packaging', 'pynvml')]\n"
        "assert not bad, bad"
    )
    command = [sys.executable, "-I", "-S", "-c", child, repository, str(tree.root)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    from doctor.probes import tools

    lines: list[dict[str, Any]] = []
    gather(lines.append, str(tree.root), {"PATH": "/venv/bin"}, tools, {})
    assert [json.loads(line) for line in run.stdout.splitlines()] == lines
    assert {"file", "code", "elf", "python", "end"} <= {line["at"] for line in lines}
