"""A real docker-registry on loopback: what is read, by how many requests, and who is shown which credentials."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from doctor.images.http import Access
from doctor.images.reference import parse_reference
from doctor.images.registry import RegistrySource
from doctor.images.source import ImageError

from ..cli.command import gpudoctor
from .layouts import SPDX, Layout, config, layer
from .modelled import IMAGES
from .registries import PASSWORD, USER, Running, TokenServer

pytestmark = pytest.mark.registry

CUDA = config(env={"CUDA_VERSION": "12.8.0"})
LAYER = layer({"etc/motd": b"hello" * 1000})


def source(reference: str) -> RegistrySource:
    return RegistrySource(parse_reference(reference), Access(timeout_s=20))


@pytest.fixture(autouse=True)
def no_stored_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)


def test_a_plain_manifest_takes_two_requests(plain_registry: Running, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    one = layout.image(CUDA, [LAYER])
    layout.tag("latest", one)
    reference = plain_registry.push(layout, "plain/cuda:12.8")
    with plain_registry.counted() as seen:
        image = source(reference).image("linux/amd64")
    assert image.config["config"]["Env"] == CUDA["config"]["Env"]
    assert image.digest == one["digest"]
    assert [line.split()[1].split("/")[4] for line in seen] == ["manifests", "blobs"]
    with plain_registry.counted() as seen:
        read = source(f"{reference.rpartition(':')[0]}@{one['digest']}").image("")
    assert read.config == image.config and len(seen) == 2


def test_an_index_takes_three_and_its_attestation_two_more(plain_registry: Running, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    images = [layout.image(config(architecture=name)) for name in ("amd64", "arm64")]
    spdx = {"packages": [{"name": "torch", "versionInfo": "2.8.0+cu128"}]}
    layout.tag("latest", layout.index([*images, layout.attestation(images[1], {SPDX: spdx})]))
    reader = source(plain_registry.push(layout, "index/cuda:12.8"))
    with plain_registry.counted() as seen:
        image = reader.image("linux/arm64")
    assert image.platform == "linux/arm64" and len(seen) == 3
    with plain_registry.counted() as seen:
        assert reader.statements(image)["predicate"] == spdx
    assert len(seen) == 2
    assert source(reader.reference.__str__()).image("linux/amd64").attestation is None


def test_a_layer_is_read_from_an_offset_by_range(plain_registry: Running, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(CUDA, [LAYER]))
    reader = source(plain_registry.push(layout, "layers/cuda:1"))
    (one,) = reader.image("").layers
    with plain_registry.counted() as seen:
        assert b"".join(reader.open_layer(one)) == LAYER.data
        assert b"".join(reader.open_layer(one, 60)) == LAYER.data[60:]
    assert [line.rpartition(" ")[2] for line in seen] == ["200", "206"]


def test_what_is_not_there_is_one_line(plain_registry: Running) -> None:
    with pytest.raises(ImageError, match=r"^127\.0\.0\.1:\d+ has no such image$") as caught:
        source(f"{plain_registry.address}/no/such:1").image("")
    assert not caught.value.unknown


def test_another_tag_is_offered_after_it_was_read_and_judged(plain_registry: Running, tmp_path: Path) -> None:
    for tag in ("11.8.0", "12.4.1", "12.8.1", "13.0.0"):
        layout = Layout(tmp_path / tag)
        layout.tag("latest", IMAGES[f"cuda:{tag}"](layout))
        reference = plain_registry.push(layout, f"line/cuda:{tag}-base-ubuntu22.04")
    layout = Layout(tmp_path / "other")
    layout.tag("latest", IMAGES["cuda:11.8.0"](layout))
    plain_registry.push(layout, "line/cuda:12.0.0-devel-ubuntu22.04")  # of another shape
    host = ["--driver", "535.183.01", "--gpu", "RTX 4090", "--from", "registry", "--format", "json"]
    done = gpudoctor("image", reference, "--other-tags", *host)
    assert done.returncode == 1, done.stderr
    fix = json.loads(done.stdout)["hosts"][0]["findings"][0]["fixes"][0]
    assert fix["id"] == "other-tag" and "line/cuda:12.4.1-base-ubuntu22.04: according to its config" in fix["title"]
    assert fix["steps"][0]["command"].endswith("/line/cuda:12.4.1-base-ubuntu22.04")
    with plain_registry.counted() as seen:
        gpudoctor("image", reference, *host)
    assert len(seen) == 2  # without the flag nothing more is asked
    with plain_registry.counted() as seen:
        source(reference).tags()
    assert [line.split()[1] for line in seen] == ["/v2/line/cuda/tags/list?n=1000"]


def login(folder: Path, address: str, entry: dict[str, str]) -> None:
    (folder / "config.json").write_text(json.dumps({"auths": {address: entry}}), "utf-8")


def test_a_token_is_fetched_with_the_stored_login(
    token_registry: Running, token_server: TokenServer, tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(CUDA))
    reference = token_registry.push(layout, "private/cuda:12.8")
    login(tmp_path, token_registry.address, {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()})
    del token_server.logins[:]
    with token_registry.counted() as seen:
        assert source(reference).image("").platform == "linux/amd64"
    assert token_server.logins == [f"basic {USER}"]
    assert [line.rpartition(" ")[2] for line in seen] == ["401", "200", "200"]
    login(tmp_path, token_registry.address, {"identitytoken": token_server.refresh_token})
    assert source(reference).image("").platform == "linux/amd64"
    assert token_server.logins[1:] == ["refresh"]


def test_without_a_login_or_with_a_wrong_one_it_is_one_line(token_registry: Running, tmp_path: Path) -> None:
    reference = f"{token_registry.address}/private/other:1"
    with pytest.raises(ImageError, match=r"denies access to this image without a login \(docker login 127\.0\.0\.1"):
        source(reference).image("")
    login(tmp_path, token_registry.address, {"username": USER, "password": "wrong-password-1"})
    with pytest.raises(ImageError, match="denies access to this image with these credentials") as caught:
        source(reference).image("")
    assert "wrong-password-1" not in str(caught.value) and not caught.value.unknown


def test_a_credential_helper_is_asked(
    token_registry: Running, token_server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path / "image")
    layout.tag("latest", layout.image(CUDA))
    reference = token_registry.push(layout, "helped/cuda:1")
    helper = tmp_path / "docker-credential-tests"
    helper.write_text(
        f"""#!/bin/sh
[ "$1" = get ] && [ "$(cat)" = "{token_registry.address}" ] || exit 1
echo '{{"ServerURL": "x", "Username": "{USER}", "Secret": "{PASSWORD}"}}'
"""
    )
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for key, value in (("credsStore", "tests"), ("credHelpers", {token_registry.address: "tests"})):
        (tmp_path / "config.json").write_text(json.dumps({key: value}), "utf-8")
        del token_server.logins[:]
        assert source(reference).image("").platform == "linux/amd64"
        assert token_server.logins == [f"basic {USER}"]
    helper.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ImageError, match="without a login"):
        source(reference).image("")
