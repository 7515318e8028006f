"""Dockerfiles, compose files and manifests: each planted fault at its line, nothing in good ones, by both parsers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from compat_matrix import Matrix
from doctor.commands.toml import loads
from doctor.images.recipes import read_recipe, rules
from doctor.images.recipes.instructions import Unparsed

from ..cli.command import gpudoctor
from ..healthy import healthy
from ..rows import for_each
from . import faulty, good

PLANTED = [
    *(("Dockerfile", name, text) for name, text in faulty.DOCKERFILES.items()),
    *(("compose.yaml", name, text) for name, text in faulty.COMPOSE.items()),
    *(("pod.yaml", name, text) for name, text in faulty.KUBERNETES.items()),
]
GOOD = [
    *(("Dockerfile", name, text) for name, text in good.DOCKERFILES.items()),
    *((n, n, t) for n, t in good.OTHERS.items()),
    *(("pod.yaml", name, text) for name, text in good.KUBERNETES.items()),
    *(("compose.yaml", name, text) for name, text in good.COMPOSE.items()),
]


def written(folder: Path, name: str, text: str, requirements: str = faulty.REQUIREMENTS) -> tuple[Path, int]:
    """The file without its mark, and the line that the mark stood on."""
    rows = text.split("\n")
    line = next((number for number, row in enumerate(rows, 1) if "# <-" in row), 0)
    (folder / "requirements.txt").write_text(requirements)
    file = folder / name
    file.write_text("\n".join(row.split("  # <-")[0] for row in rows))
    return file, line


def without_buildkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra `dockerfile` is not installed."""
    monkeypatch.setitem(sys.modules, "dockerfile", None)


@for_each(("name", "case", "text"), PLANTED)
def test_each_planted_fault_is_found_at_its_line_and_no_other(tmp_path: Path, name: str, case: str, text: str) -> None:
    file, line = written(tmp_path, name, text)
    found = read_recipe(file, Matrix.load(), {}).faults
    assert [(fault.rule, fault.line) for fault in found] == [(case.partition(":")[0], line)], found


@for_each(("rule", "name"), [(rule, name) for rule in faulty.VARIABLES for name in faulty.SET_IN])
def test_a_variable_breaks_the_same_rule_wherever_it_is_set(tmp_path: Path, rule: str, name: str) -> None:
    variable, value = faulty.VARIABLES[rule]
    text = faulty.SET_IN[name].replace("NAME", variable).replace("VALUE", value)
    file, line = written(tmp_path, name, text)
    assert [(fault.rule, fault.line) for fault in read_recipe(file, Matrix.load(), {}).faults] == [(rule, line)]


@for_each("name", list(good.TEMPLATES))
def test_a_helm_template_is_refused_though_it_is_yaml(name: str, tmp_path: Path) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(good.TEMPLATES[name])
    with pytest.raises(Unparsed, match=r"a template; .*helm template"):
        read_recipe(file, Matrix.load(), {})


@for_each(("name", "case", "text"), GOOD)
def test_good_files_have_no_fault(tmp_path: Path, name: str, case: str, text: str) -> None:
    file, _ = written(tmp_path, name, text, good.REQUIREMENTS)
    assert read_recipe(file, Matrix.load(), {}).faults == ()


@for_each("base", ["ubuntu:22.04", "python:3.11", "registry.example/own:1"])
def test_a_demand_on_the_driver_is_read_whatever_the_base(base: str, tmp_path: Path) -> None:
    """The toolkit evaluates it in every image; what hides GPUs from an image without use for them is no fault."""
    path = tmp_path / "Dockerfile"
    path.write_text(f'FROM {base}\nENV NVIDIA_VISIBLE_DEVICES=none\nENV NVIDIA_REQUIRE_CUDA="cuda=>12.4"\n')
    (fault,) = read_recipe(path, Matrix.load(), {}, "").faults
    assert (fault.rule, fault.line) == ("requirement-not-readable", 3)


def test_at_least_25_faults_are_planted_and_every_rule_has_one() -> None:
    assert len(PLANTED) >= 25 and len(GOOD) >= 10
    assert {case.partition(":")[0] for _, case, _ in PLANTED} == rules().keys()


def test_without_buildkit_s_parser_the_answers_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_buildkit(monkeypatch)
    wrong = []
    for name, case, text in PLANTED:
        file, line = written(tmp_path, name, text)
        found = [(fault.rule, fault.line) for fault in read_recipe(file, Matrix.load(), {}).faults]
        wrong += [(case, found)] if found != [(case.partition(":")[0], line)] else []
    assert not wrong


