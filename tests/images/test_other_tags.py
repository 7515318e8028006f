"""What `image --other-tags` says in the end, of hosts that need another tag and of one that does not."""

from __future__ import annotations

import json
from pathlib import Path

from ..cli.command import gpudoctor
from .layouts import MANIFEST, Layout
from .modelled import IMAGES
from .servers import Answer, serving

NAME = "line/cuda"
SUFFIX = "-base-ubuntu22.04"


def registry(folder: Path) -> tuple[Layout, dict[str, Answer]]:
    """A layout, and what a registry answers to each path: tags of one line, one of another, and one that is no image."""
    layout = Layout(folder)
    kinds = {f"{tag}{SUFFIX}": f"cuda:{tag}" for tag in ("11.8.0", "12.4.1", "12.8.1", "13.0.0")}
    kinds["11.8.0-devel-ubuntu22.04"] = "cuda:11.8.0"
    answers = {f"/v2/{NAME}/manifests/12.6.0{SUFFIX}": Answer(404)}
    for tag, kind in kinds.items():
        one = IMAGES[kind](layout)
        body = layout.path(one["digest"]).read_bytes()
        answers[f"/v2/{NAME}/manifests/{tag}"] = Answer(body=body, headers={"Content-Type": MANIFEST})
    tags = json.dumps({"name": NAME, "tags": [*kinds, f"12.6.0{SUFFIX}"]}).encode()
    return layout, answers | {f"/v2/{NAME}/tags/list?n=1000": Answer(body=tags)}


def test_each_host_that_fails_gets_the_nearest_tag_that_runs_there(tmp_path: Path) -> None:
    layout, answers = registry(tmp_path / "layout")

    def answer(path: str) -> Answer:
        if "/blobs/" in path:
            return Answer(body=layout.path(path.rpartition("/")[2]).read_bytes())
        return answers.get(path, Answer(404))

    drivers = ("580.65.06", "535.183.01", "520.61.05")
    with serving(answer) as server:
        reference = f"{server.address}/{NAME}:13.0.0{SUFFIX}"
        hosts = [word for driver in drivers for word in ("--driver", driver)]
        done = gpudoctor(
            "image", reference, "--other-tags", "--from", "registry", *hosts, "--gpu", "RTX 4090", "--format", "json"
        )
    assert done.returncode == 1, done.stderr
    found = {one["driver"]: one for one in json.loads(done.stdout)["hosts"]}
    assert list(found) == list(drivers)
    assert [found[driver]["verdict"] for driver in drivers] == ["pass", "fail", "fail"]
    assert not any(
        finding["fixes"] and finding["fixes"][0]["id"] == "other-tag" for finding in found[drivers[0]]["findings"]
    )
    for driver, tag, grade in ((drivers[1], "12.4.1", "minor-version"), (drivers[2], "11.8.0", "native")):
        first, *rest = found[driver]["findings"]
        offered = f"{server.address}/{NAME}:{tag}{SUFFIX}"
        assert first["status"] == "fail"
        assert first["fixes"][0]["id"] == "other-tag"
        assert first["fixes"][0]["title"] == f"Use {offered}: according to its config, it runs on this host ({grade})"
        steps = [(step["command"], step["where"]) for step in first["fixes"][0]["steps"]]
        assert steps == [(f"docker run --rm --gpus all {offered}", "container-start")]
        assert len(first["fixes"]) > 1, "what else helps stays"
        assert not any(fix["id"] == "other-tag" for finding in rest for fix in finding["fixes"])
    # The nearest first, each only once, the one of another line and the ones behind the last that was needed never.
    read = [path.rpartition("/")[2].removesuffix(SUFFIX) for path, _ in server.seen if "/manifests/" in path]
    assert list(dict.fromkeys(read)) == ["13.0.0", "12.8.1", "12.6.0", "12.4.1", "11.8.0"]
    assert server.seen[-1][0].startswith(f"/v2/{NAME}/blobs/")
