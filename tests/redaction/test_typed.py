"""What can be typed of a masked report: no command holds a mask, and on the user's own terminal names are true."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from doctor.findings import Fix, Step
from doctor.snapshot import Disk, EnvVar, MigInstance, Missing, Snapshot, Target, TorchRun
from doctor.snapshot.masks import holds_mask
from doctor.snapshot.redact import LocalNames, Redactor, redact
from doctor.snapshot.redact_secrets import without_secrets
from doctor.snapshot.typed import Typed

from ..cli.command import COMMAND, gpudoctor, save
from ..healthy import healthy
from .planted import NAMES, SECRETS, planted, sentences


def machine() -> Snapshot:
    """Three GPUs, one of them cut in two, and a variable that names an instance that is gone."""
    s = healthy("a100", "a100", "h100")
    first, second, third = s.gpus  # type: ignore[misc]
    cut = first.with_(
        mig_enabled=True,
        mig_instances=tuple(
            MigInstance(uuid=f"MIG-{n}aaaaaaa-1111-2222-3333-44444444444{n}", name="MIG 3g.40gb") for n in (1, 2)
        ),
    )
    return s.replace({"gpus": (cut, second, third)})


def nvidia_smi(folder: Path, s: Snapshot) -> dict[str, str]:
    """PATH with an nvidia-smi that answers as the tool does on this machine, in the order of its indices."""
    gpus = [gpu.uuid for gpu in s.gpus]  # type: ignore[union-attr]
    listed = [f"GPU {number}: NVIDIA A100 (UUID: {uuid})" for number, uuid in enumerate(gpus)]
    listed[1:1] = [f"  MIG 3g.40gb Device {n}: (UUID: {one.uuid})" for n, one in enumerate(s.gpus[0].mig_instances)]  # type: ignore
    rows = "\n".join(f'    {number}) chosen="$chosen {number}";;' for number in range(len(gpus)))
    every = "\n".join(f'case "$chosen" in *{number}*) echo {uuid};; esac' for number, uuid in enumerate(gpus))
    script = f"""#!/bin/sh
