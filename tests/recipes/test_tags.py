"""Tags of nvidia/cuda: none that was published is refused, and one that was not is."""

from __future__ import annotations

from compat_matrix import Matrix
from doctor.images.recipes.tags import published

from ..rows import for_each

M = Matrix.load()


@for_each(
    ("versions", "cudnn", "systems"),
    [  # the cuDNN images that a public project's list of published tags has, replicate/cog pkg/config
        ("12.9.0 12.9.1 12.9.2 12.8.0 12.8.1 12.6.0 12.6.1 12.6.2 12.6.3", "cudnn", "20.04 22.04 24.04"),
        ("12.5.1 12.4.1", "cudnn", "20.04 22.04"),
        ("12.3.2", "cudnn9", "20.04 22.04"),
        ("12.2.2 12.1.1 12.1.0", "cudnn8", "20.04 22.04"),
        ("12.0.1 12.0.0 11.8.0 11.7.1", "cudnn8", "18.04 20.04 22.04"),
        ("11.6.2 11.6.1 11.5.2 11.4.3", "cudnn8", "18.04 20.04"),
        ("11.3.1 11.2.2 11.1.1 11.0.3", "cudnn8", "16.04 18.04 20.04"),
        ("13.0.0 13.3.0", "cudnn", "22.04 24.04"),
    ],
)
def test_published_tags_are_taken(versions: str, cudnn: str, systems: str) -> None:
    for version in versions.split():
        for system in systems.split():
            for kind in (f"{cudnn}-devel", f"{cudnn}-runtime", "devel", "runtime", "base"):
                image = f"nvidia/cuda:{version}-{kind}-ubuntu{system}"
                assert list(published(image, 1, M)) == [], image


@for_each(
    "tag",
    ["12.1.1-devel-ubuntu18.04", "12.2.2-devel-ubuntu18.04", "11.4.3-devel-ubuntu16.04", "11.8.0-base-ubuntu16.04",
     "11.8.0-devel-ubuntu24.04", "12.6.3-cudnn9-devel-ubuntu22.04", "12.3.2-cudnn-devel-ubuntu22.04",
     "11.8.0-cudnn-devel-ubuntu22.04", "12.4.2-devel-ubuntu22.04", "12.8.1-base-ubuntu18.04"],
)  # fmt: skip
def test_tags_that_were_never_published_are_refused(tag: str) -> None:
    assert len(list(published(f"nvidia/cuda:{tag}", 1, M))) == 1
