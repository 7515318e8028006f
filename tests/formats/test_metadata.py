"""Distribution metadata, read beside Python's own reader and on broken files."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.formats import metadata

from ..rows import for_each

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
        found = metadata.parse_metadata((folder / "METADATA").read_text("utf-8"))
        assert (found.name, found.version) == (distribution.metadata["Name"], distribution.version)
        assert list(found.requires_dist) == [" ".join(r.split()) for r in distribution.requires or []]
        named = metadata.dist_info_name(folder.name)
        assert named is not None
        assert metadata.normalize(named[0]) == metadata.normalize(found.name or "")
        compared += 1
    assert compared >= 5


def test_a_long_header_is_read_to_its_end() -> None:
    text = "Name: a\n" + "Classifier: x\n" * 4000 + "Requires-Dist: last\nVersion: 1\n\n" + "text\n" * 9
    assert metadata.parse_metadata(text) == metadata.Metadata("a", "1", ("last",), None)


@for_each("text", ["", "\0\ufffd" * 100, "Name\nVersion\n", "<html>Name: x</html>", "Name:\n"])
def test_a_broken_file_has_no_name(text: str) -> None:
    assert metadata.parse_metadata(text) == metadata.Metadata(None, None, (), None)


@for_each(
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


def test_installer_and_direct_url() -> None:
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
    metadata.parse_direct_url(text)
    metadata.parse_installer(text)
    metadata.dist_info_name(text + ".dist-info")
