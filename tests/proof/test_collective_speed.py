"""`gpudoctor prove --links`: torchrun, gloo and real processes; launchers, flags, signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from doctor.commands.links import launched_by, links_of, quiet_end
from doctor.guard import Refusal
from doctor.patient.collective_operations import bus_factor
from doctor.patient.collective_sends import pairs_of_ranks
from doctor.probes.measured import parse_measured
from doctor.proof.collectives import alone, torchrun
from doctor.proof.plan import Links
from doctor.report.measured_teach import busiest
from doctor.snapshot import Measured, StepEnd, known
from doctor.targets.process import script_argv, start_agent, wait_agents

from ..rows import for_each
from .fake_site import PATIENT
from .proving import command, run
from .proving import report as proved

AGENT = str(PATIENT / "collective_speed.py")
OPERATIONS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce")
FLAGS: dict[str, Any] = {
    "links": True, "nproc": None, "nodes": None, "quick": False, "full": False, "soak": None, "baseline": None, "ddp": False, "teach": False,
}  # fmt: skip


def by_torchrun(python: Path, count: int, *words: str) -> Measured:
    """What so many ranks on the CPU measured, through the real parser."""
    worker = script_argv(str(python / "bin/python"), AGENT)
    with tempfile.TemporaryDirectory() as meet:
        argv = [*torchrun(worker, Links(), count, meet), "--device", "cpu", "--lifeline", *words]
        env = {**os.environ, **alone(Links(), os.environ)}
        (result,) = wait_agents(start_agent([*argv, "--store", f"{meet}/ranks"], 100.0, env))
    assert (result.fault, result.noise) == (None, []), result.stderr_tail
    found = parse_measured({"collective_speed": [result]}, {"level": "links", "device": "cpu"})
    assert [end.detail for end in found.ended if end.fault != "skipped"] == []
    return found


def ranks(mark: Path) -> list[int]:
    """The agent's processes that were started with this mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = f"GPUDOCTOR_TEST={mark}".encode() in (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if marked and b"collective_speed.py" in words and b"torch.distributed.run" not in words:
            found.append(int(folder.name))
    return sorted(found)


def imports_torch(pid: int) -> bool:
    return "libtorch" in Path(f"/proc/{pid}/maps").read_text()


def none_left(mark: Path) -> bool:
    until = time.monotonic() + 20
    while ranks(mark) and time.monotonic() < until:
        time.sleep(0.1)
    return not ranks(mark)


