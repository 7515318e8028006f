"""Pasted texts: what is planted in them does not come out, what is sound in them stays, and they are judged alike."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from overmasking import drawn, overmasked, pieces, words_masked
from planted.draw import leaks, planted
from planted.structures import structured

from doctor.snapshot.redact import LocalNames, Redactor, redact

from ..cli.command import gpudoctor
from ..rows import for_each, quickly, share

ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def test_nothing_planted_leaves_the_door() -> None:
    for seed in (20261122, 7):
        wrong = [
            (one.kind, one.place, found)
            for one in planted(seed, 150)
            if (found := leaks(one.secrets, redact(one.text)))
        ]
        assert wrong == []


@pytest.mark.parametrize("seed", quickly(range(20261126, 20261129), 1))
def test_no_structure_leaks_in_any_position_or_language(seed: int) -> None:
    """Keys in eight languages, flags, printed rows and columns: at the start, in the middle, in tables, JSON, shells."""
    wrong = [
        (one.kind, one.place, found)
        for one in structured(seed, 1 if seed == 20261126 else 0)
        if (found := leaks(one.secrets, redact(one.text)))
    ]
    assert wrong == []


@pytest.mark.slow
def test_of_ten_thousand_words_of_real_logs_at_most_one_is_masked(capsys) -> None:  # type: ignore[no-untyped-def]
    logs, words, gone = words_masked(show=True)
    assert logs >= 5 and words > 50_000
    assert gone * 10_000 <= words, capsys.readouterr().out


@for_each(
    "text",
    [
        "registry-1.docker.io wants a login: docker login registry-1.docker.io",
        "docker login localhost:5000",
        "log in with docker login 123456789012.dkr.ecr.us-east-1.amazonaws.com",
        "huggingface-cli login",
        "it is WSL 1, or its kernel is older than 5.10.43.3",
        "as another user it may not",
        "http://[::1]:29500 127.0.0.1:8080 localhost:6006",
        "normal symbol `OSSL_ENCODER_CTX_set_passphrase' [OPENSSL_3.0.0]",
        "lrwxrwxrwx 1 root root 34 Jun 24 2025 getty@tty1.service -> /lib/systemd/user/getty.service",
        "2026-11-20T02:11:09.123Z ERROR worker: failed",
        "4096 Nov 26 15:12 ssh\ndrwxr-xr-x 4 root root 4096 Nov 26 15:12 ssl",
        '"license": "Apache-2.0"',
        "_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE7replaceEN9__gnu_cxx17__normal_iteratorIPwS4_EES8_",
        "name, driver_version, pci.bus_id\nNVIDIA H100, 550.90.07, 00000000:65:00.0",
        "key,node,gpu\nlr,2,8",
        "unless user specifies one",
    ],
)
def test_advice_versions_loopback_and_listings_stay(text: str) -> None:
    assert redact(text) == text


@for_each(
    ("text", "secret"),
    [
        ("비밀번호: qwe123rty", "qwe123rty"),
        ("hasło=tajne123", "tajne123"),
        ("wachtwoord: geheim12", "geheim12"),
        ("mon mot de passe est Zx81Qw77 et", "Zx81Qw77"),
        ("パスワードは「hunter2xyz」です", "hunter2xyz"),
        ("rsync --password-file <(echo 'ab cd 12') a b", "ab cd 12"),
        ("snmpget -v2c -c priv8com sw1 x", "priv8com"),
        ("| Benutzer | Rechner |\n|---|---|\n| trillianx | gpu-kiste7 |", "gpu-kiste7"),
        ("Seriennummer,Modell\n13245210,H100", "13245210"),
        ("cat /etc/machine-id\n0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ("ssh://git@gitlab.lab.example:2222/trillianx/x.git", "trillianx"),
    ],
)
def test_members_of_the_classes_that_nothing_was_drawn_from(text: str, secret: str) -> None:
    assert secret not in redact(text)


def test_the_owner_of_a_repository_is_masked_in_its_place_alone() -> None:
    """It is also the name of a product: `git clone git@github.com:pydantic/pydantic`."""
    text = "git clone git@github.com:pydantic/pydantic.git && pip install pydantic pydantic-core"
    assert redact(text) == text.replace("com:pydantic", "com:user-1")


@pytest.mark.parametrize("part", quickly(range(6), 6))
def test_nothing_planted_leaves_the_command_and_the_masks_agree(part: int) -> None:
    """Lines that the report cites, with the secret before something rewrites them."""
    lines = (
        ("zaphodb@heartofgold-7:~/run$ python train.py: {}", ("zaphodb", "heartofgold-7")),
        ("db_password = hunter2xyz; {}", ("hunter2xyz",)),
        ("**token**: ghp_{t} {}", ("0aB1" * 9,)),
        ("{} < Cookie: sid=c29tZXRoaW5n; theme=dark", ("c29tZXRoaW5n",)),
        ("&quot;api_key&quot;: &quot;Zx81Qw77Lm&quot; {}", ("Zx81Qw77Lm",)),
        ("postgresql://trillian:p4ss/w0rd@db.corp:5432/x {}", ("trillian", "p4ss/w0rd")),
        ("$ docker login -u arthurd -p Zz19Kq registry.example.com; {}", ("arthurd", "Zz19Kq")),
        ("\x1b[32mwandb login\x1b[0m 0123456789abcdef0123456789abcdef01234567 {}", ("0123456789abcdef",)),
        ("/data/users/trillianm/venv/bin/python /scratch/fordpref/x /u/marvinpa/y: {}", ("trillianm", "fordpref", "marvinpa")),
        ("Serial Number: 1324521007734, ether 3c:ec:ef:12:ab:9f {}", ("1324521007734", "3c:ec:ef")),
    )  # fmt: skip
    for template, secrets in share(lines, part, 6):
        text = template.replace("{t}", "0aB1" * 9).replace("{}", ERROR.strip())
        for options in (["--format", "json"], ["-vv"], ["--format", "markdown"]):
            said = gpudoctor("explain", "-", *options, data=text.encode()).stdout.decode()
            assert "no kernel image" in " ".join(said.split()), template
            assert [secret for secret in secrets if secret in said] == [], template


def test_no_redact_keeps_a_pasted_text_as_it_is() -> None:
    text = f"zaphodb@heartofgold-7:~/run$ x: {ERROR}"
    assert b"heartofgold-7" in gpudoctor("explain", "-", "--format", "json", "--no-redact", data=text.encode()).stdout


def test_a_fact_that_nobody_asked_for_is_no_host() -> None:
    """`driver.device_nodes: not-asked` stands among the reasons, where `node: name` names a machine."""
    for options in (["-v"], ["--format", "markdown"], ["--format", "json"]):
        said = gpudoctor("explain", "-", *options, data=b"GPU 0: NVIDIA H100\nCUDA error: 999\n").stdout.decode()
        assert not re.search(r"\bhost-\d", said), options


@pytest.mark.slow
def test_sound_texts_stay_and_are_judged_alike(capsys) -> None:  # type: ignore[no-untyped-def]
    assert overmasked(20261122, 300, show=True) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_the_sound_pieces_are_there_at_all() -> None:
    found = {kind: sum(pieces(text)[kind].total() for _, text in drawn(1, 60)) for kind in pieces("")}
    assert all(found.values()), found


def test_a_mask_is_the_same_in_the_text_and_in_the_report() -> None:
    masks = Redactor(LocalNames("zaphod", "magrathea", "/home/zaphod"))
    text = masks.pasted("trillian@nid0042:~$ ls /home/trillian /home/zaphod\nssh nid0042 hostname\n")
    assert text == "user-2@host-2:~$ ls /home/user-2 /home/user-1\nssh host-2 hostname\n"
    masks.learn("see /home/trillian and /home/marvin on nid0042")
    assert (
        masks.value("see /home/trillian and /home/marvin on nid0042") == "see /home/user-2 and /home/user-3 on host-2"
    )


def test_masking_twice_changes_nothing() -> None:
    for one in planted(3, 150):
        once = redact(one.text)
        assert redact(once) == once, one


def test_a_user_called_like_a_word_is_masked_where_a_name_stands_alone() -> None:
    text = "will@nid0042:~$ python x.py\nit will fail, /home/will/x\n"
    assert redact(text) == "user-1@host-1:~$ python x.py\nit will fail, /home/user-1/x\n"


def test_versions_of_four_parts_are_no_addresses() -> None:
    for line in (
        "libcurand 10.3.9.90 0 nvidia",
        "nvidia-curand-cu12==10.3.9.90",
        "TensorRT: 10.0.1.6",
        "upgraded from cudnn 8.9.2.26",
        "Kernel: 6.6.87.1-microsoft-standard-WSL2",
        "connect to 172.17.0.2<38847> failed",
    ):
        assert redact(line) == line
    assert redact("MASTER_ADDR=10.42.7.19 worker 10.0.0.5 died") == "MASTER_ADDR=192.0.2.1 worker 192.0.2.2 died"


def test_a_name_in_a_sentence_is_masked_and_a_word_is_not() -> None:
    assert redact("my USER is zaphodb, the hostname is nid0042") == "my USER is user-1, the hostname is host-1"
    for line in ("the host is unreachable", "the user is not in the video group", "my hostname is unknown"):
        assert redact(line) == line
