"""Whatever an image claims to be: references, manifests and configs of any shape end in an answer or in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat_matrix import Matrix
from doctor.images import manifest as man
from doctor.images.about import about
from doctor.images.evidence import evidence
from doctor.images.importer import snapshot_of
from doctor.images.installs import torch_installs
from doctor.images.layer import Layer
from doctor.images.reference import parse_reference
from doctor.images.source import Image, ImageError

from ..drawn import drawn
from .layouts import config

_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_WORDS = st.sampled_from(
    ["pip", "install", "torch", "torch==2.8.0", "+cu128", "--index-url", "https://x/whl/cu128", "&&", "'", '"', "case", "in",
     "esac", ";;", ")", "*", "linux/amd64", "$", "${A:-b}", "|2", "A=1", "/bin/sh -c", "#(nop)", "RUN", "ENV", "\\", "\n",
     "conda", "pytorch=2.5", "pytorch-cuda=12.4", "uv", "pip3", "-r", "requirements.txt", "torch-2.6.0+cu124-cp311.whl"]
)  # fmt: skip


def judged(found: dict[str, Any]) -> None:
    """All that is read of a config."""
    m = Matrix.load()
    image = Image("x/y:1", "", man.parse_config(json.dumps(found).encode(), "the config"), (Layer("", -1, ""),))
    read = evidence(image, m)
    about(image, "registry", read, snapshot_of(image, read), m)


@pytest.mark.slow
@drawn(300)
@given(st.dictionaries(st.sampled_from(["config", "architecture", "os", "variant", "history", "rootfs"]), _ANY))
def test_a_config_of_any_shape(found: dict[str, Any]) -> None:
    try:
        judged(found)
    except ImageError as error:
        assert "\n" not in str(error)


@drawn(300)
@given(
    st.dictionaries(st.sampled_from(["Env", "Labels", "Entrypoint", "Cmd", "User"]), _ANY), st.lists(_ANY, max_size=3)
)
def test_an_inner_config_of_any_shape(inner: dict[str, Any], history: list[Any]) -> None:
    judged({"os": "linux", "architecture": "amd64", "config": inner, "history": history})


@drawn(300)
@given(st.lists(_WORDS, max_size=14).map(" ".join))
def test_a_history_of_any_words(line: str) -> None:
    judged(config(history=[line]))
    list(torch_installs(line))


@drawn(300)
@given(st.text(max_size=60) | st.text("abAB01./:@-_[]", max_size=60))
def test_a_reference_of_any_text(text: str) -> None:
    try:
        found = parse_reference(text)
    except ImageError as error:
        assert "\n" not in str(error)
        return
    assert parse_reference(str(found)) == found


@drawn(300)
@given(st.dictionaries(st.sampled_from(["schemaVersion", "mediaType", "manifests", "config", "layers"]), _ANY))
def test_a_manifest_of_any_shape(found: dict[str, Any]) -> None:
    try:
        man.parse(json.dumps(found).encode(), "the manifest")
    except ImageError as error:
        assert "\n" not in str(error)


@drawn(200)
@given(st.binary(max_size=200))
def test_a_manifest_of_any_bytes(data: bytes) -> None:
    try:
        man.parse(data, "the manifest")
    except ImageError as error:
        assert "\n" not in str(error)


def test_a_history_that_is_made_to_take_long() -> None:
    """Linear in what is read: a config of 4 MB of openings that nothing closes."""
    for text in ("case a in ", "conda install ", "${", "pip install torch '", "A=1 ", "cuda-compat-1"):
        judged(config(history=["RUN " + text * (65_536 // len(text))] * 4))
