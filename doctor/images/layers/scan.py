"""One forward pass over an image's layers, newest first, until everything needed has been found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...formats.tar_stream import FILE, FOLDER, HARD_LINK, SYMBOLIC_LINK, Member, TarError, TarStream
from ..layer import Layer, OpenLayer
from ..source import ImageError
from .contents import Content, read_content
from .download import Download, words
from .overlay import Node, Overlay, clean
from .unpack import Unpacked
from .wanted import GLIBC, LISTED, NOTHING, PACKAGES_FILE, driver_library, prefix_of, site_of, wanted

_MAX_KEPT = 24 << 20
"""For everything kept from an image's files: a large image has one or two mebibytes."""
_NO_LINKS = ("usr/share/", "etc/ssl/", "usr/lib/firmware/", "proc/", "sys/", "dev/")
"""Thousands of links, none of which lead to anything needed here."""


@dataclass(frozen=True)
class LayerRead:
    """How far a layer was read, in bytes as stored."""

    layer: Layer
    read: int
    whole: bool
    checked: bool
    """It was read to its end and matches its digest."""


@dataclass
class LayerFacts:
    """The relevant contents of the layers. `nodes`: path without leading slash to what a container would see."""

    nodes: dict[str, Node]
    layers: tuple[LayerRead, ...]
    """Newest first, those that were read; the others were not needed."""
    unread: int
    """Layers that were not read."""
    torch_site: str = ""
    """The site-packages folder of the newest torch, without leading slash."""
    torch_folder: str = ""
    """The folder of that torch, as it is shown."""
    packages: dict[str, str] = field(default_factory=dict)
    """From dpkg's newest list: glibc's and NVIDIA's compat packages, with their versions."""
    driver_libraries: tuple[str, ...] = ()
    """Versioned driver libraries in the image itself."""
    remarks: tuple[str, ...] = ()
    """What was strange, a line each."""

    @property
    def complete(self) -> bool:
        """Whether every layer was read to its end: only then is something not found known to be absent."""
        return not self.unread and all(one.whole for one in self.layers)


def scan(
    layers: Sequence[Layer],
    open_layer: OpenLayer,
    progress: Callable[[int], None] = lambda count: None,
    env: Mapping[str, str] | None = None,
    whole: bool = False,
) -> LayerFacts:
    """Read `layers` (base first). `progress`: called with the bytes of each piece; `env`: the variables in the image's
    config; `whole`: read everything, so that what is not found is known to be absent. Raises ImageError with one line.
    """
    run = _Scan(open_layer, progress, env or {}, whole)
    for layer in reversed(layers):
        run.layer(layer)
        if run.ended:
            break
    run.overlay.finish()
    return LayerFacts(
        nodes=run.overlay.nodes,
        layers=tuple(run.reads),
        unread=len(layers) - len(run.reads),
        torch_site=run.torch_site,
        torch_folder=_shown(run.torch_site + "/torch") if run.torch_site else "",
        packages=run.packages or {},
        driver_libraries=tuple(sorted(_shown(path) for path in run.overlay.nodes if driver_library(path))),
        remarks=run.remarks(),
    )


