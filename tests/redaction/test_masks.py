"""Masks are stable pseudonyms that keep the shape of what they stand for."""

from __future__ import annotations

import re

from doctor.snapshot import EnvVar
from doctor.snapshot.redact import LocalNames, Redactor, redact

from ..healthy import healthy
from ..rows import for_each
from .planted import NAMES, planted

A, B = "GPU-5f3a9c1e-77aa-4b1c-9d2e-0123456789ab", "GPU-5f3b0000-77aa-4b1c-9d2e-0123456789ab"

SUM = "3f2a9bc0d1e4" * 5 + "77ab"
"""A SHA-256 checksum."""


def masked(text: str, names: LocalNames = NAMES, key: str = "", also: tuple[str, ...] = ()) -> str:
    """One text masked after it (and others) was learned."""
    redactor = Redactor(names)
    redactor.learn([*also, text])
    return redactor.text(text, key)


def test_a_uuid_has_one_mask_everywhere_and_stays_a_uuid() -> None:
    text = masked(f"{A} {B} {A.lower()} again {A}")
    first, second, _, _, third = text.split()
    assert first == third != second
    assert re.fullmatch(r"GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", first)
    assert masked(A) == first, "also in another report"


@for_each("device", [A, B])
@for_each("length", range(5, 41))
def test_a_beginning_means_the_same_gpus_as_before(device: str, length: int) -> None:
    snapshot = healthy("l4", "l4")
    gpus = tuple(g.with_(key=u, uuid=u) for g, u in zip(snapshot.gpus, (A, B), strict=True))  # type: ignore[arg-type]
    before = snapshot.replace({"gpus": gpus, "host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", device[:length]),)})
    after = redact(before)

    def picked(s: object) -> list[int]:
        value = s.host.env("CUDA_VISIBLE_DEVICES")  # type: ignore[attr-defined]
        return [i for i, g in enumerate(s.gpus) if g.uuid.startswith(value)]  # type: ignore[attr-defined]

    assert picked(after) == picked(before) != []
    assert device[:length] != after.host.env("CUDA_VISIBLE_DEVICES") or length < 9


def test_a_beginning_of_no_gpu_still_picks_none() -> None:
    before = healthy().replace(
        {"host.environment": (EnvVar("CUDA_VISIBLE_DEVICES", "GPU-beef,GPU-b,0,-1,NoDevFiles"),)}
    )
    after = redact(before)
    values = str(after.host.env("CUDA_VISIBLE_DEVICES")).split(",")
    assert values[2:] == ["0", "-1", "NoDevFiles"]
    uuid = str(after.gpus[0].uuid)  # type: ignore[index]
    assert not any(uuid.startswith(value) for value in values)


@for_each("user", ["root", "nvidia", "cuda", "torch", "python", "lib", "ubuntu", "x", "42"])
def test_a_user_named_like_a_thing_breaks_nothing(user: str) -> None:
    names = LocalNames(user=user, host=user, home=f"/home/{user}")
    snapshot = healthy().replace({"cuda.cuda_home": "/usr/local/cuda", "torch_run.import_error": f"no {user} x"})
    after = redact(snapshot, names)
    assert after.python == snapshot.python
    assert after.torch == snapshot.torch
    assert after.cuda == snapshot.cuda
    assert masked(f"/home/{user}/venv/lib/python3.11", names) == "/home/user-1/venv/lib/python3.11"


def test_only_whole_path_parts_are_names() -> None:
    names = LocalNames(user="ann", home="/home/ann")
    assert masked("/opt/annex/ann/lib/annotations.py", names) == "/opt/annex/user-1/lib/annotations.py"
    assert masked("torch 2.8.0+ann", names) == "torch 2.8.0+ann"
    assert masked("ann", names) == "ann", "a single word is an identifier"


def test_a_path_keeps_its_beginnings() -> None:
    paths = [
        "/home/zaphod",
        "/home/zaphod/venv",
        "/home/zaphod/venv/bin/python",
        "/home/zaphodius/x",
        "/data/zaphod/venv",
    ]
    redactor = Redactor(NAMES)
    redactor.learn(paths)
    after = [redactor.text(path) for path in paths]
    for i, short in enumerate(paths):
        for j, long in enumerate(paths):
            assert long.startswith(short + "/") == after[j].startswith(after[i] + "/"), (short, long)


def test_a_home_folder_outside_of_home() -> None:
    names = LocalNames(user="u1042", home="/mnt/lab7/jdoe")
    assert masked("/mnt/lab7/jdoe/venv", names) == "/mnt/lab7/user-2/venv"


def test_a_command_can_still_be_typed() -> None:
    command = "export PATH=/home/zaphod/venv/bin:$PATH\n/home/zaphod/venv/bin/python -m pip install --target /home/zaphod/x torch"
    assert masked(command, key="command") == (
        "export PATH=~/venv/bin:$PATH\n~/venv/bin/python -m pip install --target ~/x torch"
    )


