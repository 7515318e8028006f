"""Commands of a POSIX shell as they are typed in PowerShell."""

from __future__ import annotations

from doctor.findings import Alternative, Fix, Step
from doctor.fixes.powershell import in_powershell, powershell
from doctor.snapshot.typed import gpu_uuids

from ..rows import for_each

ASK = "nvidia-smi --query-gpu=uuid --format=csv,noheader -i"
ROWS = [
    ("nvidia-smi -L", "nvidia-smi -L"),
    ("sudo nvidia-smi -pm 1", "nvidia-smi -pm 1"),
    ("unset A", "Remove-Item Env:A"),
    ("unset A LD_LIBRARY_PATH", "Remove-Item Env:A\nRemove-Item Env:LD_LIBRARY_PATH"),
    ("kill 4711", "Stop-Process -Id 4711"),
    ("sudo kill 1 2", "Stop-Process -Id 1 2"),
    ("export A=1", '$env:A = "1"'),
    ("export A='b c'", '$env:A = "b c"'),
    ('A="b c" B=2 python3 train.py', '$env:A = "b c"\n$env:B = "2"\npython train.py'),
    ("export PATH=/opt/bin:$PATH", '$env:PATH = "/opt/bin:$env:PATH"'),
    ("python3 -m venv ~/torch-env", 'python -m venv "$HOME\\torch-env"'),
    ("~/torch-env/bin/pip install torch", '& "$HOME\\torch-env\\Scripts\\pip.exe" install torch'),
    ("uv pip install --python ~/env/bin/python torch",
     'uv pip install --python "$HOME\\env\\Scripts\\python.exe" torch'),
    ("cat ~/a/b.txt", 'cat "$HOME\\a\\b.txt"'),
    ("python3 -m venv ~/e && ~/e/bin/pip install torch",
     'python -m venv "$HOME\\e"\n& "$HOME\\e\\Scripts\\pip.exe" install torch'),
    ('export L="${VIRTUAL_ENV:?}"/lib:$L', '$env:L = "$env:VIRTUAL_ENV/lib:$env:L"'),
    ("export A='b $c'\"$D\"e:$F", '$env:A = "b `$c${env:D}e:$env:F"'),
    (f"export CUDA_VISIBLE_DEVICES={gpu_uuids(['0', '2'])}", f'$env:CUDA_VISIBLE_DEVICES = "$({ASK} 0),$({ASK} 2)"'),
    ("nvidia-smi\nsudo nvidia-smi -q\n\n", "nvidia-smi\nnvidia-smi -q"),
]  # fmt: skip


@for_each(("posix", "windows"), ROWS)
def test_a_line_in_powershells_words(posix: str, windows: str) -> None:
    assert powershell(posix) == windows


def test_what_runs_elsewhere_stays_as_it_is() -> None:
    line, other = "export A=1", '$env:A = "1"'
    steps = tuple(
        Step(text="", command=line, where=where, alternatives=(Alternative(tool="uv", command=line),))
        for where in ("shell", "environment", "host", "container-start", "dockerfile")
    )
    fix = in_powershell(Fix(id="x", title="y", steps=steps, note=f"Words: {line}\n  {line}\nand more"))
    assert [step.command for step in fix.steps] == [other, other, other, line, line]
    assert [step.alternatives[0].command for step in fix.steps] == [other, other, other, line, line]
    assert fix.note == f"Words: {line}\n  {other}\nand more"
