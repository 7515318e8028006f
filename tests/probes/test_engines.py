"""Container engines on the host: their sockets, the toolkit's files, CDI specifications, and what is judged of them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doctor.patient.gather_engines import ask, sockets
from doctor.probes.engines import parse_engines
from doctor.probes.raw import Raw
from doctor.snapshot import CdiSpec, Engine, Engines, Missing, Snapshot, known

from ..healthy import healthy
from ..images.engines import dockerd, podman_service
from ..judging import report, run
from .tree import OPEN_DRIVER, Tree

# As Docker 28 answers it, put together from its API's documentation (v1.50): ours here is older.
INFO = {
    "ID": "7TRN:IPZB", "Name": "node-17.example", "ServerVersion": "28.3.2", "CgroupDriver": "systemd", "CgroupVersion": "2",
    "DefaultRuntime": "runc", "Runtimes": {"runc": {"path": "runc"}, "io.containerd.runc.v2": {"path": "runc"}},
    "HttpProxy": "http://alice:secret@proxy.example:3128", "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
    "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
    "DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}, {"Source": "cdi", "ID": "nvidia.com/gpu=all"}],
}  # fmt: skip
SPEC = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- name: all
  containerEdits: {}
containerEdits:
  mounts:
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
"""
HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"


@contextmanager
def engine(path: Path, answer: bytes | None) -> Iterator[str]:
    """A socket whose every caller gets these bytes, or (None) nothing at all."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen()
        kept = []

        def serve() -> None:
            while True:
                try:
                    caller, _ = door.accept()
                except OSError:
                    return
                if answer is None:
                    kept.append(caller)
                    continue
                with caller:
                    caller.recv(4096)
                    caller.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield str(path)
        door.shutdown(socket.SHUT_RDWR)


def parsed(*lines: dict[str, Any]) -> Engines:
    return parse_engines(Raw([*lines, {"at": "engines", "hook": True, "char_links": False}]))


def test_a_newer_engine_tells_its_devices_and_no_secret(tmp_path: Path) -> None:
    with engine(tmp_path / "docker.sock", HEAD + json.dumps(INFO).encode()) as path:
        line = ask("docker", path)
    assert line is not None
    assert not any(word in json.dumps(line) for word in ("alice", "node-17", "7TRN"))
    (found,) = known(parsed(line).engines) or ()
    assert found == Engine(
        kind="docker", socket=path, version="28.3.2", runtimes=("io.containerd.runc.v2", "runc"), default_runtime="runc",
        cgroup_driver="systemd", rootless=False, userns=False, cdi_devices=("nvidia.com/gpu=0", "nvidia.com/gpu=all"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(None, "timeout"), (b"", "error"), (b"HTTP/1.0 500 no\r\n\r\n{}", "error"), (HEAD + b"[1", "error"), (HEAD + b"[]", "error")],
)  # fmt: skip
def test_an_engine_that_is_no_engine_costs_its_line(tmp_path: Path, answer: bytes | None, reason: str) -> None:
    with engine(tmp_path / "docker.sock", answer) as path:
        line = ask("docker", path)
    assert line is not None
    (found,) = known(parsed(line).engines) or ()
    assert isinstance(found.version, Missing) and found.version.reason == reason


def test_a_socket_that_nobody_listens_on_any_more_and_none_at_all(tmp_path: Path) -> None:
    with engine(tmp_path / "gone.sock", b"") as path:
        pass
    line = ask("podman", path)
    assert line is not None and line["reason"] == "error"
    assert ask("podman", str(tmp_path / "no.sock")) is None
    found = sockets({"DOCKER_HOST": "unix:///x/docker.sock", "XDG_RUNTIME_DIR": "/run/user/1000"})
    assert found[0] == ("docker", "/x/docker.sock") and ("podman", "/run/user/1000/podman/podman.sock") in found
    assert all(path.endswith(".sock") for _, path in sockets({"DOCKER_HOST": "tcp://192.0.2.1:2375"}))


def test_the_toolkit_and_its_specifications_on_disk(tree: Tree) -> None:
    tree.kernel().file("/proc/driver/nvidia/version", OPEN_DRIVER)
    tree.file("/usr/bin/nvidia-container-runtime-hook", "\x7fELF").file("/etc/cdi/nvidia.yaml", SPEC)
    tree.file("/etc/cdi/other.json", '{"cdiVersion": "0.6.0", "kind": "vendor.com/net", "devices": [{"name": "a"}]}')
    tree.file(
        "/etc/nvidia-container-runtime/config.toml", "[nvidia-container-cli]\n#no-cgroups = true\nno-cgroups = false\n"
    )
    status = "Package: nvidia-container-toolkit-base\nVersion: 9\n\nPackage: nvidia-container-toolkit\nStatus: install ok installed\n"
    tree.file("/var/lib/dpkg/status", f"Package: bash\nVersion: 5\n\n{status}Version: 1.17.8-1\n")
    found = tree.look().engines
    assert found == Engines(
        engines=(), hook=True, toolkit_version="1.17.8-1", no_cgroups=False, char_links=False,
        cdi=(CdiSpec(path="/etc/cdi/nvidia.yaml", devices=("0", "all"), versions=("550.54.15",)),),
    )  # fmt: skip


def test_without_a_driver_nobody_is_asked(tree: Tree) -> None:
    tree.kernel().file("/usr/bin/nvidia-container-runtime-hook", "\x7fELF").file("/etc/cdi/nvidia.yaml", SPEC)
    assert tree.look().engines == Engines()


DOCKER = Engine(
    kind="docker", version="28.3.2", runtimes=("runc",), cgroup_driver="systemd", rootless=False, userns=False
)


def host(*engines: Engine, **facts: Any) -> Snapshot:
    whole = {"hook": True, "toolkit_version": "1.17.8-1", "no_cgroups": False, "cdi": (), "char_links": False, **facts}
    return healthy().replace({"engines": Engines(engines=engines, **whole)})


def changed(**facts: Any) -> Engine:
    from msgspec.structs import replace

    return replace(DOCKER, **facts)


def test_engines_that_cannot_give_gpus() -> None:
    check = "engine-lacks-gpu-support"
    status, _, (finding,) = run(check, host(DOCKER, hook=False, toolkit_version=Missing("absent")))
    assert status == "warn" and finding.title == "Docker on this host cannot give GPUs to containers"
    assert "nvidia-ctk runtime configure --runtime=docker" in finding.fixes[0].steps[-1].command
    podman = changed(kind="podman", version="5.4.2")
    _, _, (finding,) = run(check, host(podman))
    assert "nvidia-ctk cdi generate" in finding.fixes[0].steps[-1].command, "Podman takes no hook"
    spec = CdiSpec(path="/etc/cdi/nvidia.yaml", devices=("all",), versions=("580.95.05",))
    for sound in (
        host(DOCKER), host(changed(runtimes=("nvidia", "runc")), hook=False), host(podman, cdi=(spec,)),
        host(changed(cdi_devices=("nvidia.com/gpu=all",)), hook=False),
    ):  # fmt: skip
        assert run(check, sound)[::2] == ("pass", [])


def test_a_rootless_engine_and_the_toolkits_device_rules() -> None:
    check = "rootless-engine-needs-no-cgroups"
    for engine, words in (
        (changed(rootless=True), "runs without root"),
        (changed(userns=True), "maps its containers'"),
    ):
        status, _, (finding,) = run(check, host(engine))
        assert status == "warn" and words in finding.title
        assert "nvidia-container-cli.no-cgroups --in-place" in finding.fixes[0].steps[0].command
        assert run(check, host(engine, no_cgroups=True))[0] == "pass"
    assert run(check, host(DOCKER))[0] == "pass"


def test_a_specification_of_the_driver_before() -> None:
    check, driver = "cdi-spec-outdated", known(healthy().driver.kernel_version) or ""
    old, own = (CdiSpec(path="/etc/cdi/nvidia.yaml", devices=("all",), versions=(v,)) for v in ("535.54.03", driver))
    status, _, (finding,) = run(check, host(DOCKER, cdi=(old,)))
    assert status == "warn" and finding.fixes[0].steps[0].command.endswith("cdi generate --output=/etc/cdi/nvidia.yaml")
    assert run(check, host(DOCKER, cdi=(own,)))[0] == "pass" and run(check, host(DOCKER))[0] == "skipped"


def test_what_a_reload_of_systemd_would_do() -> None:
    check = "containers-may-lose-gpus"
    status, _, (finding,) = run(check, host(DOCKER))
    assert (status, finding.severity) == ("pass", "info") and report(host(DOCKER)).verdict == "pass"
    assert "create-dev-char-symlinks" in finding.fixes[0].steps[0].command
    for sound in (
        host(DOCKER, char_links=True), host(DOCKER, toolkit_version="1.18.0-1"), host(changed(cgroup_driver="cgroupfs")),
        host(DOCKER, toolkit_version=Missing("absent")),
    ):  # fmt: skip
        assert run(check, sound)[2] == []


def test_nothing_is_judged_in_a_container_without_an_engine_or_where_it_may_not_be_asked() -> None:
    denied = Engine(kind="docker", version=Missing("denied", "no permission for its socket"))
    inside = host(DOCKER, hook=False).replace({"container.kind": "docker"})
    for s, why in (
        (host(hook=False), "no container engine is listening here"), (healthy(), "did not look for container engines"), (inside, "in a container"),
        (host(denied, hook=False), "docker: no permission for its socket"),
    ):  # fmt: skip
        status, words, found = run("engine-lacks-gpu-support", s)
        assert (status, found) == ("skipped", []) and why in words, why
        assert report(s).verdict == "pass"


@pytest.mark.docker
def test_docker_s_own_engine_is_asked(tmp_path_factory: pytest.TempPathFactory) -> None:
    with dockerd(tmp_path_factory.mktemp("d") / "e") as address:  # sockets lie below it, of 107 characters at most
        line = ask_awake("docker", address.removeprefix("unix://"))
    judged_as_a_host(line)


@pytest.mark.podman
def test_podman_s_own_service_is_asked(tmp_path_factory: pytest.TempPathFactory) -> None:
    with podman_service(tmp_path_factory.mktemp("p") / "s") as address:
        line = ask_awake("podman", address.removeprefix("unix://"))
    judged_as_a_host(line)


def ask_awake(kind: str, address: str) -> dict[str, Any] | None:
    """Its answer once it gives one: the first after its start takes longer than we wait on a busy machine."""
    until = time.monotonic() + 60
    while (line := ask(kind, address)) is not None and line.get("reason") == "timeout" and time.monotonic() < until:
        time.sleep(0.5)
    return line


def judged_as_a_host(line: dict[str, Any] | None) -> None:
    assert line is not None and "info" in line, line
    (found,) = known(parsed(line).engines) or ()
    assert known(found.version) and known(found.cgroup_driver) in ("systemd", "cgroupfs") and known(found.runtimes)
    status, _, findings = run("engine-lacks-gpu-support", host(found, hook=False))
    assert (status, [f.facts["engine"] for f in findings]) == ("warn", [found.kind])