@pytest.mark.torch_wheel
@pytest.mark.parametrize("count", [2, 4, 8])
def test_every_collective_over_gloo(with_torch: Path, count: int) -> None:
    found = by_torchrun(with_torch, count, "--seconds", "5", "--largest", str(1 << 17), "--teach")
    (group,) = known(found.link_groups) or ()
    assert (group.backend, group.ranks) == ("gloo", count)
    rates = known(found.collective_rates) or ()
    assert {r.operation for r in rates} == set(OPERATIONS)
    for r in rates:
        assert r.right is True and (r.ranks, r.nodes) == (count, 1) and r.bytes % (4 * count) == 0, r
        assert r.algorithm_gb_s == pytest.approx(r.bytes / r.us / 1e3, rel=1e-4)
        assert r.bus_gb_s == pytest.approx(r.algorithm_gb_s * bus_factor(r.operation, count), rel=1e-4)
    assert next(r.bytes for r in rates if r.operation == "all_reduce") == 1 << 11
    sends = known(found.sends) or ()
    assert {(s.source, s.target) for s in sends} <= set(pairs_of_ranks(count)) and len(sends) >= 2
    assert all(s.right is True and s.gb_s > 0 and s.latency_us > 0 and s.same_node for s in sends)
    assert [w.rank for w in known(found.rank_waits) or ()] == list(range(count))
    naive, ring, library = known(found.ways) or ()
    size = naive.bytes
    assert naive.links == {name: size for n in range(1, count) for name in (f"0>{n}", f"{n}>0")}
    assert busiest(naive) == ((count - 1) * size, (count - 1) * size) and naive.held_bytes == count * size
    assert ring.links == {f"{n}>{(n + 1) % count}": 2 * (count - 1) * size // count for n in range(count)}
    assert ring.held_bytes == size + size // count
    for way in (naive, ring, library):
        assert way.right is True and way.us > 0
        assert way.counted_bytes > 0.98 * 2 * (count - 1) * size, "whoever else uses the loopback is counted too"


@pytest.mark.torch_wheel
def test_the_command_and_its_report(with_torch: Path, tmp_path: Path) -> None:
    words = ["prove", "--links", "--ddp", "--device", "cpu", "--timeout", "100", "--python", str(with_torch)]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    found = proved(words, {**os.environ, "TMPDIR": str(temporary)}, cwd=tmp_path)
    left = [path.name for path in temporary.iterdir() if not path.name.startswith("torchinductor_")]
    assert left == [], "torchrun's logs too are gone; torch's own cache is its user's"
    jsonschema.validate(found, json.loads(run(["schema"]).stdout))
    assert (found["exit_code"], found["findings"]) == (0, [])
    measured = found["snapshot"]["measured"]
    assert (measured["level"], measured["link_groups"][0]["ranks"]) == ("links", 2)
    assert {r["operation"] for r in measured["collective_rates"]} == set(OPERATIONS)
    (run_,) = measured["ddp"]
    assert run_["right"] is True and run_["steps"] >= 5 and run_["seconds"] > 0 < run_["alone_seconds"]
    assert "rates" not in measured and len(measured["torch"]) == 1
    saved = tmp_path / "report.json"
    saved.write_text(json.dumps(found))
    text = run(["prove", "--from", str(saved)]).stdout
    assert "Links: gloo, 2 ranks" in text and "reduce-scatter" in text and "1 to 0" in text
    assert "the links explain" in " ".join(text.split())
    markdown = run(["prove", "--from", str(saved), "--format", "markdown"]).stdout
    assert "Bus, GB/s" in markdown and "Waiting between ranks" in markdown


def started(mark: Path, *words: str) -> subprocess.Popen[bytes]:
    """gpudoctor, once its ranks are there."""
    env = os.environ | {"GPUDOCTOR_TEST": str(mark)}
    child = subprocess.Popen(command(*words), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while len(ranks(mark)) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert len(ranks(mark)) == 2
    return child


@pytest.mark.torch_wheel
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_rank_outlives_it(with_torch: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    words = ("prove", "--links", "--device", "cpu", "--python", str(with_torch), "--format", "json")
    child = started(tmp_path, *words)
    child.send_signal(number)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == code and none_left(tmp_path)
    if number is signal.SIGINT:
        assert json.loads(out)["snapshot"]["measured"]["interrupted"] is True


@pytest.mark.torch_wheel
def test_a_rank_that_is_killed(with_torch: Path, tmp_path: Path) -> None:
    words = ("prove", "--links", "--device", "cpu", "--python", str(with_torch), "--format", "json")
    child = started(tmp_path, *words)
    until = time.monotonic() + 60
    while not all(imports_torch(pid) for pid in ranks(tmp_path)) and time.monotonic() < until:
        time.sleep(0.1)  # before a rank's first word nothing says that one was started
    os.kill(ranks(tmp_path)[-1], signal.SIGKILL)
    out, _ = child.communicate(timeout=100)
    assert child.returncode == 1 and [f["id"] for f in json.loads(out)["findings"]] == ["collective-failed"]
    ended = json.loads(out)["snapshot"]["measured"]["ended"]
    assert "Signal 9 (SIGKILL)" in " ".join(end.get("detail", "") for end in ended), ended
    assert none_left(tmp_path)


@pytest.mark.torch_wheel
def test_a_launcher_of_the_users_own(with_torch: Path, tmp_path: Path) -> None:
    """Two processes with torch's variables, as srun or mpirun would start them: the first one prints."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = ["prove", "--links", "--device", "cpu", "--timeout", "90", "--python", str(with_torch), "--format", "json"]
    shared = os.environ | {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    children = []
    for rank in "10":
        env = shared | {"RANK": rank, "LOCAL_RANK": rank}
        children.append(subprocess.Popen(command(*words), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    (quiet, errors), (report, _) = (child.communicate(timeout=100) for child in children)
    assert [child.returncode for child in children] == [0, 0], errors
    assert quiet == b"" and json.loads(report)["snapshot"]["measured"]["link_groups"][0]["ranks"] == 2
    assert json.loads(report)["snapshot"]["measured"]["collective_rates"][0]["right"] is True


@for_each(("fault", "detail", "alone"), [
    ("failed", "RuntimeError: Unable to find address for: eth9", False),
    ("failed", "gaierror: Name or service not known", False),
    ("failed", "NCCL error: Bootstrap : no socket interface found", False),
    ("failed", "NCCL error: Call to ibv_reg_mr failed with error Cannot allocate memory", False),
    ("hang", "killed after 20 s", True),
    ("slow", "no answer for 20 s", True),
    ("failed", "DistStoreError: Timed out after 21 seconds waiting for clients", True),
    ("failed", "DistNetworkError: The client socket has failed to connect to any network address", True),
])  # fmt: skip
def test_another_rank_is_named_only_where_one_was_waited_for(
    fault: str, detail: str, alone: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    end = msgspec.convert(
        {"agent": "collective_speed", "step": "init_process_group", "fault": fault, "detail": detail}, StepEnd
    )
    assert quiet_end([end], Links(nodes=("a", "b"))) == 1
    assert ("another rank did not start or has left" in capsys.readouterr().err) == alone


@pytest.mark.torch_wheel
def test_a_rank_whose_first_one_has_left_says_so(with_torch: Path) -> None:
    """As where the first one's --timeout was over while this one still read the machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    words = ["prove", "--links", "--device", "cpu", "--timeout", "30", "--python", str(with_torch)]
    env = os.environ | {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": "1"}
    done = subprocess.run(command(*words), env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(
        r"gpudoctor: rank 1, init_process_group: .+: another rank did not start or has left .+\n", done.stderr
    )


@pytest.mark.torch_wheel
def test_the_way_of_gpus_on_one_that_is_not_there(with_torch: Path, tmp_path: Path) -> None:
    """All but NCCL: devices, waits for them, and the log that NCCL would write into; gloo moves the data."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    env = os.environ | {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    words = ["--device", "cuda", "--seconds", "4", "--largest", "16384", "--teach"]
    argv = [str(with_torch / "bin/python"), str(Path(__file__).with_name("gpu_on_cpu.py")), AGENT, *words]
    agents = [
        start_agent(argv, 90.0, {**env, "RANK": rank, "LOCAL_RANK": rank, "TMPDIR": str(tmp_path)}) for rank in "01"
    ]
    first, second = wait_agents(*agents)
    assert (first.fault, second.fault) == (None, None), first.stderr_tail + second.stderr_tail
    found = parse_measured({"collective_speed": [first]}, {"level": "links", "device": "cuda"})
    (group,) = known(found.link_groups) or ()
    assert (group.ranks, group.transports, group.interface, group.in_network) == (2, (), "", False)
    assert {r.operation for r in known(found.collective_rates) or () if r.right} == set(OPERATIONS)
    assert [wait.device for wait in known(found.rank_waits) or ()] == ["cuda:0", "cuda:0"]
    assert [way.right for way in known(found.ways) or ()] == [True] * 3
    assert not [row for row in second.lines if "collective_rate" in row]


def test_bus_bandwidth_as_nccl_tests_defines_it() -> None:
    """worked-numbers: ring all-reduce has 2(N-1) steps, and each GPU sends 2(N-1)/N of the data."""
    for count in (2, 3, 8, 256):
        assert bus_factor("all_reduce", count) == 2 * (count - 1) / count
        assert {bus_factor(name, count) for name in ("reduce_scatter", "all_gather", "all_to_all")} == {
            (count - 1) / count
        }
        assert bus_factor("broadcast", count) == bus_factor("reduce", count) == 1


def test_pairs_of_many_ranks_are_a_ring() -> None:
    assert len(set(pairs_of_ranks(8))) == 56 and pairs_of_ranks(8)[:2] == [(0, 1), (1, 2)]
    assert sorted(pairs_of_ranks(2)) == [(0, 1), (1, 0)] and len(set(pairs_of_ranks(9))) == 18


SLURM = {
    "SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_NUM_NODES": "2",
    "SLURM_LOCALID": "1", "SLURM_JOB_ID": "4211", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "gpu[03-04]",
}  # fmt: skip


def test_what_srun_says() -> None:
    assert launched_by(SLURM) == {
        "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "MASTER_ADDR": "gpu03",
        "MASTER_PORT": "24211",
    }  # fmt: skip
    batch = {name: value for name, value in SLURM.items() if "STEP" not in name}
    assert launched_by(batch) == {}, "sbatch's script is one process"
    assert launched_by({**SLURM, "SLURM_STEP_NUM_TASKS": "1"}) == launched_by({}) == {}
    assert launched_by({**SLURM, "SLURM_STEP_NODELIST": "a1,b[2-3]"})["MASTER_ADDR"] == "a1"
    racks = {**SLURM, "SLURM_STEP_NODELIST": "rack[1-2]n[01-04,7],other"}
    assert launched_by(racks)["MASTER_ADDR"] == "rack1n01", "as scontrol show hostnames lists them"
    assert launched_by({"RANK": "0", "WORLD_SIZE": "1"}) == {}
    open_mpi = {
        "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "5",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "8",
    }  # fmt: skip
    mpich = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "5", "MPI_LOCALNRANKS": "8"}
    ranks = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "5", "LOCAL_WORLD_SIZE": "8", "MASTER_ADDR": "127.0.0.1"}
    for env in (open_mpi, mpich, {**SLURM, **open_mpi}):
        assert (
            launched_by(env).items() >= ranks.items()
            and launched_by({**env, "MASTER_ADDR": "n1"})["MASTER_ADDR"] == "n1"
        )
    assert launched_by({**open_mpi, "OMPI_COMM_WORLD_SIZE": "1"}) == {}, "mpirun -n 1 is one process"
    with pytest.raises(Refusal, match="MASTER_ADDR is not: set it to the first rank's host"):
        launched_by({**open_mpi, "OMPI_COMM_WORLD_LOCAL_SIZE": "4"})
    torch = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1", "LOCAL_RANK": "1"}
    assert launched_by({**torch, "OTHER": "x"}) == torch


@for_each(
    ("env", "words"),
    [
        ({"RANK": "0", "WORLD_SIZE": "2"}, "are set, but MASTER_ADDR and MASTER_PORT are not"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "", "MASTER_PORT": "1"}, "are set, but MASTER_ADDR is not"),
        ({**SLURM, "SLURM_PROCID": "8"}, "rank 8 of 8"),
        ({**SLURM, "SLURM_PROCID": "x"}, "rank x of 8"),
    ],
)
def test_a_launcher_that_contradicts_itself(env: dict[str, str], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        launched_by(env)


@for_each(
    ("flags", "words"),
    [
        ({"links": False, "nproc": "2"}, "--nproc requires --links"),
        ({"links": False, "nodes": "a,b"}, "--nodes requires --links"),
        ({"quick": True}, "--links cannot be used with --quick"),
        ({"soak": 5.0}, "--links cannot be used with --soak"),
        ({"nproc": "0"}, "a number from 1 to 1024"),
        ({"nproc": "two"}, "a number from 1 to 1024"),
        ({"nodes": "localhost"}, "two or more different names"),
        ({"nodes": "a,a"}, "two or more different names"),
        ({"nodes": "a,b;rm"}, "two or more different names"),
        ({"nodes": "a:99999,b"}, "99999 is not a valid port"),
        ({"nodes": "198.51.100.1,198.51.100.2"}, "none of them is this machine"),
        ({"nodes": "127.0.0.1,127.0.0.2"}, "127.0.0.1, 127.0.0.2 are all this machine"),
    ],
)
def test_flags_that_are_refused(flags: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        links_of({**FLAGS, **flags}, {}, "cuda")
    assert words in str(refused.value), refused.value


def test_nodes_by_name_and_address() -> None:
    found = links_of({**FLAGS, "nodes": "198.51.100.1:29500,127.0.0.1", "nproc": "4"}, {}, "cuda")
    assert found == Links(processes=4, nodes=("198.51.100.1", "127.0.0.1"), node=1, port=29500)
    assert found is not None and not found.reports
    assert links_of({**FLAGS, "nodes": f"{socket.gethostname()},198.51.100.1"}, {}, "cpu").node == 0  # type: ignore[union-attr]
    with pytest.raises(Refusal, match="--nproc: already set by the launcher that started this process"):
        links_of({**FLAGS, "nproc": "4"}, SLURM, "cuda")
    with pytest.raises(Refusal, match=r"gpu03 \(the first of Slurm's nodes\) cannot be resolved on this machine"):
        links_of(FLAGS, SLURM, "cuda")
    with pytest.raises(Refusal, match=r"no\.such\.host\.invalid \(MASTER_ADDR\) cannot be resolved on this machine"):
        links_of(FLAGS, {**SLURM, "MASTER_ADDR": "no.such.host.invalid"}, "cuda")
    assert links_of(FLAGS, {**SLURM, "MASTER_ADDR": "127.0.0.1"}, "cuda").launched["RANK"] == "5"  # type: ignore[union-attr]
    with pytest.raises(Refusal, match="CUDA_VISIBLE_DEVICES"):
        links_of(FLAGS, {}, "cuda:0,cuda:1")


@pytest.mark.torch_wheel
def test_on_one_node_nothing_listens_on_a_network(with_torch: Path, tmp_path: Path) -> None:
    """torch's TCPStore would, on every interface."""
    env = {**os.environ, "GPUDOCTOR_TEST": str(tmp_path)}
    words = command("prove", "--links", "--device", "cpu", "--timeout", "60", "--python", str(with_torch))
    child = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen: set[str] = set()
    while child.poll() is None:
        seen |= listening(f"GPUDOCTOR_TEST={tmp_path}".encode())
        time.sleep(0.05)
    assert seen == {"0100007F"}, "gloo's own sockets are on 127.0.0.1"


def listening(mark: bytes) -> set[str]:
    """Addresses that marked processes accept connections on, as the kernel writes them."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark not in (folder / "environ").read_bytes():
                continue
            sockets = {os.readlink(fd) for fd in (folder / "fd").iterdir()}
            lines = [
                line.split() for name in ("tcp", "tcp6") for line in (folder / "net" / name).read_text().splitlines()
            ]
        except OSError:
            continue
        found |= {w[1].partition(":")[0] for w in lines if w[3] == "0A" and f"socket:[{w[9]}]" in sockets}
    return found