if [ "$1" = -L ]; then cat <<'END'
{chr(10).join(listed)}
END
exit; fi
chosen=
for one in $(echo "$4" | tr , ' '); do case $one in
{rows}
esac; done
{every}
"""
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi").write_text(script)
    (folder / "nvidia-smi").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_shell_finds_the_uuids_of_a_masked_command(tmp_path: Path) -> None:
    s = machine()
    env, gpus = nvidia_smi(tmp_path / "bin", s), [str(gpu.uuid) for gpu in s.gpus]  # type: ignore[union-attr]
    first, second = (str(one.uuid) for one in s.gpus[0].mig_instances)  # type: ignore[index, union-attr]
    for value in (
        gpus[1], gpus[1][:12], f"{gpus[1]},{gpus[2]}", f"{gpus[2]},{gpus[1]}", first, second, second[:9],
        f"{second},{gpus[2]}", f"0,{gpus[1]}",
    ):  # fmt: skip
        masks = Redactor(LocalNames())
        masks.type_for(s)
        masks.learn(s)
        step = masks.value(Step(text="", command=f"export CUDA_VISIBLE_DEVICES={value}", where="shell"))
        assert step.command
        assert not re.search(r"(GPU|MIG)-[0-9a-f]{3}", step.command), step.command
        done = subprocess.run(
            ["sh", "-c", f'{step.command}; echo "$CUDA_VISIBLE_DEVICES"'], env=env, capture_output=True, text=True
        )
        found = done.stdout.strip().split(",")
        for entry, meant in zip(found, value.split(","), strict=True):
            assert entry.startswith(meant), (value, step.command, done)


def test_what_no_shell_finds_is_left_out_with_a_word() -> None:
    s = machine()
    away = "GPU-5f3a9c1e-77aa-4b1c-9d2e-0123456789ab"
    step = Step(text="Choose.", command=f"export CUDA_VISIBLE_DEVICES={away}", where="shell")
    quoted = Step(text="Run it.", command=f"docker run --gpus '\"device={s.gpus[1].uuid}\"' IMAGE", where="host")  # type: ignore
    note = (
        "Good to know.\nIn its Dockerfile:\n  RUN /data/users/zaphod/venv/bin/python -m pip install torch\nAnd so on."
    )
    fix = Fix(id="x", title="X", steps=(step, quoted), note=note)
    masks = Redactor(NAMES)
    masks.type_for(s)
    masks.learn(s)
    shown = masks.value(fix)
    assert [one.command for one in shown.steps] == ["", ""]
    assert shown.steps[0].text == (
        "Choose. The command is omitted because it contains a masked name; to see it, use a terminal or --no-redact."
    )
    assert shown.note == "Good to know.\nAnd so on."
    assert masks.value(shown) == shown
    assert without_secrets(fix, s, NAMES) == fix, "on a terminal all of it is true"
    again = without_secrets(fix.__class__(id="x", title="X", steps=(masked_before(step),)), s, NAMES)
    assert [one.command for one in again.steps] == [""], "nothing brings back what a saved report has masked"
    assert "--no-redact" not in again.steps[0].text


def masked_before(step: Step) -> Step:
    masks = Redactor(NAMES)
    masks.learn(step.command)
    return Step(text=step.text, command=masks.pasted(step.command), where=step.where)


def test_every_kind_of_mask_is_known_as_one() -> None:
    s = planted()
    masks = Redactor(NAMES)
    masks.learn(s)
    for text in sentences():
        shown = masks.pasted(text)
        assert shown == text or holds_mask(shown), shown
    lost = [kind for kind, secret in SECRETS.items() if (shown := masks.pasted(f"at {secret} here")) != f"at {secret} here"
            and not holds_mask(shown)]  # fmt: skip
    assert lost == []
    for text in (
        "uv pip install torch==2.8.0", "export CUDA_VISIBLE_DEVICES=GPU-d0c5f3a9-77aa-4b1c-9d2e-0123456789ab",
        "nvidia-smi -i 1 -pl 300", "pip install 'nvidia-cublas==13.1.0.3.*'", "kubectl get superhost-1 vid-7 host-1a",
        "docker run 10.0.2.1:5000/x", "export NCCL_IB_GID_INDEX=3",
    ):  # fmt: skip
        assert not holds_mask(text), text
    assert holds_mask("ssh user-1@x")
    assert not holds_mask("ssh user-1@host-7", ("user-1", "host-7"))


def test_a_quoted_environment_is_left_to_its_variable() -> None:
    typed = Typed("/home/zaphod")
    typed.learn("CONDA_PREFIX", "/scratch/z/my env")
    assert typed.with_variables("uv pip install --python '/scratch/z/my env/bin/python' x") == (
        "uv pip install --python \"${CONDA_PREFIX:?}\"'/bin/python' x"
    )
    assert (
        typed.with_variables("conda install --prefix '/scratch/z/my env' x")
        == 'conda install --prefix "${CONDA_PREFIX:?}" x'
    )


@pytest.mark.parametrize(
    ("home", "prefix", "typed"),
    [
        ("/home/zaphod", "/home/zaphod/venv", "~/venv/bin/python -V"),
        ("", "/home/zaphod/venv", "~/venv/bin/python -V"),
        ("/root", "/home/zaphod/venv", ""),  # `~` is /root there
        ("/home/ford", "/home/zaphod/venv", ""),
        ("/home", "/home/zaphod/venv", ""),  # a HOME that does not exist: the room is that of the folder above it
        ("/", "/home/zaphod/venv", ""),
        ("/home/ford", "/home/trillian/venv", ""),
        ("/Users/trillian", "/Users/trillian/venv", "~/venv/bin/python -V"),
    ],
)
def test_a_tilde_is_the_home_of_who_repairs_the_machine(home: str, prefix: str, typed: str) -> None:
    """Of the patient's user, where that was recorded: of nobody else, the reader of the report among them."""
    s = healthy("h100")
    disks = (Disk("home", home, 9000, True),) if home else ()
    s = s.replace({"python.patient.prefix": prefix, "host.disks": disks})
    masks = Redactor(NAMES)
    masks.type_for(s)
    masks.learn(s)
    assert masks.value(Step(text="", command=f"{prefix}/bin/python -V", where="environment")).command == typed


