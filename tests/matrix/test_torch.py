"""torch releases, builds, Pythons and companion packages."""

from __future__ import annotations

from compat_matrix import Matrix
from compat_matrix.versions import torch_version

from ..rows import for_each


@for_each(
    ("text", "status", "base", "tag"),
    [
        ("2.6.0+cu124", "known", "2.6.0", "cu124"),
        ("2.15.0", "known", "2.15.0", None),
        ("2.7.0+cpu", "known", "2.7.0", None),
        ("2.9.0.dev20250801+cu128", "nightly", "2.9.0", "cu128"),
        ("2.8.0a0+34c6371d24.nv25.08", "vendor", "2.8.0", None),
        ("2.5.0a0+872d972e41.nv24.08", "vendor", "2.5.0", None),
        ("2.1.0a0+gitunknown", "vendor", "2.1.0", None),
        ("2.6.0rc1", "prerelease", "2.6.0", None),
        ("2.99.0", "newer-than-matrix", "2.99.0", None),
        ("3.0.0+cu140", "newer-than-matrix", "3.0.0", "cu140"),
        ("1.7.1", "unlisted", "1.7.1", None),
        ("1.8.2", "unlisted", "1.8.2", None),
        ("2.4", "known", "2.4.0", None),
        ("torch", "unreadable", "", None),
        ("", "unreadable", "", None),
    ],
)
def test_release(m: Matrix, text: str, status: str, base: str, tag: str | None) -> None:
    answer = m.torch_release(text)
    assert (answer.status, answer.base, answer.tag) == (status, base, tag)


def test_pieces_of_a_version() -> None:
    parts = torch_version("2.6.0+cu124.with.pypi.cudnn")
    assert parts is not None and parts.tag == "cu124" and parts.kind == "release"


DEFAULTS = {
    "1.8.0": "cu102", "1.12.1": "cu102", "1.13.0": "cu117", "2.0.1": "cu117", "2.1.0": "cu121", "2.4.1": "cu121",
    "2.5.0": "cu124", "2.6.0": "cu124", "2.7.1": "cu126", "2.8.0": "cu128", "2.10.0": "cu128", "2.11.0": "cu130",
    "2.14.1": "cu130", "2.15.0": "cu132",
}  # fmt: skip


@for_each(("torch", "tag"), DEFAULTS.items())
def test_what_a_plain_install_gives(m: Matrix, torch: str, tag: str) -> None:
    assert m.pypi_tag(torch) == tag
    assert m.pypi_tag(torch, "windows") == "cpu"
    build = m.torch_build(torch, tag)
    assert build is not None and build.pypi_default and build.confidence == "measured" and build.ptx == ()


def test_plain_install_on_arm(m: Matrix) -> None:
    assert m.pypi_tag("2.10.0", "linux_aarch64") == "cpu"
    assert m.pypi_tag("2.11.0", "linux_aarch64") == "cu130"
    assert m.pypi_tag("2.99.0") is None


