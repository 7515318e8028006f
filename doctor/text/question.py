"""Questions are answered first: 'driver 535, torch 2.8.0+cu129', 'GTX 1080 and torch 2.11?', 'my GPU is slow'.

Only for a short text without an error line. Each answer is a sentence from the matrix, and at most one command; what
only a look at the machine decides is answered by `plain_question`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat_matrix.resolver import Question, resolve
from compat_matrix.versions import minor, numbers, tag_cuda, torch_version

from ..fixes.machine import capabilities, driver_platform, python_version, wheel_platform
from ..formats.lazy import lazy
from ..judge.report import Answer
from ..resolve.choice import lines as lines_of_choice
from ..snapshot import Snapshot, known
from .boards import is_jetson
from .messages import worded_by_people
from .other_languages import ID
from .plain_question import deciding
from .plain_words import capabilities_named, package_named
from .short_question import reports_no_error

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import DriverGrade
    from compat_matrix.rows_torch import TorchBuild

_CUDA = lazy(r"(?i)\bcuda\s*(?:version|toolkit)?\s*(\d{1,2}\.\d)\b")
_USUAL = "8.0"
"""Compute capability that a build must have if no GPU is named."""
_WANTS = lazy(r"(?i)\b(?:which|what|best|newest|latest)\b.{0,30}\b(cuda|torch|pytorch)\b")


def answers(s: Snapshot, m: Matrix) -> tuple[Answer, ...]:
    """The matrix's answers to the text's question, else the commands that decide it; nothing if it asks none."""
    if not s.question or any(symptom.decides for symptom in s.symptoms):
        return ()
    complaints = {x.id for x in s.symptoms if (x.suggests or x.unknown) and not x.mention}
    of_programs = complaints - worded_by_people(complaints) - {ID}
    found = _of_matrix(s, m) if reports_no_error(s.question) and not complaints else ()
    return found or deciding(s.question, m, bool(of_programs))


def _of_matrix(s: Snapshot, m: Matrix) -> tuple[Answer, ...]:
    if is_jetson(s) or (package_named(s.question) and known(s.torch.version) is None):
        return ()  # a Jetson's torch comes with JetPack; another package brings its own torch
    driver, gpus = _driver(s, m), capabilities(s, m) or capabilities_named(s.question, m)
    torch = torch_version(known(s.torch.version) or "")
    cuda = _CUDA.search(s.question)
    found: list[Answer] = []
    if torch and (gpus or driver):
        found += _torch(s, m, driver, gpus)
    elif driver and cuda:
        found += _cuda(s, m, driver, cuda[1])
    elif driver and not gpus:
        found += _of_driver(s, m, driver)
    if not found and gpus and (_WANTS.search(s.question) or ("?" in s.question and driver)):
        found += _best(s, m, driver, gpus, "")
    return tuple(found)


def _driver(s: Snapshot, m: Matrix) -> str:
    """The driver that the text names; for a branch, its newest version. '' if none is named or listed."""
    version = known(s.driver.version) or ""
    listed = version and m.driver_branch(version, driver_platform(s)).row
    return m.newest_of_branch(version, driver_platform(s)) if listed else ""


def _torch(s: Snapshot, m: Matrix, driver: str, gpus: list[str]) -> list[Answer]:
    """Whether this torch runs there: the named build, else each build of the release."""
    parts = torch_version(known(s.torch.version) or "")
    release = parts.base if parts else ""
    builds = [b for b in _builds(s, m, release) if parts is None or parts.tag in (None, b.tag)]
    if not builds:
        return []
    default = next((b for b in builds if b.pypi_default), None)
    chosen = builds[0] if parts and parts.tag else default
    found = []
    if chosen:
        name = (
            f"torch {chosen.torch}+{chosen.tag}"
            if parts and parts.tag
            else f"a plain install of torch {chosen.torch} ({chosen.tag})"
        )
        lacks = _lacks(m, chosen, gpus)
        if lacks:
            found.append(Answer(f"No: {name} has no code for {lacks}."))
        elif driver:
            found.append(_graded(s, m, name, chosen, driver, gpus))
        else:
            found.append(Answer(f"Yes: {name} has code for {_names(s, gpus)}."))
    if not found or not found[0].text.startswith("Yes"):
        found += _best(s, m, driver, gpus, release)
    return found


def _graded(s: Snapshot, m: Matrix, name: str, build: TorchBuild, driver: str, gpus: list[str]) -> Answer:
    cuda = tag_cuda(build.tag) or ""
    for gpu in gpus:
        drives = m.driver_for_gpu(driver, gpu, None, driver_platform(s))
        if drives.grade in ("too-old", "too-new"):
            return Answer(f"No: driver {driver} does not support this GPU; {drives.reason}.")
    return Answer(_sentence(m, m.driver_for_cuda(driver, cuda, driver_platform(s)), name, driver, cuda))


def _sentence(m: Matrix, grade: DriverGrade, name: str, driver: str, cuda: str) -> str:
    reported = m.toolkit_of_driver(grade.cuda_reported) if grade.cuda_reported else ""
    if grade.grade == "native":
        return f"Yes: driver {driver} supports CUDA {reported or cuda} and runs {name} without limitations."
    if grade.grade == "minor-version":
        return (
            f"Yes, through minor-version compatibility: driver {driver} reports CUDA {reported} and runs {name}. PTX "
            f"newer than CUDA {reported} does not work (this affects GPUs that the build has no native code for, and "
            f"kernels that nvcc {cuda} compiled to PTX only)."
        )
    if grade.grade == "needs-forward-compat":
        compat = "on a data-center GPU, NVIDIA's cuda-compat package provides the newer libcuda"
        return f"Not by itself: {grade.reason}; {compat}."
    if grade.grade == "impossible":
        return f"No: {grade.reason}."
    return f"Unknown: {grade.reason}."


def _cuda(s: Snapshot, m: Matrix, driver: str, cuda: str) -> list[Answer]:
    grade = m.driver_for_cuda(driver, cuda, driver_platform(s))
    return [Answer(_sentence(m, grade, f"programs built with CUDA {cuda}", driver, cuda))]


def _of_driver(s: Snapshot, m: Matrix, driver: str) -> list[Answer]:
    """The CUDA of a driver, what else it runs, and the newest torch for it."""
    row = m.driver_branch(driver, driver_platform(s)).row
    if row is None:
        return []
    names = [".".join(map(str, version)) for version in m.toolkit_versions() if version > (minor(row.cuda) or (0, 0))]
    platform = driver_platform(s)
    more = [name for name in names if m.driver_for_cuda(driver, name, platform).grade == "minor-version"]
    text = f"Driver {row.branch} supports CUDA {m.toolkit_of_driver(row.cuda)} and all older versions."
    if more:
        span = more[0] if len(more) == 1 else f"{more[0]} to {more[-1]}"
        text += f" Through minor-version compatibility, it also runs programs built with {span} "
        text += f"(but not PTX newer than CUDA {m.toolkit_of_driver(row.cuda)})."
    return [Answer(text), *_best(s, m, driver, [], "")]


def _best(s: Snapshot, m: Matrix, driver: str, gpus: list[str], release: str) -> list[Answer]:
    """The install command of the best build; if no build of the release fits, of any release. Without a GPU it says for
    which GPUs that is."""
    from compat_matrix.wish import Wish

    python = python_version(s) or ""
    platform = wheel_platform(s)
    q = Question(
        gpus=tuple(gpus or [_USUAL]),
        driver=driver,
        os="windows" if platform == "windows" else "wsl" if driver_platform(s) == "windows" else "linux",
        arch="aarch64" if platform.endswith("aarch64") else "x86_64",
        python=".".join(map(str, numbers(python)[:2])),
        wishes=(Wish("torch", release),) if release else (),
    )
    found = resolve(m, q).candidates
    if not found:
        return _best(s, m, driver, gpus, "") if release else []
    one = found[0]
    text = f"Install torch {one.build.torch} for CUDA {tag_cuda(one.build.tag)}."
    if not gpus:
        oldest, *_, newest = sorted(one.build.sass, key=numbers)
        text += f" It has code for compute capability {oldest} to {newest}; for any other GPU, name the GPU."
    return [Answer(text, lines_of_choice(m, q, one).pip)]


def _builds(s: Snapshot, m: Matrix, release: str) -> list[TorchBuild]:
    """Published CUDA builds; of a minor alone ('2.11') those of its newest patch."""
    wanted = numbers(release)
    rows = [b for b in m.builds if b.platform == wheel_platform(s) and numbers(b.torch)[: len(wanted)] == wanted]
    newest = max((numbers(b.torch) for b in rows), default=())
    return (
        [b for b in rows if numbers(b.torch) == newest and b.published == "yes" and tag_cuda(b.tag)] if wanted else []
    )


def _lacks(m: Matrix, build: TorchBuild, gpus: list[str]) -> str:
    lost = [g for g in gpus if m.code_for_gpu(g, build.sass, (), build_cuda=tag_cuda(build.tag)).kind != "sass"]
    return ", ".join(f"compute capability {gpu}" for gpu in lost)


def _names(s: Snapshot, gpus: list[str]) -> str:
    names = [known(gpu.name) for gpu in known(s.gpus) or ()]
    return ", ".join(dict.fromkeys(name for name in names if name)) or ", ".join(gpus)