def test_a_variable_that_is_not_set_runs_nothing(tmp_path: Path) -> None:
    typed = Typed("")
    typed.learn("VIRTUAL_ENV", "/scratch/z/venv")
    line = typed.with_variables("/scratch/z/venv/bin/touch here")
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(["sh", "-c", line], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "VIRTUAL_ENV" in done.stderr and not (tmp_path / "here").exists()
    done = subprocess.run(["sh", "-c", line], env={**env, "VIRTUAL_ENV": "/usr"}, cwd=tmp_path, check=False)
    assert done.returncode == 0 and (tmp_path / "here").exists()


def terminal(*words: str | Path, env: dict[str, str] | None = None) -> str:
    """What gpudoctor writes on a terminal, without colors."""
    main, side = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    child = subprocess.Popen(
        [str(COMMAND), *map(str, words)], stdout=side, env={**kept, "COLUMNS": "110", **(env or {})}
    )
    os.close(side)
    said = b""
    try:
        while part := os.read(main, 65536):
            said += part
    except OSError:  # the other end is closed
        pass
    child.wait(60)
    os.close(main)
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with true names, of a machine whose variable names a MIG instance that is gone."""
    s = machine()
    variables = (EnvVar("CUDA_VISIBLE_DEVICES", "MIG-99999999-1111-2222-3333-444444444444"),)
    target = Target(kind="live", name="heartofgold", gathered_at="2026-11-20T00:00:00Z")
    changes = {"driver.cuda_devices": Missing("error", "cuInit"), "driver.cu_init": 100, "torch_run": TorchRun(), "host.environment": variables, "target": target,
               "python.chosen_because": "--python /scratch/trillian/venv"}  # fmt: skip
    return save(tmp_path_factory.mktemp("mig"), s.replace(changes))


@pytest.mark.parametrize("command", ["check", "fix", "explain", "what-if"])
def test_a_terminal_shows_true_names_and_a_pipe_what_finds_them(command: str, saved: Path) -> None:
    words: list[str | Path] = [command, "--from", saved]
    if command == "explain":
        words = [command, saved]
    if command == "what-if":
        words += ["--torch", "2.9.0"]
    true = "export CUDA_VISIBLE_DEVICES=MIG-1aaaaaaa-1111-2222-3333-444444444441"
    shown, piped = terminal(*words), gpudoctor(*words).stdout.decode()
    assert true in shown, shown
    if command != "fix":
        assert "MIG-99999999" in shown, "a title that quotes the user's variable is true"
    for text in (piped, terminal(*words, env={"CI": "true"})):
        assert "MIG-1aaaaaaa" not in text
        assert "MIG-99999999" not in text
        assert "sed -n 1p" in text
    if command == "check":
        markdown = terminal(*words, "--format", "markdown")
        assert "MIG-1aaaaaaa" not in markdown, "what is written for others is masked on a terminal too"


def test_a_masked_report_is_judged_again_without_a_mask_in_a_command(saved: Path, tmp_path: Path) -> None:
    masked = tmp_path / "masked.json"
    masked.write_bytes(gpudoctor("check", "--from", saved, "--format", "json").stdout)
    shown = terminal("check", "--from", masked)
    assert "sed -n 1p" in shown
    assert not holds_mask("\n".join(row for row in shown.splitlines() if "export " in row))


def test_a_redacted_report_is_left_as_it_is() -> None:
    once = redact(machine(), NAMES)
    assert redact(once, NAMES) == once
