"""The training agent: all of it on the real CPU wheel, its parts on a GPU that is not there, its readers on files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.patient import training_cpu as cpu_parts
from doctor.patient import training_model as model
from doctor.patient import training_speed as agent
from doctor.patient.training_loader import worker_counts
from doctor.patient.training_processes import running
from doctor.probes.measured import parse_measured
from doctor.snapshot import Missing
from doctor.snapshot.measured import Measured
from doctor.targets.agent import AgentResult
from doctor.targets.process import script_argv, start_agent, wait_agents

from ..rows import for_each
from .fake_site import PATIENT, fields, rows, run

HERE = Path(__file__).parent
GUARD_S = 120.0
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
"""Two threads of torch's wait for each other at every turn where others use the cores too."""


def measured(result: AgentResult) -> Measured:
    """As the Snapshot has it; every line could be read."""
    found = parse_measured({"training_speed": [result]}, {"level": "standard", "device": "cpu"})
    assert not [step for step in found.ended if "cannot be read" in step.detail]
    return found


def whole(python: Path, *arguments: str) -> AgentResult:
    argv = script_argv(str(python / "bin/python"), str(PATIENT / "training_speed.py"), *arguments)
    return wait_agents(start_agent(argv, GUARD_S, ENVIRONMENT))[0]


def parts(python: Path, limit_kib: int = 0, **plan: Any) -> AgentResult:
    """Parts of the agent alone; `limit_kib`: the largest file that the process may write (RLIMIT_FSIZE)."""
    argv = [
        str(python / "bin/python"),
        str(HERE / "training_parts.py"),
        str(PATIENT),
        json.dumps(plan),
    ]
    if limit_kib:
        argv = ["bash", "-c", f'export PYTHONDONTWRITEBYTECODE=1; ulimit -f {limit_kib}; exec "$@"', "bash", *argv]
    return wait_agents(start_agent(argv, GUARD_S, ENVIRONMENT))[0]


@pytest.mark.torch_wheel
def test_all_of_it_on_the_cpu(with_torch: Path) -> None:
    result = whole(with_torch, "--device", "cpu", "--seconds", "60")
    assert (result.fault, result.noise, rows(result, "ended")) == (None, [], [])
    found = measured(result)
    assert fields(result)["import_seconds"] > 0
    cpu = found.cpu
    assert cpu is not None and not isinstance(cpu.cores, Missing) and 0 < cpu.cores <= (os.cpu_count() or 1)
    assert cpu.single_core > 0 and cpu.under_load > 0 and cpu.torch_threads == 1  # type: ignore[operator]
    assert cpu.cores_seen == os.cpu_count()

    assert not isinstance(found.batches, Missing) and not isinstance(found.rates, Missing)
    assert [point.batch for point in found.batches] == [64, 256, 1024]
    steps = [point.step_ms for point in found.batches]
    assert 0 < steps[0] < steps[2] and all(0 < point.load_ms < point.step_ms for point in found.batches)  # type: ignore[operator]
    assert {point.issue_ms for point in found.batches} == {Missing("not-asked")}  # there is nothing to hand over to

    loader = {rate.what: rate for rate in found.rates if rate.kind == "loader"}
    copies = {rate.what: rate for rate in found.rates if rate.kind == "copies"}
    assert list(loader) == [str(count) for count in worker_counts(cpu.cores, 8)]
    assert list(copies) == [str(count) for count in range(1, min(2, max(1, int(cpu.cores))) + 1)]
    assert all(rate.value > 0 and rate.unit == "samples/s" and rate.runs > 1 for rate in found.rates)

    phases = [line for line in result.lines if "phase" in line]
    assert [(line["phase"], line.get("batch_size")) for line in phases] == [
        ("sweep", 64),
        ("sweep", 256),
        ("sweep", 1024),
        ("training", None),
    ]
    times = [line[name] for line in phases for name in ("start", "end")]
    assert times == sorted(times) and times[-1] < time.monotonic()
    begun = [line["begin"] for line in result.lines if "begin" in line]
    assert (
        begun[:5] == ["cpu", "import torch", "import torch.optim", "device", "sweep 64"]
        and "loader 0" in begun
        and "copies 1" in begun
    )
    first_cpu = next(place for place, line in enumerate(result.lines) if "cpu" in line)
    assert first_cpu < next(place for place, line in enumerate(result.lines) if line.get("begin") == "import torch")


