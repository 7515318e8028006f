"""The step that changes what is imported: PYTHONPATH, an editable install, a .pth file, the user's site folder."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.snapshot import ABSENT, Distribution, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, report, run
from ..rows import for_each
from ..sickness import env
from ..torches import SITE, import_fails

TWICE, CPU, USER = "torch-installed-twice", "cpu-only-torch", "user-site-shadows-packages"
OTHER = "/srv/cpu"


def imported_from(folder: str, s: Snapshot | None = None, **facts: object) -> Snapshot:
    """A CPU build in this folder comes before the environment's CUDA build."""
    s = s or healthy()
    first = Distribution(name="torch", version="2.8.0+cpu", location=folder, requires=(), **facts)  # type: ignore[arg-type]
    return s.replace(
        {
            "python.distributions": (first, *(known(s.python.distributions) or ())),
            "torch.version": "2.8.0+cpu", "torch.build": "cpu", "torch.cuda": ABSENT, "torch.location": f"{folder}/torch",
            "torch.sass": (), "torch.ptx": (), "torch_run.cuda": ABSENT, "torch_run.cuda_available": False,
        }
    )  # fmt: skip


@for_each(
    ("value", "command"),
    [
        (OTHER, "unset PYTHONPATH"),
        (f"{OTHER}/", "unset PYTHONPATH"),
        (f"/srv/own:{OTHER}", "export PYTHONPATH=/srv/own"),
        (f"{OTHER}:/srv/own:/srv/more", "export PYTHONPATH=/srv/own:/srv/more"),
    ],
)
def test_pythonpath_in_front_of_a_good_build(value: str, command: str) -> None:
    """Installing into the environment changes nothing: the variable is the fix, alone."""
    sick = env(imported_from(OTHER), PYTHONPATH=value)
    finding = run(TWICE, sick)[2][0]
    assert [step.command for step in finding.fixes[0].steps] == [command]
    assert_fix_works(sick, finding)
    cpu = next(f for f in report(sick).findings if f.id == CPU)
    assert [step.command for fix in cpu.fixes for step in fix.steps] == [command]
    assert_fix_works(sick, cpu)


def alone_on_pythonpath(s: Snapshot) -> Snapshot:
    """The environment itself has no torch."""
    own = tuple(d for d in known(s.python.distributions) or () if d.name != "torch" or d.location == OTHER)
    return env(s.replace({"python.distributions": own}), PYTHONPATH=OTHER)


def test_what_is_installed_comes_after_the_variable() -> None:
    cpu = alone_on_pythonpath(imported_from(OTHER))
    moved = healthy().replace({"torch.location": f"{OTHER}/torch"})
    moved = moved.replace(
        {
            "python.distributions": tuple(
                replace(d, location=OTHER) if d.name == "torch" else d for d in known(moved.python.distributions) or ()
            )
        }
    )
    broken = env(import_fails(moved, "ImportError: cannot import name '_C'"), PYTHONPATH=OTHER)
    for sick, check_id in ((cpu, CPU), (broken, "torch-import-broken")):
        finding = next(f for f in report(sick).findings if f.id == check_id)
        commands = [step.command for step in finding.fixes[0].steps]
        assert commands[0] == "unset PYTHONPATH" and "install" in commands[-1], commands


def test_an_editable_install_is_uninstalled_once() -> None:
    sick = imported_from("/srv/checkout", editable=True)
    finding = run(TWICE, sick)[2][0]
    (step,) = finding.fixes[0].steps
    assert step.command.count("uninstall") == 1
    assert_fix_works(sick, finding)


def test_a_line_of_a_pth_file() -> None:
    s = healthy().replace({"python.patient.site_packages": (SITE, OTHER)})
    sick = imported_from(OTHER, s)
    finding = run(TWICE, sick)[2][0]
    (step,) = finding.fixes[0].steps
    inserted = f"\\#^import.*[^[:alnum:]_./-]{OTHER}/*[^[:alnum:]_./-]#d"
    assert step.command == f"sed -i '\\#^{OTHER}/*$#d;{inserted}' {SITE}/*.pth"
    assert_fix_works(sick, finding)


def test_the_users_copy_over_the_systems_python() -> None:
    user = "/home/u/.local/lib/python3.11/site-packages"
    sick = imported_from(user).replace({"python.patient.kind": "system", "python.patient.externally_managed": False})
    finding = run(USER, sick)[2][0]
    assert finding.fixes[0].steps[0].command.endswith("-m pip uninstall -y torch")
    assert_fix_works(sick, finding)
    inside = run(USER, imported_from(user))[2][0]
    assert inside.fixes[0].id == "no-user-site"
