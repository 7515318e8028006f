"""best_builds: the installs that the fixes offer."""

from __future__ import annotations

from typing import Any

from compat_matrix import Matrix

from ..rows import for_each

FIRST: list[tuple[dict[str, Any], str, str, str]] = [
    # Volta, Pascal and Maxwell keep cu126 until 2.14
    ({"gpus": ["7.0"], "driver": "580.82.07", "python": "3.11"}, "2.14.1", "cu126", "native"),
    ({"gpus": ["6.1"], "driver": "580.82.07"}, "2.14.1", "cu126", "native"),
    ({"gpus": ["5.2"], "driver": "535.129.03"}, "2.14.1", "cu126", "minor-version"),
    # RTX 5090 on its first driver branch, and on newer ones
    ({"gpus": ["12.0"], "driver": "570.86.16"}, "2.13.0", "cu129", "minor-version"),
    ({"gpus": ["12.0"], "driver": "580.82.07"}, "2.15.0", "cu132", "minor-version"),
    ({"gpus": ["12.0"], "driver": "595.58.03"}, "2.15.0", "cu132", "native"),
    # a cloud driver that lags behind
    ({"gpus": ["8.9"], "driver": "535.129.03"}, "2.14.1", "cu126", "minor-version"),
    ({"gpus": ["9.0"], "driver": "550.54.15"}, "2.14.1", "cu126", "minor-version"),
    ({"gpus": ["8.0"], "driver": "470.256.02"}, "2.7.1", "cu118", "minor-version"),
    ({"gpus": ["9.0"], "driver": "590.48.01"}, "2.15.0", "cu132", "minor-version"),
    # mixed machine: only a build that holds code for both
    ({"gpus": ["7.0", "12.0"], "driver": "580.82.07"}, "2.10.0", "cu128", "native"),
    # K80: the newest build whose cuDNN still knows it
    ({"gpus": ["3.7"], "driver": "470.256.02"}, "2.3.1", "cu118", "minor-version"),
    # ARM, Windows
    ({"gpus": ["12.1"], "driver": "580.95.05", "arch": "aarch64"}, "2.15.0", "cu132", "minor-version"),
    ({"gpus": ["9.0"], "driver": "570.133.20", "arch": "aarch64"}, "2.14.1", "cu126", "native"),
    ({"gpus": ["8.6"], "driver": "581.15", "os": "windows"}, "2.14.1", "cu130", "native"),
    ({"gpus": ["8.6"], "driver": "572.61", "os": "wsl"}, "2.14.1", "cu126", "native"),
    # Python and version limits
    ({"gpus": ["8.6"], "driver": "580.82.07", "python": "3.8"}, "2.4.1", "cu121", "native"),
    ({"gpus": ["8.6"], "driver": "580.82.07", "torch": "2.6.0"}, "2.6.0", "cu126", "native"),
    ({"gpus": ["8.6"], "driver": "580.82.07", "torch": "2.6.0+cu118"}, "2.6.0", "cu118", "native"),
    ({"gpus": ["8.6"], "driver": "580.82.07", "torch": ">=2.4,<2.6"}, "2.5.1", "cu124", "native"),
    ({"gpus": ["8.6"], "driver": "580.82.07", "torch": "2.9"}, "2.9.1", "cu130", "native"),
    # a driver newer than the matrix, and none at all
    ({"gpus": ["9.0"], "driver": "999.10"}, "2.15.0", "cu132", "native"),
    ({"gpus": ["9.0"]}, "2.15.0", "cu132", "unknown"),
]


@for_each(("question", "torch", "tag", "grade"), FIRST)
def test_first_choice(m: Matrix, question: dict[str, Any], torch: str, tag: str, grade: str) -> None:
    best = m.best_builds(**question).builds[0]
    assert (best.torch, best.tag, best.grade) == (torch, tag, grade)