@pytest.mark.torch_wheel
def test_a_budget_that_holds_a_part_of_it(with_torch: Path) -> None:
    """Whatever fits, each thing is measured or said to be left out."""
    result = whole(with_torch, "--device", "cpu", "--seconds", "2")
    assert (result.fault, result.returncode) == (None, 0)
    found = measured(result)
    done = {f"sweep {point.batch}" for point in found.batches} if not isinstance(found.batches, Missing) else set()
    done |= {f"{rate.kind} {rate.what}" for rate in found.rates} if not isinstance(found.rates, Missing) else set()
    left_out = {step.step for step in found.ended}
    assert left_out and not done & left_out
    assert {step.fault for step in found.ended} == {"skipped"}
    for name in ("sweep 64", "sweep 256", "sweep 1024", "loader 0", "loader 1", "copies 1"):
        assert name in done or name in left_out or name.partition(" ")[0] in left_out


@pytest.mark.torch_wheel
def test_a_budget_that_holds_nothing(with_torch: Path) -> None:
    found = measured(whole(with_torch, "--device", "cpu", "--seconds", "0.01"))
    assert [(step.step, step.fault) for step in found.ended] == [
        ("sweep", "skipped"),
        ("loader", "skipped"),
        ("copies", "skipped"),
    ]
    assert found.cpu is not None and found.cpu.torch_threads == 1
    assert {step.detail for step in found.ended} == {"no time was left of 0.01 s"}


@pytest.mark.torch_wheel
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(with_torch: Path) -> None:
    """The loader still tells something; the rest says why it is not there."""
    found = measured(whole(with_torch, "--device", "cuda:0", "--seconds", "8"))
    ended = {step.step: step for step in found.ended}
    assert ended["device"].fault == "failed" and "CUDA" in ended["device"].detail and ended["device"].device == "cuda:0"
    assert ended["copies"].fault == "skipped"
    assert isinstance(found.batches, Missing) or found.batches == ()
    assert not isinstance(found.rates, Missing)
    assert {(rate.kind, rate.device, rate.detail["pinned"]) for rate in found.rates} == {("loader", "cuda:0", 0)}


@pytest.mark.torch_wheel
def test_flops_and_bytes_are_those_of_torch_itself(with_torch: Path) -> None:
    batches = (8, 512)
    command = [
        str(with_torch / "bin/python"),
        str(HERE / "count_step.py"),
        str(PATIENT),
        *map(str, batches),
    ]
    done = subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True, timeout=GUARD_S)
    for batch, counted in zip(batches, map(json.loads, done.stdout.splitlines()), strict=True):
        assert model.step_flops(batch) == counted["flops"]
        optimizer = 4 * 7 * sum(a * b + b for dims in model.TOWERS for a, b in model.layers(dims))
        least = model.step_bytes(batch) - optimizer  # torch's on the CPU takes many operations for it
        assert least < counted["bytes"] - optimizer < 1.5 * least + 3 * optimizer


