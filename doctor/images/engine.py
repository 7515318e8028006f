"""An image in a local engine: Docker or Podman, accessed through its socket with the `docker` SDK."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .engine_save import layer_names, layer_pieces
from .layer import Layer
from .source import Image, ImageError

if TYPE_CHECKING:
    from docker import DockerClient

Engine = Literal["docker", "podman"]
_TAR = "application/vnd.oci.image.layer.v1.tar"


def addresses(engine: Engine) -> list[str]:
    """Where the engine listens, as `unix:///run/...`: what its variable names, else the sockets that exist."""
    if named := os.environ.get("DOCKER_HOST" if engine == "docker" else "CONTAINER_HOST"):
        return [named]
    runtime, home = os.environ.get("XDG_RUNTIME_DIR", ""), Path("~").expanduser()
    paths = {
        "docker": ["/var/run/docker.sock", f"{runtime}/docker.sock", f"{home}/.docker/run/docker.sock"],
        "podman": [f"{runtime}/podman/podman.sock", "/run/podman/podman.sock"],
    }
    return [f"unix://{path}" for path in paths[engine] if _is_socket(path)]


class EngineSource:
    """The image that the engine at `address` has as `name`."""

    def __init__(self, name: str, engine: Engine, address: str, timeout_s: float) -> None:
        self._name, self._engine = name, engine
        self._where = f"{engine.capitalize()} at {address.removeprefix('unix://')}"
        self._client = self._connected(address, timeout_s)
        self._members: list[str] = []

    def image(self, platform: str) -> Image:
        """See `Source`. What the engine has is for one platform, whichever is wanted."""
        from docker.errors import APIError, DockerException, ImageNotFound

        try:
            found = self._client.images.get(self._name)
            history = found.history()
        except ImageNotFound:
            raise ImageError(f"{self._where} has no image {self._name}") from None
        except (APIError, DockerException, OSError) as error:
            raise ImageError(f"{self._where} is not responding: {_line(error)}", unknown=True) from None
        about: Mapping[str, Any] = found.attrs
        rows = [{"created_by": row.get("CreatedBy", "")} for row in reversed(history) if isinstance(row, dict)]
        config: dict[str, Any] = {
            "architecture": about.get("Architecture"),
            "os": about.get("Os"),
            "variant": about.get("Variant"),
            "config": about.get("Config") if isinstance(about.get("Config"), dict) else {},
            "history": rows,
        }
        ids = (about.get("RootFS") or {}).get("Layers") or ()
        return Image(self._name, str(found.id or ""), config, tuple(Layer(one, -1, _TAR) for one in ids))

    def statements(self, image: Image) -> Mapping[str, Any]:
        """See `Source`: an engine keeps no attestations."""
        return {}

    def open_layer(self, layer: Layer, offset: int = 0) -> Iterator[bytes]:
        """See `Source`. The engine saves all layers one after the other: those before this one are skipped."""
        try:
            found = self._client.images.get(self._name)
            ids = (found.attrs.get("RootFS") or {}).get("Layers") or []
            self._members = self._members or layer_names(found.save())
            member = self._members[ids.index(layer.digest)]
            yield from layer_pieces(found.save(), member, offset)
        except (ValueError, IndexError):
            raise ImageError(f"{self._where} has no layer {layer.digest[:19]} in {self._name}") from None
        except (OSError, tarfile.TarError) as error:
            raise ImageError(f"{self._where} cannot save {self._name}: {_line(error)}", unknown=True) from None

    def _connected(self, address: str, timeout_s: float) -> DockerClient:
        import docker
        from docker.errors import DockerException

        try:
            return docker.DockerClient(base_url=address, timeout=max(1, int(timeout_s)))
        except (DockerException, OSError, ValueError, ImportError) as error:  # ssh:// needs an additional package
            words = _line(error)
            if "Permission denied" in words:
                words = "no permission to use its socket (join its group, or run as root)"
            raise ImageError(f"cannot reach {self._where}: {words}", unknown=True) from None


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except OSError:
        return False


def _line(error: Exception) -> str:
    text = str(getattr(error, "explanation", None) or error)
    for sign, meaning in (
        ("Permission denied", "Permission denied"), ("Connection refused", "connection refused"),
        ("No such file", "nothing is listening there"), ("timed out", "no response in time"),
    ):  # fmt: skip
        if sign in text:
            return meaning
    return " ".join(text.split())[:160] or type(error).__name__
