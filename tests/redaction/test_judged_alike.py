"""Judging the redacted Snapshot gives the same findings as the original (DESIGN rule 10)."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from doctor.snapshot import ABSENT, EnvVar, Missing, PciDevice, Snapshot
from doctor.snapshot.redact import LocalNames, redact

from ..drawn import drawn
from ..healthy import MODELS, healthy
from ..judging import report
from .planted import NAMES, planted

USERS = st.sampled_from(
    ["alice", "root", "nvidia", "cuda", "torch", "python", "venv", "lib", "gpu", "h100", "site-packages", "3", "ü"]
)
HEX = st.text("0123456789abcdef", min_size=32, max_size=32)
CAUSES: list[dict[str, Any]] = [
    {},
    {"driver.cu_init": 100, "driver.cu_init_name": "CUDA_ERROR_NO_DEVICE"},
    {"driver.cu_init": 803}, {"driver.cu_init": Missing("timeout")},
    {"driver.nvml_library_version": "570.86.15"}, {"driver.kernel_version": ABSENT, "driver.modules": ()},
    {"driver.pci_devices": (PciDevice(address="0000:03:00.0", vendor="1002", device="73bf"),), "gpus": ABSENT},
    {"driver.device_nodes": ()}, {"torch.build": "cpu", "torch.cuda": ABSENT, "torch.version": "2.8.0+cpu"},
    {"torch.version": ABSENT}, {"torch.sass": ("7.0",)}, {"driver.kernel_version": "470.82.01"}, {"gpus": Missing("denied")},
    {"torch_run.cuda_available": False}, {"torch_run.imported": False, "torch_run.import_error": "OSError: /home/alice/x"},
]  # fmt: skip


@st.composite
def machines(draw: st.DrawFn) -> tuple[Snapshot, LocalNames]:
    """A machine with some causes, owned by somebody, with devices selected in some way."""
    user = draw(USERS)
    snapshot = healthy(
        *draw(st.lists(st.sampled_from(sorted(MODELS)), min_size=1, max_size=4)), container=draw(st.booleans())
    )
    uuids = [
        f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}" for h in draw(st.lists(HEX, min_size=4, max_size=4))
    ]
    assert isinstance(snapshot.gpus, tuple)
    gpus = tuple(g.with_(key=u, uuid=u) for g, u in zip(snapshot.gpus, uuids, strict=False))
    devices = tuple(d for d in snapshot.driver.cuda_devices or ())  # type: ignore[union-attr]
    from msgspec.structs import replace

    prefix = f"{draw(st.sampled_from(['/home', '/data', '/mnt/home', '/Users']))}/{user}/env"
    site = f"{prefix}/lib/python3.11/site-packages"
    length = draw(st.integers(5, 40))
    choices = st.sampled_from(
        ["0", "0,1", "", "all", "none", "9", uuids[0][:length], f"{uuids[0]},{uuids[3]}", "GPU-0a"]
    )
    snapshot = snapshot.replace(
        {
            "gpus": gpus,
            "driver.cuda_devices": tuple(replace(d, uuid=g.uuid) for d, g in zip(devices, gpus, strict=True)),
            "host.environment": (
                EnvVar("CUDA_VISIBLE_DEVICES", draw(choices)),
                EnvVar("LD_LIBRARY_PATH", f"{prefix}/lib:/usr/local/cuda/lib64/stubs:/home/{user}/lib"),
                EnvVar("HOSTNAME", user),
            ),
            "container.visible_devices": draw(choices),
            "cuda.ld_library_path": (f"{prefix}/lib", f"/home/{user}/lib"),
            "cuda.stub_directories": draw(st.sampled_from([(), (f"/home/{user}/cuda/lib64/stubs",)])),
            "python.patient": snapshot.python.patient.with_(
                prefix=prefix, executable=f"{prefix}/bin/python", site_packages=(site,)
            ),
            "torch.location": f"{site}/torch",
            "torch_run.file": draw(st.sampled_from([f"{site}/torch/__init__.py", f"/home/{user}/torch/__init__.py"])),
        }
    )
    for cause in draw(st.lists(st.sampled_from(CAUSES), max_size=3)):
        snapshot = snapshot.replace(cause)
    return snapshot, LocalNames(
        user=user, host=draw(USERS), home=draw(st.sampled_from([f"/home/{user}", "/root", "", prefix]))
    )


def findings(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    found = report(snapshot)
    return [(f.id, f.status, f.severity) for f in found.findings] + [(c.id, c.status, "") for c in found.checks]


@drawn(150, suppress_health_check=[HealthCheck.too_slow])
@given(machines())
def test_the_redacted_snapshot_is_judged_like_the_original(machine: tuple[Snapshot, LocalNames]) -> None:
    snapshot, names = machine
    assert findings(redact(snapshot, names)) == findings(snapshot)


def test_the_planted_snapshot_is_judged_like_the_original() -> None:
    assert findings(redact(planted(), NAMES)) == findings(planted())