def test_flops_and_bytes_of_a_tiny_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by hand, for a model of other widths: two towers 2-3-4, batch 5."""
    monkeypatch.setattr(model, "TOWERS", ((2, 3, 4), (2, 3, 4)))
    tower = 2 * 5 * (2 * (2 * 3) + 3 * (3 * 4))
    assert model.step_flops(5) == 2 * tower + 3 * 2 * 5 * 5 * 4
    weights, first, biases = 2 * 3 + 3 * 4, 2 * 3, 3 + 4
    of_tower = 9 * (weights + biases) + (weights - first) + 5 * (2 * 2 + 11 * 3 + 13 * 4)
    assert model.step_bytes(5) == 4 * (2 * of_tower + 20 * 25)


GPU = {"parts": ["profile", "sweep"], "device": "cuda:0"}


@pytest.mark.torch_wheel
def test_a_sweep_on_a_gpu(with_torch: Path) -> None:
    kernels = ["gemm"] * 270 + ["Memset (Device)"] * 30 + ["Memcpy HtoD (Pinned -> Device)"] * 30
    result = parts(with_torch, **GPU, batches=[8, 16, 32, 64], gpu={"kernels": kernels, "out_of_memory": 32})
    found = measured(result)
    assert not isinstance(found.batches, Missing)
    assert [point.batch for point in found.batches] == [8, 16]
    for point in found.batches:
        assert (point.launches, point.device_ms) == (100, 0.2)  # 300 of 2 us in three steps, the copies left out
        for value in (point.step_ms, point.issue_ms, point.copy_ms, point.load_ms, point.graph_ms):
            assert isinstance(value, float) and value > 0
    (ended,) = found.ended
    assert (ended.step, ended.fault) == ("sweep 32", "skipped")
    assert ended.detail.startswith(
        "out of memory: the sweep has no larger batch. OutOfMemoryError: CUDA out of memory."
    )
    assert {line["key"] for line in result.lines if "phase" in line} == {"GPU-5f3a9c1e-1111-2222-3333-444455556666"}


@pytest.mark.torch_wheel
@pytest.mark.parametrize(
    ("graph", "said", "ended"),
    [
        ("crash", "the CUDA graph did not end", [("sweep 8 graph", "crash", "signal 6")]),
        (
            "operation not permitted when stream is capturing\nmore",
            "RuntimeError: operation not permitted when stream is capturing",
            [],
        ),
    ],
)
def test_a_graph_that_does_not_work_costs_the_graph_alone(
    with_torch: Path, graph: str, said: str, ended: list[Any]
) -> None:
    found = measured(parts(with_torch, **GPU, batches=[8], gpu={"graph": graph}))
    assert not isinstance(found.batches, Missing)
    (point,) = found.batches
    assert point.graph_ms == Missing("error", said)
    assert isinstance(point.issue_ms, float)
    assert isinstance(point.device_ms, float) and point.launches == Missing("error", "the profiler saw no kernels")
    assert [(step.step, step.fault, step.detail) for step in found.ended] == ended


@pytest.mark.torch_wheel
def test_a_profiler_that_had_no_time_saw_nothing_and_is_not_blamed(with_torch: Path) -> None:
    found = measured(parts(with_torch, parts=["sweep"], device="cuda:0", batches=[8], gpu={}))
    assert not isinstance(found.batches, Missing)
    (point,) = found.batches
    assert point.launches == Missing("timeout", "the profiler did not come to this batch")


@pytest.mark.torch_wheel
def test_shared_memory_that_is_too_small(with_torch: Path) -> None:
    """Workers cannot pass their batches on; without workers it goes on."""
    found = measured(parts(with_torch, limit_kib=64, parts=["loader"], device="cpu", counts=[0, 1, 2]))
    assert not isinstance(found.rates, Missing) and [rate.what for rate in found.rates] == ["0"]
    assert [(step.step, step.fault) for step in found.ended] == [("loader 1", "failed"), ("loader 2", "failed")]
    assert "unable to resize file" in found.ended[0].detail and "File too large" in found.ended[0].detail


@pytest.mark.torch_wheel
def test_where_the_import_of_torch_has_touched_cuda(with_torch: Path) -> None:
    """The children begin anew: a fork could not use it."""
    result = parts(with_torch, parts=["sweep", "loader"], device="cpu", batches=[8], counts=[1], fresh=True)
    found = measured(result)
    assert not isinstance(found.batches, Missing) and not isinstance(found.rates, Missing)
    assert ([point.batch for point in found.batches], [rate.what for rate in found.rates], found.ended) == (
        [8],
        ["1"],
        (),
    )


def test_whether_cuda_was_touched(tmp_path: Path) -> None:
    (tmp_path / "0").symlink_to("/dev/null")
    (tmp_path / "1").symlink_to("/usr/lib/libnvidia-ml.so.1")
    assert not model.cuda_touched(str(tmp_path)) and not model.cuda_touched(str(tmp_path / "none"))
    (tmp_path / "7").symlink_to("/dev/nvidiactl")
    assert model.cuda_touched(str(tmp_path))


def descendants(pid: int) -> set[int]:
    """Processes below this one that have not ended."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            parents[int(path.parent.name)] = int(parent)
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(true: Callable[[], bool]) -> None:
    """Wait for it; a test that waits for too long fails."""
    end = time.monotonic() + GUARD_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def _ended_at(process: subprocess.Popen[str], step: str, number: signal.Signals, children: int) -> set[int]:
    """The signal is sent at this step; the processes below it at that time."""
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("begin") == step:
            until(lambda: len(descendants(process.pid)) >= children or process.poll() is not None)
            seen = descendants(process.pid)
            process.send_signal(number)
            return seen
    return set()


