"""image-torch-replaced: the image's own words against what is installed."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import Missing, Snapshot

from ..healthy import healthy
from ..judging import assert_fix_works, ids, run
from ..rows import for_each

ID = "image-torch-replaced"


def image(stated: str) -> Snapshot:
    """A container whose image states a torch version."""
    return healthy(container=True).replace(
        {"container.image_torch": stated, "container.image_torch_source": "PYTORCH_VERSION"}
    )


@for_each("stated", ["2.8.0", "2.8.0+cu128"])
def test_the_stated_version_passes(stated: str) -> None:
    assert ids(image(stated)) == []


@for_each("stated", ["2.9.0", "2.8.0+cu126", "2.8.0a0+34c6371d24.nv25.8"])
def test_another_one_is_a_warning_and_each_fix_works(stated: str) -> None:
    sick = image(stated)
    assert ids(sick) == [ID]
    finding = run(ID, sick)[2][0]
    for fix in finding.fixes:
        assert_fix_works(sick, replace(finding, fixes=(fix,)))


def test_the_number_of_an_nvidia_image_is_not_a_torch_version() -> None:
    assert run(ID, image("25.08"))[0] == "skipped"


def test_skipped_and_unknown() -> None:
    assert run(ID, healthy())[0] == "skipped"
    assert run(ID, healthy().replace({"container.image_torch": Missing("denied")}))[0] == "unknown"