@for_each(("question", "torch", "tag", "grade"), FIRST)
def test_no_choice_is_one_that_the_questions_would_reject(
    m: Matrix, question: dict[str, Any], torch: str, tag: str, grade: str
) -> None:
    found = m.best_builds(**question, limit=1000)
    platform = "windows" if question.get("os") == "windows" else f"linux_{question.get('arch', 'x86_64')}"
    side = "windows" if question.get("os") in ("windows", "wsl") else "linux"
    for build in found:
        row = m.torch_build(build.torch, build.tag, platform)
        assert row is not None and row.published == "yes" and row.confidence != "memory"
        for capability in question["gpus"]:
            assert m.code_for_gpu(capability, row.sass, build_cuda=f"{build.tag[2:4]}.{build.tag[4]}").kind == "sass"
        if "driver" in question:
            cuda = f"{build.tag[2:4]}.{build.tag[4]}"
            assert m.driver_for_cuda(question["driver"], cuda, side).grade in ("native", "minor-version")
        if "python" in question:
            assert m.python_for_torch(build.torch, question["python"], platform).grade == "ok"
        for package, version in build.companions.items():
            assert m.companion_matches(build.torch, package, version).grade == "match"
        assert build.pypi_default == (m.pypi_tag(build.torch, platform) == build.tag) == (not build.index_url)


def test_requirements(m: Matrix) -> None:
    index = m.best_builds(["7.0"], "580.82.07", torch="2.11.0").builds[0]
    assert index.requirements == ("torch==2.11.0+cu126", "torchvision==0.26.0+cu126")
    assert index.index_url == "https://download.pytorch.org/whl/cu126"
    plain = m.best_builds(["9.0"], "580.82.07", torch="2.11.0").builds[0]
    assert plain.requirements == ("torch==2.11.0", "torchvision==0.26.0") and plain.index_url == ""
    assert plain.tagged == ("torch==2.11.0+cu130", "torchvision==0.26.0+cu130")
    assert plain.tagged_index_url == "https://download.pytorch.org/whl/cu130"
    old = m.best_builds(["9.0"], arch="aarch64", torch="2.6.0").builds[:1]
    assert all("+" not in line for build in old for line in build.requirements), "no tag seen in those names"
    loose = m.best_builds(["7.0"], "580.82.07", torch="2.14.1", packages=["torchvision"]).builds[0]
    assert loose.requirements[1] == "torchvision>=0.29.1" and loose.companions == {"torchvision": "0.29.2"}
    older = m.best_builds(["8.0"], "535.129.03", torch="2.5.1", packages=["torchaudio"]).builds[0]
    assert older.companions == {"torchaudio": "2.5.1"}


def test_plain_pypi_is_never_offered_on_windows(m: Matrix) -> None:
    assert all(build.index_url for build in m.best_builds(["8.6"], "581.15", os="windows", limit=1000))


@for_each(
    ("question", "words"),
    [
        ({"gpus": ["3.5"], "driver": "470.256.02"}, "3.5"),
        ({"gpus": ["9.0"], "driver": "390.157"}, "runs on driver 390.157"),
        ({"gpus": ["7.0"], "driver": "580.82.07", "torch": "2.15.0"}, "7.0"),
        ({"gpus": ["8.6"], "driver": "580.82.07", "python": "3.99"}, "Python 3.99"),
        ({"gpus": ["8.6"], "driver": "580.82.07", "torch": "2.99.0"}, "2.99.0"),
        ({"gpus": ["8.6"], "driver": "580.82.07", "torch": "not a version"}, "not a version"),
        ({"gpus": [], "driver": "580.82.07"}, "no GPU"),
        ({"gpus": ["rubbish"], "driver": "580.82.07"}, "rubbish"),
    ],
)
def test_nothing_fits_and_why(m: Matrix, question: dict[str, Any], words: str) -> None:
    found = m.best_builds(**question)
    assert len(found) == 0 and list(found) == []
    assert words in found.reason


def test_forward_compat_comes_last_and_only_when_asked(m: Matrix) -> None:
    without = m.best_builds(["9.0"], "535.129.03", torch="2.15.0")
    assert len(without) == 0
    with_it = m.best_builds(["9.0"], "535.129.03", forward_compat=True, limit=1000)
    grades = [build.grade for build in with_it]
    assert grades[-1] == "needs-forward-compat" and grades[0] == "minor-version"
    assert grades == sorted(grades, key=lambda grade: grade == "needs-forward-compat")