@pytest.mark.torch_wheel
@pytest.mark.parametrize(
    ("number", "step", "children"), [(signal.SIGTERM, "sweep 64", 1), (signal.SIGKILL, "loader 1", 2)]
)
def test_nothing_is_left_behind(with_torch: Path, number: signal.Signals, step: str, children: int) -> None:
    """Neither the measuring child nor the loader's workers below it, when the agent alone is ended."""
    for seconds in ("5", "20", "60"):  # on a busy machine the shorter ones may be over before the signal comes
        python, script = str(with_torch / "bin/python"), str(PATIENT / "training_speed.py")
        command = script_argv(python, script, "--device", "cpu", "--seconds", seconds)
        process = subprocess.Popen(
            command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        seen = _ended_at(process, step, number, children)
        if seen and process.wait(GUARD_S) != 0:
            break
    assert process.returncode in (-number, 128 + number)
    assert len(seen) >= children
    until(lambda: not any(alive(pid) for pid in seen))


def supervised(tmp_path: Path, work: Callable[..., None], seconds: float = 30.0) -> list[dict[str, Any]]:
    """The lines of a child that runs this."""
    with open(tmp_path / "lines", "wb+") as file:
        told = agent.Agent(file.fileno(), "cpu", "standard", 60.0)
        told.supervise("sweep", time.monotonic() + seconds, [], work)
        assert running == []
        file.seek(0)
        return [line for line in map(json.loads, file) if line.get("field") != "pids"]


def ended(fault: str, detail: str) -> dict[str, Any]:
    return {"ended": {"agent": "training_speed", "step": "sweep 7", "device": "cpu", "fault": fault, "detail": detail}}


@for_each(
    ("bad_luck", "line"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), ended("crash", "signal 9")),
        (lambda: os._exit(3), ended("crash", "it ended the process")),
        (lambda: sys.exit("enough"), ended("failed", "SystemExit: enough")),
        (lambda: [][0], ended("failed", "IndexError: list index out of range")),
    ],
)
def test_a_child_with_bad_luck(tmp_path: Path, bad_luck: Callable[[], None], line: dict[str, Any]) -> None:
    def work(say: Callable[..., None], orders: Any) -> None:
        say(begin="sweep 7")
        say(rate={"value": 1.23456789})
        bad_luck()

    assert supervised(tmp_path, work) == [{"begin": "sweep 7"}, {"rate": {"value": 1.23457}}, line]


def test_a_child_that_does_not_end(tmp_path: Path) -> None:
    """It is ended; a short silence is not yet a hang."""

    def work(say: Callable[..., None], orders: Any) -> None:
        say(begin="sweep 7")
        time.sleep(600)

    assert supervised(tmp_path, work, 0.1)[1:] == [ended("skipped", "cut off: its time was over")]