@for_each(
    ("torch", "tag", "sass"),
    [
        ("1.12.1", "cu102", "3.7 5.0 6.0 7.0"),
        ("1.12.1", "cu116", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"),
        ("2.0.1", "cu117", "3.7 5.0 6.0 7.0 7.5 8.0 8.6"),
        ("2.0.1", "cu118", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.1.2", "cu121", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.6.0", "cu124", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.7.1", "cu126", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.7.1", "cu128", "7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.8.0", "cu128", "7.0 7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.8.0", "cu126", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.10.0", "cu128", "7.0 7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.11.0", "cu128", "7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.11.0", "cu130", "7.5 8.0 8.6 9.0 10.0 12.0"),
        ("2.14.1", "cu126", "5.0 6.0 7.0 7.5 8.0 8.6 9.0"),
        ("2.15.0", "cu132", "7.5 8.0 8.6 9.0 10.0 12.0"),
    ],
)
def test_machine_code_of_builds(m: Matrix, torch: str, tag: str, sass: str) -> None:
    build = m.torch_build(torch, tag)
    assert build is not None and " ".join(build.sass) == sass and build.published == "yes"


def test_builds_of_unreleased_torch_are_not_guessed(m: Matrix) -> None:
    assert m.torch_builds("2.8.0a0+34c6371d24.nv25.08") == ()
    assert m.torch_builds("2.9.0.dev20250801") == ()
    assert m.torch_build("2.8.0+cu128", "cu128") == m.torch_build("2.8.0", "cu128")


def test_builds_not_known_to_be_published(m: Matrix) -> None:
    dropped = m.torch_build("2.15.0", "cu126")
    assert dropped is not None and dropped.published == "dropped"
    assert all(build.torch != "2.15.0" for build in m.torch_for("7.0"))
    assert m.torch_for("7.0")[0].torch == "2.14.1"
    assert {build.tag for build in m.torch_for("7.0") if build.torch == "2.14.1"} == {"cu126"}
    assert m.torch_for("3.5") == ()


@for_each(
    ("torch", "python", "platform", "grade"),
    [
        ("2.15.0", "3.11", "linux_x86_64", "ok"),
        ("2.15.0", "3.10", "linux_x86_64", "too-old"),
        ("2.15.0", "3.15", "linux_x86_64", "ok"),
        ("2.14.1", "3.15", "linux_x86_64", "too-new"),
        ("2.13.0", "3.15", "linux_x86_64", "ok"),
        ("2.8.0", "3.14", "linux_x86_64", "too-new"),
        ("2.8.0", "3.9", "linux_x86_64", "ok"),
        ("2.9.0", "3.9", "linux_x86_64", "too-old"),
        ("2.5.1", "3.13", "linux_x86_64", "ok"),
        ("2.5.1", "3.13", "windows", "too-new"),
        ("2.12.1", "3.13t", "linux_x86_64", "no-wheel"),
        ("2.12.1", "3.14t", "linux_x86_64", "ok"),
        ("1.13.1", "3.11.4", "linux_x86_64", "ok"),
        ("1.13.1", "3.12", "linux_x86_64", "too-new"),
        ("1.9.1", "3.8", "linux_aarch64", "unknown"),
        ("2.99.0", "3.11", "linux_x86_64", "unknown"),
        ("2.8.0", "python", "linux_x86_64", "unknown"),
        ("2.8.0a0+1.nv25.08", "3.12", "linux_x86_64", "unknown"),
    ],
)
def test_python(m: Matrix, torch: str, python: str, platform: str, grade: str) -> None:
    assert m.python_for_torch(torch, python, platform).grade == grade


def test_torch_for_python(m: Matrix) -> None:
    assert m.torch_for_python("3.9")[0].torch == "2.8.0"
    assert m.torch_for_python("3.8")[0].torch == "2.4.1"
    assert m.torch_for_python("2.7") == ()


@for_each(
    ("torch", "package", "versions"),
    [
        ("2.6.0", "torchvision", ("0.21.0",)),
        ("2.0.0", "torchvision", ("0.15.1",)),
        ("1.10.0", "torchvision", ("0.11.1",)),
        ("2.14.0", "torchvision", ("0.29.0", "0.29.1", "0.29.2")),
        ("2.15.0", "torchvision", ("0.29.1", "0.29.2")),
        ("2.6.0", "torchaudio", ("2.6.0",)),
        ("2.0.1", "torchaudio", ("2.0.2",)),
        ("2.11.0", "torchaudio", ("2.11.0", "2.11.1")),
        ("2.3.1", "torchtext", ("0.18.0",)),
        ("2.2.0", "torchtext", ("0.17.0",)),
        ("2.8.0", "triton", ("3.4.0",)),
        ("2.8.0", "torchcodec", ("0.6", "0.7")),
    ],
)
def test_companions(m: Matrix, torch: str, package: str, versions: tuple[str, ...]) -> None:
    found = {answer.package: answer.versions for answer in m.companions(torch)}
    assert found[package] == versions


@for_each(
    ("torch", "package", "version", "grade"),
    [
        ("2.6.0", "torchvision", "0.21.0", "match"),
        ("2.6.0+cu124", "torchvision", "0.21.0+cu124", "match"),
        ("2.6.0", "torchvision", "0.20.1", "mismatch"),
        ("2.13.0", "torchvision", "0.29.1", "mismatch"),
        ("2.14.1", "torchvision", "0.29.1", "match"),
        ("2.14.1", "torchvision", "0.29.0", "mismatch"),
        ("2.99.0", "torchvision", "0.29.2", "match"),
        ("2.99.0", "torchvision", "0.21.0", "mismatch"),
        ("2.6.0", "torchvision", "9.9.9", "unknown"),
        ("2.8.0a0+1.nv25.08", "torchvision", "0.22.0", "unknown"),
        ("2.6.0", "torchvision", "0.22.0.dev20250101", "unknown"),
        ("2.6.0", "torchaudio", "2.6.0", "match"),
        ("2.6.0", "torchaudio", "2.5.1", "mismatch"),
        ("2.14.0", "torchaudio", "2.11.0", "match"),
        ("2.8.0", "torchaudio", "2.11.0", "unknown"),
        ("2.10.0", "torchaudio", "2.11.1", "mismatch"),
        ("2.15.0", "torchaudio", "2.11.1", "match"),
        ("2.8.0", "triton", "3.4.0", "match"),
        ("2.8.0", "triton", "3.3.1", "mismatch"),
        ("2.14.1", "triton", "3.8.1", "match"),
        ("2.14.1", "triton", "3.9.0", "mismatch"),
        ("2.99.0", "triton", "4.0.0", "unknown"),
        ("2.8.0", "torchao", "0.13.0", "match"),
        ("2.10.0", "torchao", "0.13.0", "unknown"),
        ("2.8.0", "torchcodec", "0.7.0", "match"),
        ("2.8.0", "torchcodec", "0.5", "mismatch"),
        ("2.8.0", "nosuchpackage", "1.0", "unknown"),
    ],
)
def test_companion(m: Matrix, torch: str, package: str, version: str, grade: str) -> None:
    assert m.companion_matches(torch, package, version).grade == grade


def test_companion_of_another_build(m: Matrix) -> None:
    answer = m.companion_matches("2.6.0+cu126", "torchvision", "0.21.0+cpu")
    assert answer.grade == "match" and answer.other_build
    assert not m.companion_matches("2.6.0", "torchvision", "0.21.0+cu124").other_build


def test_index(m: Matrix) -> None:
    row = m.index_url("cu126")
    assert row is not None and row.url == "https://download.pytorch.org/whl/cu126" and "2.15.0" not in row.torch
    assert m.index_url("cu999") is None
