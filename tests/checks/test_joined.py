"""An image's facts joined with a host's: whose each fact is."""

from __future__ import annotations

from doctor.snapshot import Missing, Snapshot
from doctor.snapshot.snapshot import join

from ..healthy import healthy

OF_THE_KERNEL = ("kernel", "wsl", "virtualization", "chassis", "cluster_node")


def marked(s: Snapshot, side: str) -> Snapshot:
    """The machine with every text of its system and driver marked by whose it is."""
    facts = {f"host.{name}": side for name in (*OF_THE_KERNEL, "libc", "os_id", "architecture")}
    return s.replace({**facts, "driver.libcuda_path": f"/{side}", "driver.kernel_version": side})


def test_the_kernel_is_the_hosts_and_the_rest_the_images() -> None:
    joined = join(marked(healthy(), "image"), marked(healthy(), "host"))
    assert {name: getattr(joined.host, name) for name in OF_THE_KERNEL} == dict.fromkeys(OF_THE_KERNEL, "host")
    assert (joined.host.libc, joined.host.os_id, joined.host.architecture) == ("image",) * 3
    assert (joined.driver.libcuda_path, joined.driver.kernel_version) == ("/image", "host")


def test_an_image_that_names_no_architecture_is_of_the_hosts() -> None:
    image = marked(healthy(), "image").replace({"host.architecture": Missing("not-asked")})
    assert join(image, marked(healthy(), "host")).host.architecture == "host"