@pytest.mark.slow
@for_each(
    ("result", "left_out"),
    [
        ({"batch": {"batch": 7, "step_ms": 1.5}}, []),
        ({"rate": {"value": 2}}, []),
        (
            {"ended": {"step": "sweep 7", "fault": "skipped", "detail": "out of memory"}},
            [ended("skipped", "out of memory")],
        ),
        ({"phase": "sweep"}, [ended("skipped", "cut off: its time was over")]),
    ],
    ids=["a batch", "a rate", "it said why", "nothing yet"],
)
def test_a_step_is_measured_or_left_out(tmp_path: Path, result: dict[str, Any], left_out: list[dict[str, Any]]) -> None:
    """Never both: the time may be over after the result of a step and before the next one begins."""

    def work(say: Callable[..., None], orders: Any) -> None:
        say(begin="sweep 7")
        say(**result)
        time.sleep(600)

    assert [line for line in supervised(tmp_path, work, 1.0) if "ended" in line] == left_out


@pytest.mark.slow
def test_a_graph_that_is_cut_off_is_told_as_the_graph(tmp_path: Path) -> None:
    def work(say: Callable[..., None], orders: Any) -> None:
        say(begin="sweep 7")
        say(pending={"batch": 7, "step_ms": 1.5})
        time.sleep(600)

    cut_off, batch = supervised(tmp_path, work, 1.0)[1:]
    assert (cut_off["ended"]["step"], cut_off["ended"]["fault"]) == ("sweep 7 graph", "skipped")
    assert batch["batch"]["step_ms"] == 1.5 and batch["batch"]["graph_ms"]["missing"] == "error"


