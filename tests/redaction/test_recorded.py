"""The raw half: a recording of a machine that carries every secret, in files, variables, answers and noise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from doctor.probes.collect import snapshot_of
from doctor.snapshot.redact import LocalNames, redact
from doctor.targets.agent import AgentResult
from doctor.targets.recording import Recording, read_recording, write_recording

from ..cli.command import gpudoctor
from ..proof.proving import variables
from ..rows import for_each
from .planted import GPU, MIG, NAMES, SECRETS, sentences
from .test_planted import leaks

SITE = "/home/zaphod/venv/lib/python3.11/site-packages"
HEX = GPU[4:].replace("-", "")
UUIDS = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\"[0-9a-f]{32}\"")


def recording() -> Recording:
    """Raw lines as the gatherers write them."""
    s, words = SECRETS, sentences()
    env = {
        "HOSTNAME": s["host in its domain"], "MASTER_ADDR": s["other host"], "RUNPOD_POD_ID": s["pod id"], "PATH": f"/mnt/c/Users/{s['other user']}/bin",
        "CUDA_VISIBLE_DEVICES": f"GPU-{s['gpu uuid beginning']},{MIG}", "LD_LIBRARY_PATH": f"/scratch/{s['user']}/lib",
        "PIP_INDEX_URL": f"https://{s['url user']}@pypi.example/simple?sig={s['url query']}", "CUDA_HOME": f"C:\\Users\\{s['windows user']}\\cuda",
        "NCCL_SOCKET_IFNAME": f"{s['ipv4']}:29500,[{s['ipv6']}]:1", "VLLM_API_TOKEN": s["hf token"],
    }  # fmt: skip
    mounts = f"22 27 0:21 / /home/{s['user']} rw - nfs {s['public ipv4']}:/export rw\n23 27 0:2 /{words[-2]} / rw - overlay o rw\n"
    files: list[dict[str, Any]] = [
        {"at": "env", "values": env},
        {"at": "process", "system": "Linux", "release": "5.15.0-113-generic", "machine": "x86_64", "euid": 0, "cores": 2, "libc": "glibc 2.36"},
        {"at": "file", "path": "/proc/self/mountinfo", "text": mounts},
        {"at": "file", "path": "/proc/self/cgroup", "text": f"{words[-2]}\n"},
        {"at": "dir", "path": "/home", "names": [s["user"], s["tilde user"]], "total": 2},
        {"at": "file", "path": "/proc/driver/nvidia/gpus/0000:65:00.0/information", "text": f"GPU UUID: \t {GPU}\n"},
        {"at": "python", "role": "patient", "prefix": "/home/zaphod/venv", "executable": "/home/zaphod/venv/bin/python", "site_packages": [SITE]},
        {"at": "missing", "path": f"{SITE}/x", "reason": "denied", "detail": f"[{s['long ipv6']}] {s['mac']} {s['mail']}"},
        *({"at": "missing", "path": f"/x{i}", "reason": "error", "detail": text} for i, text in enumerate(words)),
        {"at": "end"},
    ]  # fmt: skip
    error = (
        f"password={s['password']} {s['github token']} {s['aws key']} Authorization: Bearer {s['bearer']} {s['openai key']} {s['jwt']} "
        f"-----BEGIN RSA PRIVATE KEY-----\n{s['private key']}\n-----END RSA PRIVATE KEY-----"
    )
    nvml: list[dict[str, Any]] = [
        {"begin": "nvmlInit_v2"}, {"field": "driver_version", "value": "570.86.10"}, {"field": "uuid", "gpu": 0, "value": GPU},
        {"field": "serial", "gpu": 0, "value": s["serial"]}, {"field": "processes", "gpu": 0, "value": [{"pid": 7, "name": f"/home/{s['other user']}/x"}]},
    ]  # fmt: skip
    return Recording(
        files,
        {
            "nvml": AgentResult(nvml, noise=list(words)),
            "cuda_driver": AgentResult(
                [{"field": name, "value": HEX, "device": 0} for name in ("uuid", "gpu_uuid")],
                stderr_tail="\n".join(words),
            ),
            "torch": AgentResult(
                [{"field": "import", "error": "OSError", "text": error}],
                1,
                "failed",
                "import",
                f"user {s['user']} on {s['host']}",
            ),
        },
        {
            "tool": "0.1.0",
            "kind": "live",
            "name": s["host"],
            "gathered_at": "2026-11-20T00:00:00Z",
            "import_torch": True,
        },
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The recording as it is, and redacted."""
    base = tmp_path_factory.mktemp("recorded")
    write_recording(str(base / "plain"), recording())
    write_recording(str(base / "masked"), recording(), lambda value: redact(value, NAMES))
    return base / "plain", base / "masked"


