"""Take a recording of a scenario: the real file gatherer, the real agents against the fakes, judged by the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import doctor.patient
from benchmarks import case_file
from doctor.patient.gather import gather
from doctor.probes import tools
from doctor.probes.agents import driver_commands, own_agent
from doctor.probes.unlisted import to_ask
from doctor.targets.agent import AgentResult
from doctor.targets.process import script_argv, start_agent, wait_agents
from doctor.targets.recording import Recording, write_recording
from tests.agents.run import run_agent
from tests.fakes import MACHINES, Machine
from tests.reaction import HANG_S

from .machine_files import PYTHON, SITE, Scenario, lay_out
from .torch_build import Workshop

CASES = case_file.read(Path(__file__).with_name("cases.jsonl"))
DEADLINE_S = 60.0
SHORT_S = 2.0
"""For the children of a machine where a call hangs: they are waited for."""
_PATIENT = Path(doctor.patient.__file__).parent


def names() -> list[str]:
    """All scenarios: the machines as they are, then the cases."""
    machines = sorted(path.parent.name for path in MACHINES.glob("*/expected.json"))
    return [*machines, *CASES]


def load(name: str) -> Scenario:
    """A scenario by its name: a machine with its own expected.json, or a case."""
    if name in CASES:
        case = {key: value for key, value in CASES[name].items() if key != "id"}
    else:
        case = json.loads((MACHINES / name / "expected.json").read_text("utf-8"))
    machine = Machine.load(case.pop("machine", name))
    case.pop("note", None)
    driver = case.pop("driver", None)
    changes = {**({"driver.version": driver} if driver else {}), **case.pop("scenario", {})}
    scenario = {**machine.scenario, **{key: str(value) for key, value in changes.items() if value is not None}}
    for key in [key for key, value in changes.items() if value is None]:
        scenario.pop(key, None)
    if driver:
        case["files"] = {**_other_driver(machine, driver), **case.get("files", {})}
    return Scenario(name, Machine(machine.name, scenario, machine.files), **case)


def _other_driver(machine: Machine, version: str) -> dict[str, str]:
    """The kernel's files of a machine with another driver version."""
    old = machine.scenario["driver.version"]
    paths = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")
    return {path: text.replace(old, version) for path, text in machine.files["files"].items() if path in paths}


def record(scenario: Scenario, folder: Path, fakes: Path, workshop: Workshop) -> Path:
    """Lay the machine out under `folder`, look at it, and write the recording. Returns the recording's folder."""
    root = folder / "root"
    root.mkdir(parents=True)
    lay_out(scenario, root, fakes, workshop)
    lines = _file_lines(scenario, root)
    agents = {name: _inside(result, root) for name, result in _ask(scenario, root).items()}
    for line in agents["nvml"].lines:  # the machine's processes are none of those that run the tests
        if str(line.get("field")).startswith("processes_") and "value" in line:
            for process in line["value"]:
                process["owner"] = scenario.owners.get(str(process["pid"]))
    unlisted = to_ask(lines, agents["nvml"])
    if unlisted:
        agents["unlisted_gpus"] = _opened(scenario, root, unlisted)
    manifest = {"kind": "live", "name": scenario.name, "gathered_at": "2026-11-20T00:00:00Z"}
    manifest["import_torch"] = "--no-import" not in scenario.check
    write_recording(str(folder / "recording"), Recording(lines, agents, manifest))
    return folder / "recording"


def check(recording: Path, *flags: str) -> tuple[dict[str, Any], int, str]:
    """Report, exit code and stderr of `gpudoctor check --replay`."""
    command = [sys.executable, "-m", "doctor", "check", "--replay", str(recording), "--format", "json", *flags]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return (json.loads(run.stdout) if run.stdout else {}), run.returncode, run.stderr


def _file_lines(scenario: Scenario, root: Path) -> list[dict[str, Any]]:
    """The gatherer's lines; nodes and what no file tells (the process, free disk) are put in as the machine has them."""
    lines: list[dict[str, Any]] = []
    gather(lines.append, str(root), scenario.variables, tools, {"cwd": "/home/user"})
    lines = [line for line in lines if line["at"] not in ("node", "process", "statvfs")]
    process = {
        "at": "process", "system": "Linux", "machine": scenario.architecture, "euid": scenario.euid, "cores": 32,
        "libc": "glibc 2.35", "release": (scenario.all_files.get("/proc/sys/kernel/osrelease") or "6.8.0").strip(),
    }  # fmt: skip
    disks = [
        {"at": "statvfs", "role": role, "path": path, "total_mib": 900000, "free_mib": 400000, "writable": True}
        for role, path in (("environment", SITE), ("tmp", "/tmp"), ("home", "/home/user"), ("pip-cache", "/home/user"))
    ]
    shm = {"at": "statvfs", "role": "shm", "path": "/dev/shm", "total_mib": 64000, "free_mib": 64000, "writable": True}
    return [*scenario.nodes(), process, shm, *lines[:-1], *disks, lines[-1]]


def _ask(scenario: Scenario, root: Path) -> dict[str, AgentResult]:
    """The agents, in children whose loader finds what this machine's loader would find."""
    given = [str(root) + path for path in scenario.env.get("LD_LIBRARY_PATH", "").split(":") if path]
    folders = [*given, str(root) + scenario.driver_folder]
    usual = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "TMPDIR")}
    env = {
        **usual, "LD_LIBRARY_PATH": ":".join(folders), "GPUDOCTOR_FAKE_SCENARIO": str(root / "scenario.txt"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    env.update({key: value for key, value in scenario.env.items() if key.startswith(("CUDA_", "NVIDIA_"))})
    commands = driver_commands()
    if scenario.torch is not None and "--no-import" not in scenario.check:
        python, *rest = script_argv(sys.executable, str(_PATIENT / "torch_facts.py"))
        commands["torch"] = [python, "-S", "-s", *rest]
        env["PYTHONPATH"] = str(root) + SITE
    deadline_s = SHORT_S if "hang" in scenario.machine.scenario.values() else DEADLINE_S
    running = [start_agent(command, deadline_s, env, patience_s=HANG_S) for command in commands.values()]
    return dict(zip(commands, wait_agents(*running), strict=True))


def _opened(scenario: Scenario, root: Path, addresses: list[str]) -> AgentResult:
    """The agent on the root folder, whose nodes are plain files: what opening them says is the scenario's."""
    result = run_agent(own_agent("unlisted_gpus", str(root), *addresses), DEADLINE_S)
    for line in result.lines:
        if line.get("field") == "open" and line["value"] != "ENOENT":
            line["value"] = scenario.opens.get(line["node"], "ok")
    return result


def _inside(result: AgentResult, root: Path) -> AgentResult:
    """The answers with paths as seen inside the root, and the Python that is told to be there."""
    told = json.loads(json.dumps(result.as_dict()).replace(str(root), ""))
    for line in told["lines"]:
        if line.get("field") == "python":
            line["value"] = PYTHON
    return AgentResult(**told)