@pytest.mark.slow
def test_long_silence_while_it_reads_is_a_slow_disk(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(bytes(4096))

    def work(say: Callable[..., None], orders: Any) -> None:
        say(begin="sweep 7")
        while True:  # a library that comes at 80 kB/s
            library.read_bytes()
            time.sleep(0.05)

    (end,) = [line for line in supervised(tmp_path, work, 6.0) if "ended" in line]
    assert end["ended"]["fault"] == "slow" and end["ended"]["detail"].endswith("the disk is slow")


def test_long_silence_is_a_hang(tmp_path: Path) -> None:
    with open(tmp_path / "lines", "wb+") as file:
        assert agent.Agent(file.fileno(), "cpu", "standard", 60.0).missed("sweep 7", {"hang": True}, 7.0) == "hang"
        file.seek(0)
        assert json.loads(file.read()) == ended("hang", "no answer for 7 s")


@pytest.mark.slow
@for_each(
    ("source", "said"),
    [
        (
            "raise ImportError('libcudnn.so.9: cannot open shared object file')",
            "ImportError: libcudnn.so.9: cannot open shared object file",
        ),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "AttributeError: module 'torch' has no attribute 'get_num_threads'"),
    ],
    ids=["missing library", "ends the process", "no torch at all"],
)
def test_a_torch_that_cannot_be_imported(tmp_path: Path, source: str, said: str) -> None:
    for name in ("torch", "torch/utils", "torch/utils/data"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(source if name == "torch" else "")
    result = run(
        "training_speed", {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}, "--device", "cpu"
    )
    found = measured(result)
    assert (result.fault, result.returncode) == (None, 0)
    assert [(step.step, step.fault, step.detail) for step in found.ended] == [("import torch", "failed", said)]
    assert found.cpu is not None and found.cpu.torch_threads == Missing("not-asked")
    assert 0 < found.cpu.under_load <= 1.5 * found.cpu.single_core  # type: ignore[operator]


@for_each(
    ("arguments", "said"),
    [
        ((), "the following arguments are required: --device"),
        (("--device", "tpu"), "--device takes cuda:N or cpu"),
        (("--device", "cpu", "--seconds", "nan"), "--seconds takes a positive number"),
        (("--device", "cpu", "--seconds", "-1"), "--seconds takes a positive number"),
        (("--device", "cpu", "--level", "slow"), "argument --level: invalid choice: 'slow'"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    result = run("training_speed", dict(os.environ), *arguments)
    assert (result.returncode, result.lines) == (2, [])
    assert said in result.stderr_tail and "Traceback" not in result.stderr_tail


def tree(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return str(root)


V1 = "sys/fs/cgroup/cpu,cpuacct"


@for_each(
    ("files", "cores"),
    [
        ({}, None),
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {
                "sys/fs/cgroup/cpu.max": "max 100000\n",
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n",
            },
            0.5,
        ),
        ({f"{V1}/cpu.cfs_quota_us": "-1\n", f"{V1}/cpu.cfs_period_us": "100000\n"}, None),
        (
            {
                "proc/self/cgroup": "4:memory:/m\n2:cpu,cpuacct:/docker/f00\n0::/\n",
                f"{V1}/docker/f00/cpu.cfs_quota_us": "200000\n",
                f"{V1}/docker/f00/cpu.cfs_period_us": "100000\n",
            },
            2.0,
        ),
        ({"proc/self/cgroup": "2:memory:/m\n", "sys/fs/cgroup/memory/m/cpu.max": "1 1\n"}, None),
        ({"sys/fs/cgroup/cpu.max": "0 0\n"}, None),
        ({"sys/fs/cgroup/cpu.max": "\udcff\x00 many\n".encode("utf-8", "replace").decode()}, None),
    ],
    ids=["none", "v2", "v2 no limit", "v2 nested", "v1 no limit", "v1 nested", "not cpu", "zeros", "damaged"],
)
def test_the_quota(tmp_path: Path, files: dict[str, str], cores: float | None) -> None:
    assert cpu_parts.quota_cores(tree(tmp_path, files)) == cores


def test_the_throttled_share(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 12\nnr_periods 0\nnr_throttled 0\n",
            "sys/fs/cgroup/a/cpu.stat": "usage_usec 12\nnr_periods 100\nnr_throttled 40\nthrottled_usec 9\n",
        },
    )
    before = cpu_parts.periods(root)
    assert cpu_parts.throttled_percent(before, before) is None  # no period went by
    tree(tmp_path, {"sys/fs/cgroup/a/cpu.stat": "nr_periods 110\nnr_throttled 45\n"})
    assert cpu_parts.throttled_percent(before, cpu_parts.periods(root)) == 50.0
    assert cpu_parts.throttled_percent({}, cpu_parts.periods(root)) is None


CPUINFO = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz\ncpu MHz\t\t: 1200.123\n\nprocessor\t: 1\ncpu MHz\t\t: 3299.998\n"
CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"


@for_each(
    ("files", "found"),
    [
        ({}, {}),
        ({"proc/cpuinfo": CPUINFO}, {"model": "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "mhz": 3300.0}),
        (
            {
                "proc/cpuinfo": CPUINFO,
                f"{CPUFREQ}/cpuinfo_max_freq": "3300000\n",
                f"{CPUFREQ}/scaling_cur_freq": "1200000\n",
            },
            {"model": "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "mhz": 3300.0, "mhz_max": 3300.0},
        ),
        (
            {
                "proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\n",
                f"{CPUFREQ}/cpuinfo_max_freq": "3000000\n",
                f"{CPUFREQ}/scaling_cur_freq": "2600000\n",
            },
            {"mhz": 2600.0, "mhz_max": 3000.0},
        ),
        ({"proc/cpuinfo": "cpu MHz : lots\n", f"{CPUFREQ}/cpuinfo_max_freq": "<unknown>\n"}, {}),
    ],
    ids=["none", "x86", "x86 with cpufreq", "arm", "damaged"],
)
def test_the_processor(tmp_path: Path, files: dict[str, str], found: dict[str, Any]) -> None:
    assert cpu_parts.processor(tree(tmp_path, files)) == found


def test_the_numbers_of_workers() -> None:
    assert worker_counts(0.5, 8) == [0, 1]
    assert worker_counts(2.0, 8) == [0, 1, 2]
    assert worker_counts(6.0, 8) == [0, 1, 2, 4, 6]
    assert worker_counts(128.0, 8) == [0, 1, 2, 4, 8]