def written(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.iterdir()))


@for_each("kind", sorted(SECRETS))
def test_no_secret_is_in_a_recorded_folder(kind: str, folders: tuple[Path, Path]) -> None:
    plain, masked = map(written, folders)
    assert leaks(SECRETS[kind], plain), "the secret must be in the original, or nothing is tested"
    assert not leaks(SECRETS[kind], masked)


@for_each("name", ["healthy-h100", "a100-mig", "h200x8"])
def test_no_uuid_of_a_gpu_is_in_what_the_agents_recorded(name: str, fakes: Path, tmp_path: Path) -> None:
    """In any of its forms, whichever agent read it; and a replay knows a GPU from a MIG instance, as a live run does."""
    (tmp_path / "machine").mkdir()
    env = variables(fakes, tmp_path / "machine", name)
    for option, folder in (("--no-redact", "plain"), ("", "masked")):
        words = [option] if option else []
        assert gpudoctor("record", tmp_path / folder, "--no-import", *words, env=env).returncode == 0
    plain, masked = written(tmp_path / "plain"), written(tmp_path / "masked")
    own = {found.group().strip('"') for found in UUIDS.finditer(plain)}
    assert any("-" in one for one in own) and any("-" not in one for one in own)
    assert not [one for one in own if one in masked]
    live, again = (snapshot_of(read_recording(str(tmp_path / folder))) for folder in ("plain", "masked"))
    kinds = [[str(device.uuid)[:4] for device in s.driver.cuda_devices] for s in (live, again)]  # type: ignore[union-attr]
    assert kinds[0] == kinds[1] and kinds[0]


def test_the_uuid_is_not_there_without_its_dashes_either(folders: tuple[Path, Path]) -> None:
    plain, masked = map(written, folders)
    assert HEX in plain and HEX not in masked


@pytest.mark.slow
def test_no_secret_is_in_what_a_replay_prints(folders: tuple[Path, Path]) -> None:
    env = {"LOGNAME": NAMES.user, "USER": NAMES.user, "HOME": NAMES.home}
    for arguments in (["--format", "json"], ["--format", "markdown"], ["-vv"]):
        text = gpudoctor("check", "--replay", folders[0], *arguments, env=env).stdout.decode()
        assert len(text) > 300
        hidden = [kind for kind, secret in SECRETS.items() if leaks(secret, text)]
        assert [kind for kind in hidden if kind not in ("user", "host")] == []


def test_a_masked_recording_is_the_same_machine(folders: tuple[Path, Path]) -> None:
    plain, masked = (snapshot_of(read_recording(str(folder))) for folder in folders)
    for fact in (
        "host.kernel",
        "driver.nvml_driver_version",
        "python.patient.version",
        "torch_run.imported",
        "host.cpu_cores",
    ):
        assert masked.fact(fact) == plain.fact(fact), fact


@for_each("user", ["root", "nvidia", "cuda", "torch", "python3"])
def test_keys_ids_and_versions_stay_when_the_user_is_called_like_a_thing(user: str) -> None:
    names = LocalNames(user=user, host=user, home=f"/home/{user}" if user != "root" else "/root")
    lines = [
        {"at": "library", "name": "libcuda.so.1", "path": "/usr/lib/x86_64-linux-gnu/nvidia/libcuda.so.570.86.10"},
        {"at": "dir", "path": "/usr/local", "names": ["cuda", "cuda-12.8", "python3"], "total": 3},
        {"at": "file", "path": "/opt/torch/version.py", "text": "__version__ = '2.6.0+cu124'\n"},
        {"at": "env", "values": {"CUDA_HOME": "/usr/local/cuda", "PATH": "/usr/local/cuda/bin:/usr/bin/python3"}},
        {"field": "name", "value": "NVIDIA H100 80GB HBM3"}, {"field": "import_error", "text": "no module named torch, nvidia driver, python3"},
        {"at": "exists", "path": "/root/.cache"},
    ]  # fmt: skip
    assert redact(lines, names) == lines