def test_the_hook_installs_what_reads_every_dockerfile() -> None:
    """A heredoc that the hook cannot read would block the commit."""
    root = Path(__file__).parents[2]
    (hook,) = YAML(typ="safe").load(root / ".pre-commit-hooks.yaml")
    extras = loads((root / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wanted = {name.name: name for one in ("image", "dockerfile") for name in map(Requirement, extras[one])}
    installed = [Requirement(text) for text in hook["additional_dependencies"]]
    assert {one.name for one in installed} == {"dockerfile-parse", "ruamel.yaml", "dockerfile"} <= wanted.keys()
    assert all(one.specifier == wanted[one.name].specifier for one in installed)
    buildkit = next(one for one in installed if one.name == "dockerfile")
    there = {"sys_platform": "linux", "platform_machine": "x86_64"}
    assert buildkit.marker and buildkit.marker.evaluate(there)
    assert not buildkit.marker.evaluate({**there, "platform_machine": "aarch64"})  # no wheel: pip would need Go


def test_without_buildkit_s_parser_a_heredoc_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _ = written(tmp_path, "Dockerfile", good.DOCKERFILES["a heredoc"])
    assert read_recipe(file, Matrix.load(), {}).faults == ()
    without_buildkit(monkeypatch)
    with pytest.raises(Unparsed, match=r"heredoc at line 3: requires the dockerfile extra: .*\[dockerfile\]") as raised:
        read_recipe(file, Matrix.load(), {})
    assert raised.value.unknown, "exit 3: it may be right"


def test_build_arguments_and_stages_are_resolved(tmp_path: Path) -> None:
    text = "ARG BASE\nFROM ${BASE} AS a\nENV NVIDIA_VISIBLE_DEVICES=none\nFROM ubuntu:22.04 AS b\nFROM a AS c\n"
    file, _ = written(tmp_path, "Dockerfile", text)
    unresolved = gpudoctor("dockerfile", str(file))
    assert unresolved.returncode == 3 and b"Nothing sets BASE" in unresolved.stdout
    given = gpudoctor("dockerfile", str(file), "--build-arg", "BASE=nvidia/cuda:12.4.1-base-ubuntu22.04")
    assert given.returncode == 1 and b"Dockerfile:3" in given.stdout
    assert gpudoctor("dockerfile", str(file), "--target", "b").returncode == 0
    undeclared, _ = written(tmp_path, "Dockerfile.undeclared", "FROM ubuntu:22.04 AS a\nARG BASE\nFROM ${BASE}\n")
    not_set = gpudoctor("dockerfile", str(undeclared), "--build-arg", "BASE=ubuntu:22.04")
    assert not_set.returncode == 3 and b"add ARG BASE before the first FROM" in not_set.stdout
    assert b"no stage 'z' (a, b, c)" in gpudoctor("dockerfile", str(file), "--target", "z").stderr


def test_what_it_makes_is_judged_for_hosts(tmp_path: Path) -> None:
    text = f"FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN pip install torch==2.8.0 --index-url {good.PIP}/cu128\n"
    file, _ = written(tmp_path, "Dockerfile", text)
    runs = gpudoctor("dockerfile", str(file), "--driver", "570.86.15", "--gpu", "RTX A5000")
    assert runs.returncode == 0, runs.stdout
    not_there = gpudoctor("dockerfile", str(file), "--driver", "570.86.15", "--gpu", "GTX 1080")
    said = b" ".join(not_there.stdout.split())  # however long the path is
    assert not_there.returncode == 1 and b"It would not run on GeForce GTX 1080" in said
    assert gpudoctor("dockerfile", str(file), "--gpu", "GTX 1080").returncode == 2


def formatted(tmp_path: Path, format_: str) -> str:
    """One file with a failure, a warning and a remark."""
    text = f"FROM python:3.11-slim\nRUN pip install torch==2.6.0 --index-url {good.PIP}/cu124\n"
    text += "ENV CUDA_VISIBLE_DEVICES=0 NVIDIA_DRIVER_CAPABILITIES=graphics\n"
    file, _ = written(tmp_path, "Dockerfile", text)
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "dockerfile", file.name, "--format", format_],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_sarif_validates_against_its_schema_and_points_at_the_lines(tmp_path: Path) -> None:
    from jsonschema import Draft7Validator

    log = json.loads(formatted(tmp_path, "sarif"))
    schema = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text())
    assert not [error.message for error in Draft7Validator(schema).iter_errors(log)]
    (run,) = log["runs"]
    lines = [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in run["results"]]
    assert lines == [2, 3, 3] and [r["level"] for r in run["results"]] == ["note", "warning", "error"]
    names = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(names[r["ruleIndex"]] == r["ruleId"] for r in run["results"])


