"""What `image` does once its flags are known."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..findings import Policy
from ..guard import Refusal
from ..images.source import Image, ImageError
from ..judge.preflight import exit_code, preflight
from ..judge.preflight_answer import HostAnswer, ImageAbout, Preflight
from ..judge.report import OURS, MatrixInfo
from ..resolve.machine import Unclear
from ..snapshot import Snapshot, known
from .assess import matrix_of
from .config import with_spec
from .display import styled
from .options import make_policy
from .spec_outcomes import spec_answer, with_spec_code
from .write import echo, write

if TYPE_CHECKING:
    from compat_matrix import Matrix

Host = tuple[str, Snapshot]
LEFT_OUT = ("torch_run", "driver.cu_init", "gpus", "torch.sass", "python.distributions")
"""What cannot be known about an image that was not started."""


def run_image(flags: dict[str, Any]) -> int:
    """Read, judge against each host, print; returns the exit code."""
    m = matrix_of(flags)
    try:
        answer = _answered(flags, m)
    except (ImageError, Unclear) as error:
        if not error.unknown:
            raise Refusal(_masked(str(error))) from None
        echo(f"gpudoctor: {_masked(str(error))}", err=True)
        return 3
    except ModuleNotFoundError as error:
        if error.name not in ("requests", "docker", "zstandard"):
            raise
        from ..extra import extra_line

        raise Refusal(f"image needs the {error.name} package: {extra_line('image')}") from None
    write(_rendered(answer, flags), flags["output"], private=flags["no_redact"], styled=styled(flags))
    return answer.exit_code


def _answered(flags: dict[str, Any], m: Matrix) -> Preflight:
    spec = with_spec(Policy(), flags["spec"]).spec
    hosts = _hosts(flags, m)
    platform = flags["platform"] or _platform_of(hosts)
    found, about = _image(flags, m, platform)
    policy = make_policy(saved=Policy(left_out=LEFT_OUT))
    answers = tuple(preflight(found, host, name, m, policy)[0] for name, host in hosts)
    answers = tuple(_with_start(one, found, about) for one in answers)
    if flags["other_tags"]:
        from .image_tags import with_other_tags

        answers = with_other_tags(flags, m, hosts, answers, policy, platform)
    info = MatrixInfo(m.version, m.schema_version, (m.differs,) if m.differs else ())
    against = spec_answer(spec, found, hosts, m) if spec else None
    code = with_spec_code(exit_code(answers), against)
    answer = Preflight(tool=OURS, matrix=info, image=about, hosts=answers, spec=against, exit_code=code)
    return _shown(answer, flags)


def _shown(answer: Preflight, flags: dict[str, Any]) -> Preflight:
    """As its reader may see it: never with a secret; the lines that start it say IMAGE if its name is masked."""
    from ..snapshot.redact import redact
    from ..snapshot.redact_secrets import without_secrets
    from .display import own_terminal
    from .local_names import local_names

    names = local_names()
    if flags["no_redact"]:
        return without_secrets(answer, answer, names)
    shown = redact(answer, names)
    if own_terminal(flags):
        true = without_secrets(answer.hosts, answer, names)
        pairs = zip(shown.hosts, true, strict=True)
        return replace(shown, hosts=tuple(replace(a, findings=b.findings, start=b.start) for a, b in pairs))
    if shown.image.name == answer.image.name:
        return shown
    nameless = tuple(replace(a, start=_without(a.start, shown.image.name)) for a in shown.hosts)
    return replace(shown, hosts=nameless)


def _without(start: tuple[tuple[str, str], ...], name: str) -> tuple[tuple[str, str], ...]:
    return tuple((engine, lines.replace(name, "IMAGE")) for engine, lines in start)


def _with_start(answer: HostAnswer, found: Snapshot, about: ImageAbout) -> HostAnswer:
    """The lines that start it, if it runs or if only its label's check keeps it from running."""
    from ..fixes.start_image import start_lines

    failed = [f for f in answer.findings if f.status == "fail"]
    label_alone = answer.label == "stricter" and [f.id for f in failed] == ["container-require-cuda-unsatisfied"]
    if answer.verdict not in ("pass", "warn") and not label_alone:
        return answer
    name = "IMAGE" if about.source in ("archive", "folder") else about.name
    return replace(answer, start=start_lines(found, name, label_alone))


