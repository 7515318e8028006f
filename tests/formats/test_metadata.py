"""Distribution metadata, read beside Python's own reader and on broken files."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import metadata

TORCH = """Metadata-Version: 2.4
Name: torch
Version: 2.13.0+cpu
Author-Email: Name: of no one <a@b>
requires-python: >=3.10
Requires-Dist: filelock
Requires-Dist: nvidia-cudnn-cu12==9.10.2.21;
 platform_system == "Linux"
REQUIRES-DIST: triton==3.4.0; python_version < "3.14"
Requires-External: libfoo
Provides-Extra: opt-einsum

Name: not this one
Requires-Dist: nor-this
"""


def test_only_the_header_counts() -> None:
    found = metadata.parse_metadata(TORCH)
    assert (found.name, found.version, found.requires_python) == ("torch", "2.13.0+cpu", ">=3.10")
    assert found.requires_dist == (
        "filelock",
        'nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux"',
        'triton==3.4.0; python_version < "3.14"',
    )


def test_windows_line_ends_make_no_difference() -> None:
    assert metadata.parse_metadata(TORCH.replace("\n", "\r\n")) == metadata.parse_metadata(TORCH)


def test_every_distribution_of_this_environment_reads_as_pythons_own_reader_does() -> None:
    compared = 0
    for distribution in importlib.metadata.distributions():
        folder = Path(str(distribution.locate_file(""))) / str(getattr(distribution, "_path", ""))
        if not (folder / "METADATA").is_file():
            continue
        found = metadata.read_metadata(str(folder / "METADATA"))
        assert (found.name, found.version) == (distribution.metadata["Name"], distribution.version)
        assert list(found.requires_dist) == [" ".join(r.split()) for r in distribution.requires or []]
        named = metadata.dist_info_name(folder.name)
        assert named is not None
        assert metadata.normalize(named[0]) == metadata.normalize(found.name or "")
        compared += 1
    assert compared >= 5


def test_a_header_longer_than_the_first_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "METADATA"
    path.write_text("Name: a\n" + "Classifier: x\n" * 4000 + "Requires-Dist: last\nVersion: 1\n\n" + "text\n" * 9)
    assert metadata.read_metadata(str(path)) == metadata.Metadata("a", "1", ("last",), None)


@pytest.mark.parametrize("content", [b"", b"\0\xff\xfe" * 100, b"Name\nVersion\n", b"<html>Name: x</html>", b"Name:\n"])
def test_a_broken_file_has_no_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "METADATA"
    path.write_bytes(content)
    assert metadata.read_metadata(str(path)) == metadata.Metadata(None, None, (), None)


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("torch-2.13.0+cpu.dist-info", ("torch", "2.13.0+cpu")),
        ("nvidia_cudnn_cu12-9.10.2.21.dist-info", ("nvidia_cudnn_cu12", "9.10.2.21")),
        ("flash_attn-2.7.4.post1-py3.11.egg-info", ("flash_attn", "2.7.4.post1")),
        ("apex-0.1-py3.10-linux-x86_64.egg-info", ("apex", "0.1")),
        ("mypackage.egg-info", ("mypackage", None)),
        ("~orch-2.0.0.dist-info", ("~orch", "2.0.0")),
        (".dist-info", None),
        ("torch", None),
    ],
)
def test_folder_names(folder: str, expected: tuple[str, str | None] | None) -> None:
    assert metadata.dist_info_name(folder) == expected


def test_names_are_normalised() -> None:
    assert metadata.normalize("Nvidia_CUDNN.cu12") == "nvidia-cudnn-cu12"
    assert metadata.requirement_name("Nvidia_NCCL.cu12 == 2.27 ; x") == "nvidia-nccl-cu12"
    assert metadata.requirement_name("[extra]") == ""


def test_record_installer_and_direct_url() -> None:
    text = 'torch/lib/libc10.so,sha256=abc,1671217\n"a,b.py",,\nbroken\n,x,1\ntorch/x.py,sha256=1,big\n'
    assert [(line.path, line.size) for line in metadata.parse_record(text)] == [
        ("torch/lib/libc10.so", 1671217),
        ("a,b.py", None),
        ("torch/x.py", None),
    ]
    assert metadata.parse_installer("uv\n") == "uv"
    assert metadata.parse_installer("") is None
    editable = metadata.parse_direct_url('{"url": "file:///src", "dir_info": {"editable": true}}')
    assert editable == metadata.DirectUrl("file:///src", True, "")
    vcs = metadata.parse_direct_url('{"url": "https://example.org/x", "vcs_info": {"vcs": "git"}}')
    assert vcs == metadata.DirectUrl("https://example.org/x", False, "git")
    assert metadata.parse_direct_url("{") is None
    assert metadata.parse_direct_url("[]") is None
    assert metadata.parse_direct_url("[" * 100_000) is None


@given(st.text(max_size=400))
def test_no_text_is_too_odd(text: str) -> None:
    metadata.parse_metadata(text)
    list(metadata.parse_record(text))
    metadata.parse_direct_url(text)
    metadata.parse_installer(text)
    metadata.requirement_name(text)
    metadata.dist_info_name(text + ".dist-info")