def _shown(path: str) -> str:
    """With its leading slash, and as printable text: a tar may contain any bytes."""
    return "/" + path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Scan:
    def __init__(
        self, open_layer: OpenLayer, progress: Callable[[int], None], env: Mapping[str, str], whole: bool
    ) -> None:
        self.open, self.progress, self.env, self.whole = open_layer, progress, env, whole
        self.overlay = Overlay()
        self.reads: list[LayerRead] = []
        self.packages: dict[str, str] | None = None
        self.torch_site = ""
        self.ended = False
        self._libc = self._compat = self._site_done = False
        self._outside = self._sparse = self._kept = self._not_kept = 0
        self._last_child = self._debian_python = ""

    def layer(self, layer: Layer) -> None:
        """Read one layer, to its end or until everything is found."""
        download = Download(layer, self.open, self.progress)
        try:
            whole = self._entries(TarStream(Unpacked(download)))
            checked = whole and download.rest()
        except TarError as error:
            raise ImageError(f"{words(layer)} is not a readable tar archive: {error}") from None
        finally:
            download.close()
        self.reads.append(LayerRead(layer, download.count, whole, checked))
        self.overlay.next_layer()
        self._site_done = bool(self.torch_site)
        self.ended = self._all_seen()

    def _entries(self, tar: TarStream) -> bool:
        """Whether the archive was read to its end."""
        previous, in_order = "", True
        while (member := tar.next()) is not None:
            path = clean(member.name)
            if not path or (".." in member.name and ".." in member.name.split("/")):
                self._outside += bool(path)
                continue
            hides = self.overlay.whiteout(path)
            # Engines write a folder's names in order, with everything below a name before the next.
            order = path.replace("/.wh.", "/").replace("/", "\0") if hides else path.replace("/", "\0")
            in_order = in_order and (previous <= order or hides)
            previous = order
            if in_order and self.torch_site and not path.startswith(self.torch_site):
                self._site_done = True
            if not hides:
                self._entry(tar, member, path)
            if self._all_seen():
                return False
        return True

    def _entry(self, tar: TarStream, member: Member, path: str) -> None:
        site, below = site_of(path)
        what = wanted(path, site, below) if member.kind != FOLDER else NOTHING
        if member.kind == FOLDER and path.endswith("-packages"):
            self.overlay.add(path, FOLDER, 0, "")  # an empty one is on Python's path too
        if member.kind == SYMBOLIC_LINK and not what:
            what = NOTHING if path.startswith(_NO_LINKS) else LISTED
        if site:
            self._child(site, below)
        if not what:
            self.overlay.passed(path, member.kind)
            return
        node = self.overlay.add(path, member.kind, member.size, member.target)
        if node is None or member.kind not in (FILE, HARD_LINK):
            return
        if path.startswith("usr/lib/python3.") and path.endswith("/os.py"):
            self._debian_python = path
        if member.kind == FILE and what != LISTED:
            if member.sparse:
                self._sparse += 1
                return
            content = read_content(tar, member.size, what)
            self._kept += content.cost()
            if self._kept > _MAX_KEPT:
                self._not_kept += 1
                return
            node.content = content
            self._note(path, site, below, what, content)
        elif what == GLIBC:
            self._libc = True
        if below == "torch/version.py" and site and not self._torch_is_the_patients(self.torch_site):
            self.torch_site = site if not self.torch_site or self._torch_is_the_patients(site) else self.torch_site

    def _child(self, site: str, below: str) -> None:
        """Each name directly in a site-packages folder, for the list of installed packages."""
        child = f"{site}/{below.partition('/')[0]}"
        if child == self._last_child:
            return
        self._last_child = child
        if "/" in below or child.endswith((".dist-info", ".egg-info")):
            self.overlay.add(child, FOLDER, 0, "")

    def _note(self, path: str, site: str, below: str, what: str, content: Content) -> None:
        if (what == GLIBC and content.glibc) or path.endswith("apk/db/installed"):
            self._libc = True
        elif what == PACKAGES_FILE and self.packages is None:
            self.packages = content.packages
            self._libc = self._libc or "libc6" in content.packages
        elif content.elf is not None and "compat" in path:
            self._compat = True

    def _all_seen(self) -> bool:
        if self.whole or not (self._site_done and self._libc):
            return False
        if not self._torch_is_the_patients(self.torch_site) or not self._environment_seen():
            return False
        announced = any(name.startswith("cuda-compat") for name in self.packages or ())
        by_env = self.env.get("NV_CUDA_COMPAT_PACKAGE") or self.env.get("_CUDA_COMPAT_PATH")
        return self._compat or not (announced or by_env)

    def _environment_seen(self) -> bool:
        """Whether it is known what kind of environment contains torch, and which Python it belongs to."""
        nodes, prefix, (above, _, name) = (
            self.overlay.nodes,
            prefix_of(self.torch_site)[1:],
            self.torch_site.rpartition("/"),
        )
        if name == "dist-packages":  # Debian's: the standard library is elsewhere
            return above.replace("usr/local/", "usr/", 1) + "/os.py" in nodes or self._debian_python in nodes
        signs = (f"{prefix}/pyvenv.cfg", f"{prefix}/conda-meta/history", f"{above}/os.py")
        return prefix == "usr/local" or any(sign in nodes for sign in signs)

    def _torch_is_the_patients(self, site: str) -> bool:
        """Whether the image's own variables point to the environment that contains this folder's torch."""
        if not site:
            return False
        prefix = prefix_of(site)
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            if self.env.get(name):
                return self.env[name].rstrip("/") == prefix
        return "PATH" not in self.env or prefix + "/bin" in self.env["PATH"].split(":")

    def remarks(self) -> tuple[str, ...]:
        """What was strange, a line each."""
        found = []
        if self._outside:
            found.append(f"{self._outside} names that point outside the image were skipped")
        if self._sparse:
            found.append(f"{self._sparse} sparse files were not read")
        if self._not_kept:
            found.append(
                f"{self._not_kept:,} files were skipped: the files before them already take up {_MAX_KEPT >> 20} MiB"
            )
        if self.overlay.full:
            found.append(f"only the first {len(self.overlay.nodes):,} relevant files were examined")
        return tuple(found)
