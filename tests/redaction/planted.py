"""A Snapshot with secrets planted wherever a fact could carry one; none of them may be printed."""

from __future__ import annotations

from doctor.snapshot import (
    Disk,
    Distribution,
    EnvVar,
    GpuProcess,
    Missing,
    Snapshot,
    Target,
)
from doctor.snapshot.redact import LocalNames

from ..healthy import healthy

NAMES = LocalNames(user="zaphod", host="heartofgold", home="/home/zaphod")
GPU = "GPU-5f3a9c1e-77aa-4b1c-9d2e-0123456789ab"
MIG = "MIG-0a1b2c3d-1111-2222-3333-444455556666"

SECRETS = {
    "user": "zaphod",
    "other user": "trillian",
    "windows user": "Arthur Dent",
    "host": "heartofgold",
    "host in its domain": "heartofgold.corp.example.org",
    "other host": "magrathea-17",
    "ipv4": "10.42.7.19",
    "public ipv4": "8.34.201.7",
    "ipv6": "fd00:1234:5678::9abc",
    "long ipv6": "2a01:4f8:c17:b0f1:0:0:0:2",
    "mac": "3c:ec:ef:12:ab:9f",
    "gpu uuid": GPU[4:],
    "gpu uuid beginning": "5f3a9c1e",
    "mig uuid": MIG[4:],
    "serial": "1324521007734",
    "hf token": "hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "github token": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "aws key": "AKIAIOSFODNN7EXAMPLE",
    "openai key": "sk-proj-abc123def456ghi789jkl012",
    "url user": "ford:prefect42",
    "url query": "c2lnbmF0dXJl",
    "password": "mostlyHarmless1",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.dGhlYW5zd2Vy",
    "mail": "marvin@sirius-cybernetics.com",
    "pod id": "p0d-8xk2mq7w",
    "bearer": "dGhpcy1pcy1zZWNyZXQ",
    "private key": "MIIEpAIBAAKCAQEA7bq",
}


def planted() -> Snapshot:
    """A healthy machine that carries every secret."""
    s = SECRETS
    gpu = healthy().gpus[0]  # type: ignore[index]
    site = f"/home/{s['user']}/venv/lib/python3.11/site-packages"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{s['private key']}\n-----END RSA PRIVATE KEY-----"
    snapshot = healthy().replace(
        {
            "target": Target(kind="live", name=s["host"], gathered_at="2026-11-20T00:00:00Z"),
            "gpus": (
                gpu.with_(
                    key=GPU, uuid=GPU, serial=s["serial"],
                    processes=(GpuProcess(pid=7, name=f"/home/{s['other user']}/train.py --token {s['hf token']}"),),
                ),
            ),
            "host.environment": (
                EnvVar("CUDA_VISIBLE_DEVICES", f"GPU-{s['gpu uuid beginning']},{MIG}"),
                EnvVar("HOSTNAME", s["host in its domain"]),
                EnvVar("MASTER_ADDR", s["other host"]),
                EnvVar("RUNPOD_POD_ID", s["pod id"]),
                EnvVar("HF_TOKEN", "short"),
                EnvVar("LD_LIBRARY_PATH", f"/scratch/{s['user']}/lib:/usr/lib"),
                EnvVar("PIP_INDEX_URL", f"https://{s['url user']}@pypi.example/simple?sig={s['url query']}&v=1"),
                EnvVar("NCCL_SOCKET", f"{s['ipv4']}:29500,[{s['ipv6']}]:1"),
                EnvVar("PATH", f"/mnt/c/Users/{s['other user']}/bin:C:\\Users\\{s['windows user']}\\bin"),
            ),
            "host.disks": (Disk(role="environment", path=f"/home/{s['user']}/venv", free_mib=9000),),
            "container.evidence": f"/home/{s['user']}: mounted from {s['public ipv4']}:/export",
            "python.patient": healthy().python.patient.with_(
                prefix=f"/home/{s['user']}/venv", executable=f"/home/{s['user']}/venv/bin/python", site_packages=(site,)
            ),
            "python.distributions": (
                Distribution(
                    name="torch", version="2.8.0", location=site,
                    requires=(f"extra @ https://{s['url user']}@host.example/x.whl", "nvidia-curand-cu12==10.3.9.90"),
                    problem=f"METADATA: Author: {s['mail']}",
                ),
            ),
            "torch_run.import_error": (
                f"OSError: [{s['long ipv6']}] {s['mac']} password={s['password']} {s['github token']} {s['aws key']} "
                f"Authorization: Bearer {s['bearer']} {s['openai key']} {s['jwt']} {key}"
            ),
            "torch_run.warnings": (f"user {s['user']} on {s['host']} has no cache at '/home/{s['user']}/.cache'",),
            "driver.libcuda_path": Missing("denied", f"/home/{s['user']}/lib/libcuda.so.1"),
            "witnesses": {"driver.kernel_version": (f"/home/{s['user']}/proc", f"ssh {s['user']}@{s['other host']}")},
        }
    )  # fmt: skip
    assert isinstance(snapshot, Snapshot)
    return snapshot