@for_each(
    ("command", "typed"),
    [
        ("'/home/zaphod/my envs/gpu/bin/python' -m pip list", "~/'my envs/gpu/bin/python' -m pip list"),
        ("export LD_LIBRARY_PATH='/home/zaphod/my lib:/opt'", "export LD_LIBRARY_PATH=~/'my lib:/opt'"),
        ("export LD_LIBRARY_PATH=/opt:/home/zaphod/a:/home/zaphod/b", "export LD_LIBRARY_PATH=/opt:~/a:~/b"),
        ("export LD_LIBRARY_PATH=/home/zaphod:/home/zaphod/b", "export LD_LIBRARY_PATH=~:~/b"),
    ],
)
def test_a_command_with_quotes_or_lists_can_still_be_typed(command: str, typed: str) -> None:
    assert masked(command, key="command") == typed


def test_a_note_with_a_command_can_still_be_typed() -> None:
    text = "With uv: uv pip install --python /home/zaphod/venv/bin/python torch==2.8.0"
    assert masked(text, key="note") == "With uv: uv pip install --python ~/venv/bin/python torch==2.8.0"


def test_masking_twice_changes_nothing_more() -> None:
    once = redact(planted(), NAMES)
    assert redact(once, NAMES) == once


@for_each(
    "text",
    [
        "cuDNN version 9.10.2.21",
        "nvidia-cublas-cu12==12.8.4.1",
        "libcurand.so.10.3.9.90",
        "tokenizers==0.20.1",
        "0000:65:00.0",
        "https://download.pytorch.org/whl/cu128",
        "sm_90 compute_90",
        "c10::Error at std::__cxx11",
        "127.0.0.1:29500",
        "0.0.0.0",
        "::1",
        "12:30:45",
        "git@github.com",
        "sk-learn-something",
        "GPU-accelerated",
        "a1cb3cc05d46d198467bebbb6e8fba50a325d4e7",
        "/usr/home",
        "repo.git@v1.2.3",
        "key: value",
        "5.15.0-1049-aws",
        f"torch @ https://download.pytorch.org/whl/cu128/torch-2.8.0%2Bcu128-cp311-cp311-linux_x86_64.whl#sha256={SUM}",
        f"https://example.org/a.whl#md5={SUM[:32]}",
        f"https://example.org/a.tar.gz#egg=flash_attn&subdirectory=csrc/layer_norm&sha512={2 * SUM}",
        "/users/shared/conda/lib/python3.11",
        "/data/users/public/models/x.safetensors",
        "/home/shared/conda/lib",
        "/mnt/users/software/cuda-12.8",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_what_looks_like_a_checksum_or_stands_beside_a_shared_folder_is_masked() -> None:
    for url in (
        f"https://example.org/a?sig={SUM}",
        f"https://example.org/a?sha256={SUM}",
        "https://a.org/b#sha256=x9Yz8Qw7",
    ):
        assert masked(url).endswith("=***"), url
    assert masked("/data/users/shared/trillianm/x") == "/data/users/shared/user-2/x"
    assert masked("/users/trillianm/shared/x") == "/users/user-2/shared/x"


def test_raw_lines_are_masked_by_what_their_field_says() -> None:
    lines = [
        {"at": "dir", "path": "/home", "names": ["zaphod", "zaphodius"], "total": 2},
        {"at": "env", "values": {"HOSTNAME": "heartofgold", "CUDA_VERSION": "12.8.1"}},
        {"field": "uuid", "value": "5f3a9c1e77aa4b1c9d2e0123456789ab", "ordinal": 0},
        {"at": "file", "path": "/proc/driver/nvidia/gpus/0/information", "text": f"GPU UUID: \t {A}\n"},
        {"at": "missing", "path": "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"},
    ]
    redactor = Redactor(NAMES)
    redactor.learn(lines)
    after = redactor.value(lines)
    assert after[0]["names"] == ["user-1", "user-2"]
    assert after[1]["values"] == {"HOSTNAME": "host-1", "CUDA_VERSION": "12.8.1"}
    assert after[2]["value"] == str(after[3]["text"]).split("GPU-")[1].strip().replace("-", "")
    assert after[2]["value"] != lines[2]["value"]
    assert after[4] == lines[4]


def test_a_very_long_text_is_masked_in_time() -> None:
    for text in (
        "a" * 200_000,
        "token" * 40_000,
        "/home/" * 30_000,
        "1." * 100_000,
        ":" * 100_000,
        "GPU-" * 50_000,
        "@" * 9999,
    ):
        assert len(masked(text)) > 0


def test_a_block_under_a_key_ends_where_the_indent_does() -> None:
    """YAML: the lines that are deeper than the key are its value, and no others."""
    for deep in ("", "  ", "      "):
        text = f"{deep}password: |\n{deep}  Hunter2first\n\n{deep}    Hunter2second\n{deep}replicas: three\n{deep}  image: cuda\n"
        found = masked(text)
        assert "Hunter2" not in found
        assert f"\n{deep}replicas: three\n{deep}  image: cuda\n" in found


def test_four_numbers_behind_a_letter_or_a_sign_are_a_version() -> None:
    for before in ("cublas-", "v", "cudnn_", ">=", "==", "~=", "+", "a/", "<", "!="):
        text = f"nvidia {before}12.8.4.1 is there"
        assert redact(text) == text, before
    assert "12.8.4.1" not in redact("connect to 12.8.4.1")
