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
    "pgp key": "lQOYBGRTbGFydGliYXJ0",
    "openssh key": "b3BlbnNzaC1rZXktdjEAAAAA",
    "ssh public key": "AAAAC3NzaC1lZDI1NTE5AAAAIGZvcmR5LXR3by1pcy10aGUtYW5zd2Vy",
    "comment of a ssh key": "fenchurch@rickmansworth",
    "aws secret key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY",
    "aws account": "424242424242",
    "aws instance": "i-0a1b2c3d4e5f60718",
    "azure account key": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
    "google key": "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "google token": "ya29.a0AfH6SMBx-infinite-improbability",
    "gitlab token": "glpat-Deep_Thought-42424242",
    "slack token": "xoxb-42424242-krikkitkrikkit",
    "slack webhook": "T0SLARTI/B0BARTFAST/fjordsfjordsfjords",
    "discord webhook": "424242424242424242/vogon-poetry_third_worst",
    "telegram token": "1234567890:AAH-oolon_colluphid_wrote_this_12345",
    "stripe key": "sk_live_42beeblebrox42beeble",
    "sendgrid key": "SG.magrathea42magrathea.planetsplanetsplanets",
    "npm token": "npm_towel42towel42towel42towel",
    "pypi token": "pypi-AgEIcHlwaS5vcmcCJGRvbnQtcGFuaWMtNDJkb250cGFuaWM0Mg",
    "docker token": "dckr_pat_pan-galactic_gargle",
    "nvidia key": "nvapi-eddie-shipboard-computer-42",
    "runpod key": "rpa_HEARTOFGOLDHEARTOFGOLD42",
    "groq key": "gsk_agrajag42agrajag42agrajag",
    "wandb key of a netrc": "0123456789abcdef0123456789abcdef01234567",
    "password of a proxy without a scheme": "dent:teaAndNoTea",
    "password with an at sign": "p@ss@42@nutrimatic",
    "password behind a colon": "shareAndEnjoy9",
    "password of curl": "hotblack:desiato42",
    "key in a header": "9f8e7d6c5b4a",
    "cookie": "improbability-level-2-to-the-42",
    "docker login": "d293YmFnZ2VyOjQy",
    "tilde user": "roosta",
    "macos user": "eccentrica",
    "private host": "betelgeuse.seven.internal",
    "cloud host": "ip-10-42-7-23",
    "dashed mac": "3C-EC-EF-34-CD-8A",
    "infiniband address": "fe80:0000:0000:0000:506b:4b03:00a1:b2c3",
    "serial in words": "0329-4242-1337",
    "container id": "7f3e9a" + "0c1d2e3f4a5b6978" * 3 + "8899aabbcc",
    "windows sid": "S-1-5-21-4242424242-1337133713-4200042000-1001",
}
NAMES_ALONE = ("user", "other user", "windows user", "host", "host in its domain", "other host", "tilde user", "macos user",
               "private host", "cloud host", "ipv4", "public ipv4", "ipv6", "long ipv6", "mac", "mail", "pod id", "gpu uuid",
               "gpu uuid beginning", "mig uuid", "serial", "serial in words", "dashed mac", "infiniband address",
               "container id", "windows sid", "comment of a ssh key")  # fmt: skip
"""What names somebody or something, and opens nothing."""
CREDENTIALS = {kind: secret for kind, secret in SECRETS.items() if kind not in NAMES_ALONE}


def sentences() -> tuple[str, ...]:
    """Error messages, log lines and paths that carry the secrets of text, as programs write them."""
    s = SECRETS
    return (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{s['pgp key']}\n-----END PGP PRIVATE KEY BLOCK-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{s['openssh key']}",
        f"known key: ssh-ed25519 {s['ssh public key']} {s['comment of a ssh key']}",
        f"aws_secret_access_key = {s['aws secret key']}",
        f"AccessDenied: User: arn:aws:iam::{s['aws account']}:role/deep is not authorized on {s['aws instance']}",
        f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={s['azure account key']}==;EndpointSuffix=y",
        f"403 for key {s['google key']} and {s['google token']} and {s['gitlab token']} and {s['slack token']}",
        f"POST https://hooks.slack.com/services/{s['slack webhook']} https://discord.com/api/webhooks/{s['discord webhook']}",
        f"bot {s['telegram token']} {s['stripe key']} {s['sendgrid key']} {s['npm token']} {s['pypi token']}",
        f"{s['docker token']}, {s['nvidia key']}, {s['runpod key']}; {s['groq key']}.",
        f"machine api.wandb.ai login user password {s['wandb key of a netrc']}",
        f"proxy {s['password of a proxy without a scheme']}@gateway.example.net:3128 refused",
        f"http://vogon:{s['password with an at sign']}@proxy.example.net:3128/",
        f"login failed, password: {s['password behind a colon']}",
        f"+ curl -u {s['password of curl']} -H 'X-Api-Key: {s['key in a header']}' -H 'Cookie: sid={s['cookie']}'",
        f'{{"auths": {{"nvcr.io": {{"auth": "{s["docker login"]}"}}}}}}',
        f"no such file: ~{s['tilde user']}/lib/libcuda.so.1, /Users/{s['macos user']}/Library/Caches",
        f"Looking in indexes: https://{s['private host']}/simple, {s['cloud host']}:8080",
        f"eth0 {s['dashed mac']} ib0 [{s['infiniband address']}]",
        f"    Serial Number                         : {s['serial in words']}",
        f"0::/docker/{s['container id']} /var/lib/docker/overlay2/{s['container id']}/merged",
        f"owner {s['windows sid']}",
    )


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
                    key=GPU,
                    uuid=GPU,
                    serial=s["serial"],
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
                    name="torch",
                    version="2.8.0",
                    location=site,
                    requires=(f"extra @ https://{s['url user']}@host.example/x.whl", "nvidia-curand-cu12==10.3.9.90"),
                    problem=f"METADATA: Author: {s['mail']}",
                ),
            ),
            "torch_run.import_error": (
                f"OSError: [{s['long ipv6']}] {s['mac']} password={s['password']} {s['github token']} {s['aws key']} "
                f"Authorization: Bearer {s['bearer']} {s['openai key']} {s['jwt']} {key}"
            ),
            "torch_run.warnings": (
                f"user {s['user']} on {s['host']} has no cache at '/home/{s['user']}/.cache'",
                *sentences()[::2],
            ),
            "driver.libcuda_path": Missing("denied", f"/home/{s['user']}/lib/libcuda.so.1"),
            "torch_run.cudnn_error": "\n".join(sentences()[1::4]),
            "witnesses": {
                "driver.kernel_version": (f"/home/{s['user']}/proc", f"ssh {s['user']}@{s['other host']}"),
                "torch.version": sentences()[3::4],
            },
        }
    )
    assert isinstance(snapshot, Snapshot)
    return snapshot