def _hosts(flags: dict[str, Any], m: Matrix) -> list[Host]:
    """Reports and this machine first, then every described driver with every GPU."""
    if flags["gpus"] and not flags["drivers"]:
        raise Refusal("--gpu requires the host's driver: --driver 535.183 --gpu 'RTX A5000'")
    hosts = [_this() if name == "this" else _reported(name) for name in flags["against"]]
    if flags["drivers"]:
        from ..images.hosts import described

        machine = flags["platform"] or ""
        arch = "aarch64" if re.search("arm64|aarch64", machine) else "x86_64" if machine else ""
        hosts += [described(m, driver, gpu, arch) for gpu in flags["gpus"] or ("",) for driver in flags["drivers"]]
    elif not hosts and any(os.path.exists(path) for path in ("/proc/driver/nvidia/version", "/dev/dxg")):  # noqa: PTH110
        hosts = [_this()]
    return hosts


def _this() -> Host:
    from ..report.progress import Progress
    from .sources import gather

    look = {"no_import": True, "python_": None, "root": None, "replay": None, "from_": None, "timeout": None}
    with Progress() as progress:
        return "this machine", gather(look, progress)


def _reported(path: str) -> Host:
    from .saved import read_report

    return path, read_report(path).snapshot


def _platform_of(hosts: list[Host]) -> str:
    """The platform of the first host that has one; x86_64 if none does."""
    machines = [known(host.host.architecture) for _, host in hosts]
    return "linux/arm64" if next(filter(None, machines), "") in ("aarch64", "arm64") else "linux/amd64"


def _image(flags: dict[str, Any], m: Matrix, platform: str) -> tuple[Snapshot, ImageAbout]:
    from ..images.opened import open_image

    access = {"plain_http": flags["plain_http"], "ca": flags["ca"] or "", "timeout_s": flags["timeout"]}
    opened = open_image(flags["reference"], flags["where"] or "", **access)
    from ..images.about import about, about_root

    layers = flags["layers"] or flags["all_layers"]
    if opened.source is None and layers:
        raise Refusal(
            f"{flags['reference']} is an unpacked root file system, so it has no layers: drop the option (all of its "
            "files are read in any case)"
        )
    if opened.source is None:
        s = _root(opened.root)
        return s, about_root(opened.root, s, m)
    from ..images.evidence import evidence_of
    from ..images.importer import snapshot_of

    image = opened.source.image(platform)
    _of_platform(image, flags["platform"])
    found = evidence_of(opened.source, image, m)
    s = snapshot_of(image, found, "podman" if opened.kind == "podman" else "docker")
    shown = about(image, opened.kind, found, s, m)
    if not layers:
        return s, shown
    from .image_layers import read_layers

    return read_layers(opened.source, image, found.env, s, m, shown, flags["all_layers"])


def _of_platform(image: Image, wanted: str | None) -> None:
    """A single manifest is for one platform, whatever was requested."""
    from ..images.manifest import platform_words

    if wanted and platform_words(image.platform)[:2] != platform_words(wanted)[:2]:
        raise ImageError(f"{image.name} is only for {image.platform}, not for {wanted}")


def _root(folder: str) -> Snapshot:
    from .sources import gather

    look = {"no_import": True, "python_": None, "root": folder, "replay": None, "from_": None, "timeout": None}
    s = gather(look)
    return replace(s, container=replace(s.container, kind="docker"))


def _masked(line: str) -> str:
    from ..snapshot.mask_secrets import mask_secrets

    return mask_secrets(line)


def _rendered(answer: Preflight, flags: dict[str, Any]) -> bytes:
    if flags["format_"] == "json":
        from ..report.json import render_json

        return render_json(answer)
    if flags["format_"] == "markdown":
        from ..report.image_markdown import render_image_markdown

        return render_image_markdown(answer).encode("utf-8", "backslashreplace")
    if flags["format_"] == "html":
        from ..report.page_plain import image_page

        return image_page(answer).encode("utf-8", "backslashreplace")
    from ..report.image_text import render_image
    from .display import display

    return render_image(answer, display(flags)).encode("utf-8", "backslashreplace")
