"""Strange files, rights that are missing, gatherers that hang or fail, recordings by strangers: always a Snapshot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from doctor.probes.collect import Options, collect, snapshot_of
from doctor.snapshot import Missing
from doctor.targets.agent import AgentResult
from doctor.targets.local import Gathering
from doctor.targets.recording import Recording, RecordingError, read_recording

from ..drawn import drawn
from ..rows import for_each
from .tree import OPEN_DRIVER, Tree, fatbin

SITE = "/venv/lib/python3.11/site-packages"


def test_pipes_named_like_files_hang_nobody(tree: Tree) -> None:
    tree.kernel().python("/venv", cfg="version = 3.11.1\n").torch(SITE)
    for path in (
        "/proc/meminfo",
        "/etc/os-release",
        f"{SITE}/torch/version.py",
        f"{SITE}/torch/lib/libtorch_cuda.so",
        "/etc/ld.so.cache",
        f"{SITE}/x.pth",
    ):
        place = tree.root / path.lstrip("/")
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place)
    snapshot = tree.look({}, python="/venv", deadline_s=60.0)
    assert isinstance(snapshot.host.memory_total_mib, Missing) and snapshot.host.memory_total_mib.reason == "error"
    assert snapshot.torch.version == "2.6.0+cu124", "the distribution's name still tells it"
    assert isinstance(snapshot.torch.sass, Missing) and snapshot.torch.sass.reason == "error"


def test_names_that_are_not_utf8(tree: Tree) -> None:
    tree.kernel().python("/venv", cfg="version = 3.11.1\n").distribution(SITE, "numpy", "1")
    os.mkdir(os.fsencode(tree.root) + SITE.encode() + b"/caf\xe9-1.0.dist-info")
    os.symlink(b"/caf\xe9", os.fsencode(tree.root) + b"/usr-link")
    snapshot = tree.look(
        {"LD_LIBRARY_PATH": os.fsdecode(b"/opt/\xff"), "CUDA_HOME": os.fsdecode(b"/\xfe")}, python="/venv"
    )
    assert encode(snapshot)
    assert not isinstance(snapshot.python.distributions, Missing)
    assert len(snapshot.python.distributions) == 2


def test_folders_where_files_should_be_and_files_where_folders_should_be(tree: Tree) -> None:
    tree.kernel().folder("/etc/os-release").folder("/etc/ld.so.cache").file("/sys/class/dmi/id", "x").file(
        "/usr/local", "x"
    )
    tree.python("/venv", cfg="version = 3.11.1\n").folder(f"{SITE}/torch/version.py").file(f"{SITE}/torch/__init__.py")
    tree.folder(f"{SITE}/torch/lib/libtorch_cuda.so").file(f"{SITE}/torch-1.dist-info", "x").file(f"{SITE}/nvidia", "x")
    snapshot = tree.look({}, python="/venv")
    assert isinstance(snapshot.host.os_id, Missing)
    assert isinstance(snapshot.torch.sass, Missing)


def test_endless_links(tree: Tree) -> None:
    tree.kernel().link("/etc/os-release", "os-release").link("/usr/local/cuda-12.0", "/usr/local/cuda-12.0").link(
        "/lib", "/lib"
    )
    tree.link("/venv", "/venv").python("/usr")
    snapshot = tree.look({"VIRTUAL_ENV": "/venv", "PATH": "/usr/bin"})
    assert snapshot.python.patient.prefix == "/usr"


def test_damaged_loader_cache_leaves_the_default_folders(tree: Tree) -> None:
    tree.file("/etc/ld.so.cache", b"glibc-ld.so.cache1.1" + b"\xff" * 40)
    tree.file("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "x")
    assert tree.look({}).driver.libcuda_path == "/usr/lib/x86_64-linux-gnu/libcuda.so.1"


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can only be tried as root")
def test_without_rights_it_is_denied_and_not_absent() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        _as_nobody(Tree(Path(folder)))


def _as_nobody(tree: Tree) -> None:
    tree.kernel().python("/venv", cfg="version = 3.11.1\n").torch(SITE).file("/proc/driver/nvidia/version", OPEN_DRIVER)
    tree.file("/sys/module/nvidia/version", "570.86.10\n").file("/dev/nvidia0").file(
        f"{SITE}/torch/lib/libtorch_cuda.so", "x"
    )
    for path in (
        "proc/driver/nvidia/version",
        "sys/module/nvidia/version",
        "dev/nvidia0",
        f"{SITE[1:]}/torch/lib/libtorch_cuda.so",
    ):
        os.chmod(tree.root / path, 0)
    child = (
        "import os, sys; from doctor.probes.collect import Options, collect; from msgspec.json import encode\n"
        "look = lambda: encode(collect(Options(root=sys.argv[1], env={}, python='/venv'))).decode()\n"
        "look(); os.setgid(65534); os.setuid(65534)\n"  # the first look imports all there is to import
        "print(look())"
    )
    run = subprocess.run([sys.executable, "-c", child, str(tree.root)], capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    assert told["driver"]["kernel_version"]["missing"] == "denied"
    assert told["torch"]["sass"]["missing"] == "error" and "Permission" in told["torch"]["sass"]["detail"]
    assert told["driver"]["device_nodes"][0]["readable"] is False


def test_what_came_before_a_hang_is_kept() -> None:
    never, came = threading.Event(), threading.Event()

    def work(emit: Any) -> None:
        emit({"at": "file", "path": "/proc/version", "text": "Linux version 6.1 x\n"})
        never.wait()
        emit({"at": "end"})

    gathering = Gathering(work, 0.05, lambda line: came.set())
    assert came.wait(60), "the deadline counts from the start: on a busy machine it is over before the first line"
    snapshot = snapshot_of(Recording(gathering.wait()))
    never.set()
    assert snapshot.host.wsl == 0
    assert isinstance(snapshot.torch.version, Missing) and snapshot.torch.version.reason == "timeout"
    assert isinstance(snapshot.host.os_name, Missing) and snapshot.host.os_name.reason == "timeout"
    assert isinstance(snapshot.driver.pci_devices, Missing) and snapshot.driver.pci_devices.reason == "timeout"


def test_a_hang_before_the_first_line_is_no_question_that_nobody_asked() -> None:
    snapshot = snapshot_of(Recording([]))
    assert isinstance(snapshot.host.wsl, Missing) and snapshot.host.wsl.reason == "timeout"
    assert isinstance(snapshot.torch.version, Missing) and snapshot.torch.version.reason == "timeout"


@pytest.mark.slow
def test_files_on_a_slow_disk_are_waited_for_and_those_on_a_dead_one_are_not() -> None:
    """In a Python of their own: only without threads is the gatherer forked, and looked at."""
    child = (
        "import json, sys, time; from doctor.targets.local import Gathering\n"
        "def work(emit):\n"
        "    emit({'at': 'file'}); end = time.monotonic() + 1.5\n"
        "    while time.monotonic() < end:\n"
        "        open('/proc/self/stat').read() if sys.argv[1] == 'slow' else None; time.sleep(0.02)\n"
        "    emit({'at': 'end'})\n"
        "print(json.dumps(Gathering(work, 0.3, patience_s=float(sys.argv[2])).wait()))"
    )
    for kind, patience, ends in (("slow", 60, True), ("dead", 60, False), ("slow", 0, False)):
        command = [sys.executable, "-c", child, kind, str(patience)]
        lines = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert lines[0] == {"at": "file"} and ({"at": "end"} in lines) == ends, (kind, patience, lines)


def test_a_gatherer_that_fails_is_told_in_one_line() -> None:
    def work(emit: Any) -> None:
        emit({"at": "file", "path": "/proc/version", "text": "Linux version 6.1 x\n"})
        raise RuntimeError("no such thing")

    snapshot = snapshot_of(Recording(Gathering(work, 10).wait()))
    assert snapshot.host.wsl == 0
    assert snapshot.host.os_name == Missing("error", "reading the files failed: RuntimeError: no such thing")


def test_working_directory_that_was_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    child = (
        "import os, sys; os.rmdir(os.getcwd()); from doctor.probes.collect import Options, collect\n"
        "print(collect(Options(import_torch=False, ask_driver=False)).host.kernel)"
    )
    repository = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    env = {**os.environ, "PYTHONPATH": repository}
    run = subprocess.run([sys.executable, "-c", child], cwd=gone, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == os.uname().release


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("path", "text", "names", "total", "real", "values", "sections", "targets", "patterns", "found", "role", "prefix",
        "site_packages", "modalias", "by", "name", "size", "entries", "needed", "reason", "line", "base64", "note", "cfg",
        "package", "kind", "release", "free_mib", "stdlib", "torch", "parts")  # fmt: skip
KINDS = ("file", "missing", "dir", "link", "exists", "match", "data", "env", "process", "statvfs", "pci", "node", "nodes",
         "loader", "ldcache", "library", "compat", "toolkit", "nvcc", "python", "others", "torch", "elf", "needs", "code",
         "archs", "scanned", "end", "failed")  # fmt: skip
PATHS = ("/proc/version", "/etc/os-release", "/proc/cpuinfo", "/sys/bus/pci/devices", "/s", "/s/torch", "/dev",
         "/s/torch/version.py", "/s/torch/lib/libtorch_cuda.so", "/proc/self/cgroup", "/sys/fs/cgroup/cpu.max")  # fmt: skip
LINES = st.lists(
    st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(PATHS), max_size=6).flatmap(
        lambda line: st.sampled_from(KINDS).map(lambda at: {**line, "at": at})
    ),
    max_size=12,
)


@pytest.mark.slow
@drawn(300)
@given(LINES)
def test_any_lines_give_a_snapshot(lines: list[dict[str, Any]]) -> None:
    assert encode(snapshot_of(Recording(lines, {}, {})))


@drawn(100)
@given(st.data())
def test_damage_anywhere_in_a_real_gathering_gives_a_snapshot(data: st.DataObject) -> None:
    lines = json.loads(json.dumps(GATHERED))
    for _ in range(data.draw(st.integers(1, 5))):
        line = lines[data.draw(st.integers(0, len(lines) - 1))]
        _damage(line, data)
    assert encode(snapshot_of(Recording(lines, {}, {})))


def _damage(node: Any, data: st.DataObject) -> None:
    keys = list(range(len(node))) if isinstance(node, list) else list(node)
    if not keys:
        return
    key = data.draw(st.sampled_from(keys))
    if isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
        _damage(node[key], data)
    else:
        node[key] = data.draw(JSON)


def _gathered() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder)).kernel().python("/venv", cfg="version = 3.11.1\n")
        tree.torch(SITE).file(f"{SITE}/torch/lib/libtorch_cuda.so", fatbin("special_kernels"))
        tree.file("/proc/driver/nvidia/version", OPEN_DRIVER).pci("0000:65:00.0", "10DE", "2330").file("/dev/nvidia0")
        tree.file("/usr/local/cuda-12.4/version.json", "{}").folder("/usr/local/cuda-12.4/lib64")
        tree.file("/usr/local/cuda-12.4/compat/libcuda.so.1", "x").file("/opt/l/libcudnn.so.9", "x")
        tree.file(f"{SITE}/bitsandbytes/libbitsandbytes_cuda124.so", fatbin("variants"))
        files = tree.gather({"LD_LIBRARY_PATH": "/opt/l", "CUDA_HOME": "/usr/local/cuda-12.4"}, python="/venv").files
    assert files is not None
    return files


GATHERED = _gathered()


@for_each(
    ("name", "content"),
    [
        (None, b""),
        ("manifest.json", b""),
        ("manifest.json", b"[1]"),
        ("manifest.json", b"{}"),
        ("manifest.json", b'{"schema_version": 99}'),
        ("manifest.json", b'{"schema_version": true}'),
        ("files.jsonl", b'{"at": "file"'),
        ("files.jsonl", b"[]\n"),
        ("files.jsonl", b"\xff\xfe\n"),
        ("nvml.jsonl", b"[" * 100000),
    ],
)
def test_a_folder_that_is_no_recording_is_one_line(tmp_path: Path, name: str | None, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(b'{"schema_version": 1}')
    if name is None:
        (tmp_path / "manifest.json").unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordingError) as caught:
        read_recording(str(tmp_path))
    assert len(str(caught.value).splitlines()) == 1


def test_agents_that_all_died_leave_their_reason(tree: Tree) -> None:
    tree.kernel().file("/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "x")
    tree.link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.535.183.01")
    recording = tree.gather({})
    recording.agents = {
        "cuda_driver": AgentResult([{"begin": "cuInit"}], -6, "crash", "cuInit"),
        "nvml": AgentResult([{"begin": "nvmlInit_v2"}], -9, "hang", "nvmlInit_v2", seconds=10.0),
    }
    driver = snapshot_of(recording).driver
    assert driver.libcuda_path == "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "the files had told it"
    assert isinstance(driver.cu_init, Missing) and isinstance(driver.nvml_init, Missing)
    assert {(f.library, f.call, f.fault) for f in driver.faults} == {
        ("cuda", "cuInit", "crash"),
        ("nvml", "nvmlInit_v2", "hang"),
    }
    assert collect(Options(root=str(tree.root))).driver.faults == ()
