"""A build that the matrix neither lists nor excludes: no reason to call a file's line dead, and never recommended."""

from __future__ import annotations

import re

from compat_matrix.resolver import Question, resolve
from compat_matrix.torchs import usable
from compat_matrix.wish import Wish, allowed
from doctor.resolve.dead import dead_lines
from doctor.resolve.files.lines import Pinned

from ..judging import matrix
from ..rows import Faults

M = matrix()
A100 = Question(gpus=("8.0",), driver="999.0")
PAIRS = [
    (row, build)
    for row in M.extensions
    if row.package == "xformers" and row.torch.startswith("==")
    for build in M.builds
    if build.platform == "linux_x86_64" and usable(build) and allowed(row.torch, build.torch)
]
"""Each release of xformers with each build of its torch."""


def test_a_pin_is_dead_only_where_the_index_is_known_to_lack_it() -> None:
    said = 0
    with Faults() as faults:
        for row, build in PAIRS[::3]:
            with faults.of(f"xformers {row.version} {build.tag}"):
                torch = Pinned(number=1, text="a", name="torch", wish=Wish("torch", build.torch), local=build.tag)
                own = Pinned(number=2, text="b", name="xformers", wish=Wish("xformers", row.version))
                found = dead_lines(M, A100, [torch, own])
                listed = re.findall(r"cu\d+", row.cuda)
                known = build.pypi_default or build.tag in listed
                assert [one.number for one in found.dead] == ([2] if listed and not known else []), found
                unsaid = not known and not listed
                assert bool(found.unknown) == unsaid and all(build.tag in one for one in found.unknown), found.unknown
                said += unsaid
    assert said > 15


def test_no_answer_recommends_one() -> None:
    wishes = {Wish("xformers", row.version) for row, _ in PAIRS} | {Wish("xformers")}
    for wish in wishes:
        for one in resolve(M, Question(gpus=("8.0",), wishes=(wish,))).candidates:
            assert not one.chosen[0].unlisted and (
                one.build.pypi_default or one.build.tag in one.chosen[0].rows[0].cuda
            )