def test_junit_is_read_by_junitparser(tmp_path: Path) -> None:
    from junitparser import JUnitXml

    suites = JUnitXml.fromstring(formatted(tmp_path, "junit").encode())
    (suite,) = suites
    assert (suite.tests, suite.failures) == (3, 1) == (len(list(suite)), sum(not case.is_passed for case in suite))


def test_annotations_are_escaped(tmp_path: Path) -> None:
    rows = formatted(tmp_path, "github").splitlines()
    assert [row.split(" ")[0] for row in rows] == ["::notice", "::warning", "::error"]
    assert rows[2].startswith("::error file=Dockerfile,line=3,title=NVIDIA_DRIVER_CAPABILITIES leaves CUDA out [")
    from doctor.report.github import render_github
    from doctor.report.outcome import Outcome

    odd = render_github([Outcome("r", "fail", "a: b, c", "50 %\nmore", "", "a,b:c.yaml", 3)]).decode()
    assert odd == "::error file=a%2Cb%3Ac.yaml,line=3,title=a%3A b%2C c [r]::50 %25%0Amore\n"


@pytest.mark.slow
@for_each(
    ("name", "data", "code", "words"),
    [
        ("Dockerfile", b"", 2, "no instruction"),
        ("Dockerfile", b"\0\1\2", 2, "not a text file"),
        ("Dockerfile", b"RUN echo\n", 2, "no FROM"),
        ("Dockerfile", b"FROM a\nFETCH b\n", 2, "is not a Dockerfile instruction"),
        ("Dockerfile", b"FROM a b c d\n", 2, "FROM takes an image"),
        ("Dockerfile", b"FROM a\n\\\n", 0, ""),
        ("Dockerfile", b"FROM a\nRUN <<EOF\nnever closed\n", 2, "heredoc"),
        ("a.yaml", b"services: [", 2, "not valid YAML"),
        ("a.yaml", b"x: 1\n", 2, "neither a compose file"),
        ("a.yaml", b"- {{ .Values.x }}\n  y: {{ if }}\n- [", 2, "helm template"),
        ("a.yaml", b"a: &a [x]\n" + b"".join(b"b%d: &b%d [*a,*a,*a]\n" % (i, i) for i in range(900)), 2, "neither a compose file"),
        ("a.yaml", b"services: {a: 3, b: [], c: {deploy: 1, environment: 5, healthcheck: x, image: 7}}\n", 0, "nothing found"),
        ("a.yaml", b"apiVersion: v1\nkind: Pod\nspec: {containers: [3, {env: x, resources: 5, livenessProbe: []}]}\n", 0, ""),
        ("Dockerfile", b"FROM a\n" + b"RUN x\n" * 900_000, 2, "too large for a Dockerfile"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_judged(tmp_path: Path, name: str, data: bytes, code: int, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    done = gpudoctor("dockerfile", str(tmp_path / name))
    out: Any = done.stdout + done.stderr
    assert (done.returncode, words in out.decode(), b"Traceback" in out) == (code, True, False), out[-300:]
    assert code == 0 or out.count(b"\n") == 1


def test_missing_files_and_folders_get_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        done = gpudoctor("dockerfile", str(path))
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and not done.stdout


def test_requirements_outside_of_the_build_context_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("torch==2.4.0\n")
    folder = tmp_path / "context"
    folder.mkdir()
    text = faulty.DOCKERFILES["torch-replaced-later:requirements"].replace("/tmp/requirements.txt", "../secret.txt")
    file, _ = written(folder, "Dockerfile", text)
    assert not read_recipe(file, Matrix.load(), {}).faults


@for_each("format_", ["sarif", "junit", "github"])
def test_check_has_these_formats_too(tmp_path: Path, format_: str) -> None:
    from doctor.snapshot import Missing

    from ..cli.command import save
    from ..healthy import healthy

    sick = healthy().replace({"torch.version": "2.6.0+cpu", "torch.build": "cpu", "torch.cuda": Missing("absent")})
    done = gpudoctor("check", "--from", str(save(tmp_path, sick)), "--format", format_)
    assert done.returncode == 1, done.stderr
    if format_ == "sarif":
        from jsonschema import Draft7Validator

        log = json.loads(done.stdout)
        schema = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text())
        assert not [error.message for error in Draft7Validator(schema).iter_errors(log)]
        assert "cpu-only-torch" in [result["ruleId"] for result in log["runs"][0]["results"]]
    elif format_ == "junit":
        from junitparser import JUnitXml

        (suite,) = JUnitXml.fromstring(done.stdout)
        assert suite.failures >= 1 and suite.tests > 100
    else:
        assert done.stdout.startswith(b"::error title=PyTorch 2.6.0+cpu is a CPU-only build [cpu-only-torch]::")


@pytest.mark.compose
def test_compose_itself_takes_the_reservation_that_is_offered(tmp_path: Path) -> None:
    """By docker-compose 1.29.2 and the schema in it; it refuses capabilities that are no list."""
    from doctor.fixes.start_image import start_lines

    offered = rules()["service-without-gpu"].fix
    whole = dict(
        start_lines(healthy().replace({"container.driver_capabilities": "graphics"}), "nvidia/cuda:12.4.1-base")
    )
    texts = {
        "rule": f"services:\n  app:\n    image: nvidia/cuda:12.4.1-base\n    {offered}\n",
        "start": whole["compose"] + "\n",
        "text for a list": "services:\n  app:\n    image: x\n"
        "    deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: gpu}]}}}\n",
    }
    answers = {}
    for name, text in texts.items():
        file = tmp_path / f"{name.partition(' ')[0]}.yaml"
        file.write_text('version: "3.8"\n' + text)
        command = ["docker-compose", "-f", str(file), "config"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        answers[name] = done.returncode
        assert done.returncode or ("nvidia" in done.stdout and "gpu" in done.stdout), done.stdout
    assert answers == {"rule": 0, "start": 0, "text for a list": 1}


BAD_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - {name: c, image: "pytorch/pytorch:latest", resources: {requests: {nvidia.com/gpu: 1}}}
"""
OTHERS = {
    "ci.yml": "on: push\njobs:\n  a:\n    services:\n      db: {image: postgres}\n",
    "values.yaml": "image: pytorch/pytorch:latest\ngpu: 1\n",
    "empty.yaml": "",
    "list.yaml": "- apiVersion: v1\n- 2\n",
    "text.yml": "just a text\n",
    "broken.yaml": "a: [1, 2\nb: }\n",
    "playbook.yaml": "- hosts: all\n  tasks:\n    - k8s:\n        definition:\n          apiVersion: v1\n          kind: Pod\n",
    "chart.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {{ .Values.name }}\n",
    "jinja.yaml": "apiVersion: v1\nkind: Pod\n{% if gpu %}\nspec: {}\n{% endif %}\n",
    "lock.yaml": "".join(f"p{number}: {{a: 1, b: 2, c: 3}}\n" for number in range(20_000)),
    "tags.yaml": "Resources:\n  A: !Ref B\n",
    "Dockerfile.j2": "FROM ubuntu:22.04\n{% if gpu %}\nRUN pip install torch\n{% endif %}\n",
    "Dockerfile.tpl": "FROM {{ base }}\nRUN pip install torch\n",
    "Dockerfile.erb": "FROM ubuntu:22.04\n<% if gpu %>\nRUN pip install torch\n<% end %>\n",
    "Dockerfile.go": '{{ template "head" . }}\nRUN pip install torch\n',
}


@for_each("name", list(OTHERS))
def test_templates_and_yaml_for_something_else_are_skipped_on_request(name: str, tmp_path: Path) -> None:
    other, pod = tmp_path / name, tmp_path / "pod.yaml"
    other.write_text(OTHERS[name])
    pod.write_text(BAD_POD)
    assert gpudoctor("dockerfile", other).returncode == 2, "named alone, without the flag"
    done = gpudoctor("dockerfile", "--skip-others", other)
    assert (done.returncode, done.stderr) == (0, b"") and b"no Dockerfile, compose file or manifest" in done.stdout
    done = gpudoctor("dockerfile", "--skip-others", other, pod, "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["files"] == [str(pod)]


def test_a_manifest_that_cannot_be_read_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: [Pod\n")
    (tmp_path / "Dockerfile").write_text("RUN nothing\n")
    (tmp_path / "Containerfile").write_text("FROM ubuntu\nRUN docker inspect -f '{{.Id}}' x\nBOGUS y\n")
    for name in ("pod.yaml", "Dockerfile", "Containerfile", "absent.yaml"):
        assert gpudoctor("dockerfile", "--skip-others", tmp_path / name).returncode == 2, name
