"""`gpudoctor print`: each file goes through the parser of the program that it is for."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from doctor.commands.print import WHAT as ALL

from ..cli.command import COMMAND, gpudoctor, one_line
from ..reaction import HANG_S
from ..rows import Faults

WHAT = [what for what in ALL if what != "spec"]
"""Files to start from; a spec states what a machine has (tests/cli/test_spec.py)."""


def printed(what: str, *flags: str) -> str:
    done = gpudoctor("print", what, *flags)
    assert done.returncode == 0, done
    return done.stdout.decode()


def files_of(text: str) -> dict[str, str]:
    """The files that `# file: PATH` begins."""
    parts = re.split(r"^# file: (\S+)\n", text, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_file_says_how_far_it_was_tried_and_leaves_no_mark() -> None:
    with Faults() as faults:
        for what in WHAT:
            with faults.of(what):
                text = printed(what, *(() if what == "pre-commit" else ("--expect", "8xH100")))
                assert "@" not in re.sub(r"actions/\S+@v\d", "", text) and text.endswith("\n")
                assert what == "pre-commit" or "8xH100" in text
                assert what == "node-problem-detector" or re.search(r"[Cc]hecked[\s:]", text)


def test_no_rule_of_ours_speaks_against_our_own_files(tmp_path: Path) -> None:
    """Each file that `dockerfile` reads, for one GPU and for eight."""
    read = set()
    with Faults() as faults:
        for what in WHAT:
            for expect in () if what == "pre-commit" else ("gpu", "8xH100"):
                with faults.of(f"{what} --expect {expect}"):
                    path = tmp_path / f"{what}-{expect}.yaml"
                    path.write_text(printed(what, "--expect", expect))
                    done = gpudoctor("dockerfile", path, "--format", "json")
                    if done.returncode == 2:
                        assert one_line(done)  # no file of containers
                        continue
                    read.add(what)
                    assert (done.returncode, json.loads(done.stdout)["findings"]) == (0, []), done.stdout
    assert read == {"compose", "kubernetes", "kubernetes-fleet"}


def test_a_flag_changes_the_file_or_is_refused() -> None:
    plain = {what: printed(what) for what in WHAT}
    for flag, value in (("--expect", "4xH200"), ("--image", "registry.example/g:1")):
        with Faults() as faults:
            for what in WHAT:
                with faults.of(f"{what} {flag}"):
                    done = gpudoctor("print", what, flag, value)
                    if done.returncode:
                        assert f"{flag} cannot be used with {what}" in one_line(done)
                    else:
                        assert done.stdout.decode() != plain[what] and value in done.stdout.decode()


def test_what_would_break_a_file_is_refused() -> None:
    assert "must be gpu, any, none" in one_line(gpudoctor("print", "slurm-prolog", "--expect", '"; reboot #'))
    assert "is not a valid image name" in one_line(gpudoctor("print", "kubernetes", "--image", 'x" y'))
    assert "is not one of" in one_line(gpudoctor("print", "cron"))


def test_kubernetes_takes_the_manifest() -> None:
    import kubernetes_validate

    manifest = YAML(typ="safe").load(printed("kubernetes", "--expect", "8xH100", "--image", "registry.example/g:1"))
    kubernetes_validate.validate(manifest, "1.30", strict=True)
    (gate,) = manifest["spec"]["initContainers"]
    assert gate["command"] == ["gpudoctor", "healthcheck", "--strict", "--expect", "8xH100"]
    assert gate["resources"]["limits"] == {"nvidia.com/gpu": "8"} and gate["image"] == "registry.example/g:1"


def test_kubernetes_fleet_fills_a_folder_that_fleet_loads(tmp_path: Path) -> None:
    """One round of its loop, on a node that gives its pod a GPU and on one that does not."""
    import kubernetes_validate

    manifest = YAML(typ="safe").load(printed("kubernetes-fleet", "--expect", "any"))
    for version in ("1.31", kubernetes_validate.latest_version()):
        kubernetes_validate.validate(manifest, version, strict=True)
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    *shell, script = container["command"]
    assert shell == ["/bin/sh", "-c"] and "resources" not in container
    (tmp_path / "spool").mkdir()
    (tmp_path / "nvidia0").touch()
    script = script.replace("/spool", f"{tmp_path}/spool").replace("sleep 3600 &", "exit 0")
    for node, devices in (("gpu-1", f"{tmp_path}/nvidia[0-9]*"), ("gpu-2", f"{tmp_path}/none[0-9]*")):
        env = {**os.environ, "NODE": node, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
        line = ["sh", "-c", script.replace("/dev/nvidia[0-9]*", devices)]
        subprocess.run(line, env=env, check=True, capture_output=True, timeout=HANG_S)
    assert sorted(path.name for path in (tmp_path / "spool").iterdir()) == ["gpu-1.json", "gpu-2.json"]
    assert gpudoctor("fleet", "load", "spool", "-o", "now.db", cwd=tmp_path).returncode == 0
    found = json.loads(gpudoctor("fleet", "report", "now.db", "--json", cwd=tmp_path).stdout)
    assert found["answered"] == 1 and found["counts"]["fail"] == 0 and not found["refused"]
    assert found["not_examined"] == [{**found["not_examined"][0], "node": "gpu-2", "reason": "the pod got no GPU"}]


def test_the_gates_command_is_one_that_gpudoctor_takes(tmp_path: Path) -> None:
    (gate,) = YAML(typ="safe").load(printed("kubernetes"))["spec"]["initContainers"]
    assert gpudoctor(*gate["command"][1:]).returncode == 1  # there is no GPU here
    plugin = json.loads(printed("node-problem-detector"))
    (rule,) = plugin["rules"]
    assert gpudoctor(*rule["args"]).returncode == 1
    assert plugin["plugin"] == "custom" and plugin["pluginConfig"]["max_output_length"] == 80
    assert {rule["condition"] for rule in plugin["rules"]} == {one["type"] for one in plugin["conditions"]}


def test_workflow_and_hook_are_whole() -> None:
    loaded = YAML(typ="safe")
    flow = loaded.load(printed("github-action"))
    for step in flow["jobs"]["gpudoctor"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
    (hook,) = loaded.load(printed("pre-commit"))["repos"][0]["hooks"]
    assert {"id", "name", "language", "entry", "files"} <= set(hook)
    (ours,) = loaded.load(Path(__file__).parents[2] / ".pre-commit-hooks.yaml")
    assert ours["files"] == hook["files"] and ours["entry"] == hook["entry"] and "anifests" in ours["name"]
    pattern = re.compile(hook["files"])
    wanted = ["Dockerfile", "Dockerfile.gpu", "docker/Dockerfile-cuda_12", "x.Dockerfile", "a.dockerfile"]
    wanted += ["Containerfile", "compose.yml", "a/compose.prod.yaml", "docker-compose.yaml", "k8s/pod.yaml"]
    wanted += ["deploy/gpu.yml", "manifests/a.yaml", "k8s/values-prod.yaml", ".github/workflows/ci.yml"]
    others = ["main.py", "Dockerfile.md", "docs/dockerfile.md", "dockerfile.py", "k8s/README.md", "yaml.txt"]
    assert [name for name in (*wanted, *others) if pattern.search(name)] == wanted


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here")
    for path, text in files_of(printed("systemd")).items():
        (tmp_path / Path(path).name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "gpudoctor." not in done.stderr, done


def test_the_line_of_the_unit_puts_a_whole_file_into_place(tmp_path: Path) -> None:
    service = files_of(printed("systemd"))["/etc/systemd/system/gpudoctor.service"]
    (line,) = re.findall(r"^ExecStart=(.*)$", service, re.M)
    command = line.replace("/var/lib/node_exporter", str(tmp_path))
    path = f"{Path(os.sys.executable).parent}:{os.environ['PATH']}"  # type: ignore[attr-defined]
    done = subprocess.run(shlex.split(command), env={**os.environ, "PATH": path}, check=False)
    assert done.returncode in (0, *map(int, re.findall(r"^SuccessExitStatus=(\d+)$", service, re.M)))
    assert [one.name for one in tmp_path.iterdir()] == ["gpudoctor.prom"]
    assert "gpudoctor_answered 1" in (tmp_path / "gpudoctor.prom").read_text()


@pytest.mark.parametrize(("code", "drained"), [(0, False), (1, True), (2, False), (None, False)])
def test_the_prolog_drains_on_a_proven_failure_alone(code: int | None, drained: bool, tmp_path: Path) -> None:
    """Run with a gpudoctor that is well, sick, does not know, and is missing."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("scontrol", 'echo "$@" >> "$LOG"'), ("logger", ":"), ("hostname", "echo node7")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
    if code is not None:
        (tools / "gpudoctor").write_text(f'#!/bin/sh\necho "FAIL gpu-fell-off-bus: A GPU is lost"; exit {code}\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    for name in ("bash", "timeout", "cat", "sh"):
        (tools / name).symlink_to(shutil.which(name) or name)
    script = tmp_path / "prolog.sh"
    script.write_text(printed("slurm-prolog").replace("/opt/gpudoctor/bin", str(tools)))
    env = {"PATH": str(tools), "SLURM_JOB_GPUS": "0,1", "LOG": str(tmp_path / "log")}
    done = subprocess.run([str(tools / "bash"), str(script)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == int(drained), done
    log = (tmp_path / "log").read_text() if drained else ""
    assert (tmp_path / "log").exists() == drained
    assert not drained or "NodeName=node7 State=DRAIN Reason=gpudoctor: FAIL gpu-fell-off-bus" in log
    env.pop("SLURM_JOB_GPUS")
    assert subprocess.run([str(tools / "bash"), str(script)], env=env, check=False).returncode == 0


@pytest.mark.compose
def test_compose_takes_the_service(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(printed("compose", "--expect", "2xA100"))
    command = ["docker-compose", "-f", str(tmp_path / "compose.yaml"), "config"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    service = YAML(typ="safe").load(done.stdout)["services"]["trainer"]
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 2
    assert service["healthcheck"]["test"][-1] == "2xA100"
