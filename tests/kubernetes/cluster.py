"""A stand-in for a Kubernetes API server on loopback, with kubelets: the container of each probe is a real process.

It has what the real kubectl needs for `fleet run`: discovery, nodes, configmaps, daemonsets, jobs, pods, events, logs and
access reviews. No real API server is in a package registry.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aiohttp import web

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
INSUFFICIENT = "0/7 nodes are available: 1 Insufficient nvidia.com/gpu, 6 node(s) didn't match Pod's node affinity."
UNSCHEDULABLE = "0/6 nodes are available: 1 Too many pods. preemption: 0/6 nodes are available."
RESOURCES = {
    "/api/v1": [("nodes", "Node", False), ("configmaps", "ConfigMap", True), ("pods", "Pod", True),
                ("pods/log", "Pod", True), ("events", "Event", True)],
    "/apis/apps/v1": [("daemonsets", "DaemonSet", True)],
    "/apis/batch/v1": [("jobs", "Job", True)],
    "/apis/authorization.k8s.io/v1": [("selfsubjectaccessreviews", "SelfSubjectAccessReview", False)],
}  # fmt: skip


class Cluster:
    """nodes: name to the Node; does: node to what goes wrong there; own: node to the PATH of its container, instead of
    one with `python`; denied: `verb resource` that this user may not do; stuck: requests that get no answer before the
    first DELETE; keeps: pods do not end; forbids: what kubectl
    sends, such as POST daemonsets, and is refused."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder, self.python = folder, python
        self.nodes: dict[str, Json] = {}
        self.does: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.denied: set[str] = set()
        self.stuck: set[str] = set()
        self.keeps = False
        self.forbids: set[str] = set()
        self.objects: dict[tuple[str, str], Json] = {}
        """(resource, name) to the object: all that was created, and pods."""
        self.used: dict[str, int] = {}
        """Node to the GPUs that other people's pods have."""
        self.created: list[Json] = []
        self.events: list[Json] = []
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        """Pod to the process of its init container."""
        self.logs_at_once = self.most_logs = 0
        self.url = ""

    def node(self, name: str, gpus: int = 8, ready: str = "", **labels: str) -> None:
        """A node; `ready`: why it is not."""
        status = "Unknown" if ready else "True"
        resources = {"cpu": "64", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        self.nodes[name] = {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
            "status": {"capacity": resources, "allocatable": resources, "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": status, "reason": "NodeStatusUnknown" if ready else "KubeletReady", "message": ready},
            ]},
        }  # fmt: skip

    @property
    def env(self) -> dict[str, str]:
        """For kubectl: its configuration, and a cache of its own."""
        config = self.folder / "config"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}], "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "team"}}],
        }))  # fmt: skip
        return {**os.environ, "KUBECONFIG": str(config), "KUBECACHEDIR": str(self.folder / "cache")}

    def left(self) -> list[str]:
        """Objects, and processes of containers."""
        running = [name for name, child in self.children.items() if child.poll() is None]
        return [f"{kind}/{name}" for kind, name in self.objects] + running

    # What controllers do.

    def start_pods(self, made: Json) -> None:
        """The DaemonSet's controller, the scheduler and the kubelets."""
        if any(what == "refused" for what in self.does.values()):
            self.warn(
                made["metadata"]["name"],
                "FailedCreate",
                'pods "gpudoctor" is forbidden: RuntimeClass "nvidia" not found',
            )
            return
        template = made["spec"]["template"]
        for number, node in enumerate(name for name in self.nodes if matches(self.nodes[name], template["spec"])):
            name = f"{made['metadata']['name']}-{number:05d}"
            terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            pod = self.objects["pods", name] = {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team", **template["metadata"]},
                "spec": {**template["spec"], "affinity": {"nodeAffinity": required}}, "status": {"phase": "Pending"},
            }  # fmt: skip
            self.start_pod(pod, node)

    def start_job(self, made: Json) -> None:
        """The controller of jobs: one pod, on the node that the job names."""
        name, template = made["metadata"]["name"], made["spec"]["template"]
        node = next(name for name in self.nodes if matches(self.nodes[name], template["spec"]))
        if self.does.get(node) == "refused":
            self.warn(name, "FailedCreate", 'pods "gpudoctor" is forbidden: exceeded quota: gpus')
            return
        pod = self.objects["pods", f"{name}-x7k2p"] = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-x7k2p", "namespace": "team", **template["metadata"]},
            "spec": template["spec"], "status": {"phase": "Pending"},
        }  # fmt: skip
        self.start_pod(pod, node)

    def schedule(self) -> None:
        """Pods that wait for GPUs which are free now."""
        for (kind, _), pod in list(self.objects.items()):
            if kind == "pods" and pod["status"].get("conditions", [{}])[0].get("message") == INSUFFICIENT:
                (term,) = next(iter(pod["spec"]["affinity"]["nodeAffinity"].values()))["nodeSelectorTerms"]
                pod["status"] = {"phase": "Pending"}
                self.start_pod(pod, term["matchFields"][0]["values"][0])

    def lacks_gpus(self, pod: Json, node: str) -> bool:
        """Whether a pod requests more GPUs than a node has free."""
        wanted = sum(int(one.get("resources", {}).get("limits", {}).get(GPU, 0)) for one in pod["spec"]["containers"])
        return wanted > int(self.nodes[node]["status"]["allocatable"].get(GPU, 0)) - self.used.get(node, 0)

    def start_pod(self, pod: Json, node: str) -> None:
        """What a node does with its pod."""
        does, status = self.does.get(node, ""), pod["status"]
        if does == "unschedulable" or self.lacks_gpus(pod, node):
            words = UNSCHEDULABLE if does == "unschedulable" else INSUFFICIENT
            status["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}
            ]
            return
        pod["spec"]["nodeName"] = node
        if does == "sandbox":
            self.warn(pod["metadata"]["name"], "FailedCreatePodSandBox", 'no runtime for "nvidia" is configured')
            self.init(pod, waiting={"reason": "PodInitializing"})
        elif does == "image":
            self.init(pod, waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "python:3-slim"'})
        elif does == "evicted":
            status.update(phase="Failed", reason="Evicted", message="The node was low on resource: memory.")
        else:
            self.run(pod, node)

    def run(self, pod: Json, node: str) -> None:
        """Start the container with the probe, with nothing but its own variables."""
        (container,) = pod["spec"].get("initContainers") or pod["spec"]["containers"]
        folder = self.folder / "pods" / pod["metadata"]["name"]
        folder.mkdir(parents=True)
        volume = next(one for one in pod["spec"]["volumes"] if "configMap" in one)
        mount = next(one for one in container["volumeMounts"] if one["name"] == volume["name"])
        for name, text in self.objects["configmaps", volume["configMap"]["name"]]["data"].items():
            (folder / name).write_text(text)
        words = [word.replace(mount["mountPath"], str(folder)) for word in container["command"]]
        env = {one["name"]: one["value"] for one in container["env"]}
        env |= {"NODE": node}  # by which the programs of these tests know where they are
        env |= {"PATH": self.own.get(node, f"{self.python}:/usr/bin:/bin"), "HOSTNAME": pod["metadata"]["name"]}
        with open(folder / "log", "wb") as log:
            child = subprocess.Popen(words, env=env, stdout=log, stderr=log, start_new_session=True)
        self.children[pod["metadata"]["name"]] = child
        self.init(pod, running={"startedAt": "2026-11-29T02:00:00Z"})

    def reap(self) -> None:
        """Note which containers have ended."""
        for name, child in self.children.items():
            pod = self.objects.get(("pods", name))
            if pod is not None and child.poll() is not None:
                self.init(pod, terminated={"exitCode": child.returncode, "reason": "Completed"})
                pod["status"]["phase"] = "Running" if "initContainers" in pod["spec"] else "Succeeded"

    def init(self, pod: Json, **state: Json) -> None:
        field = "initContainerStatuses" if "initContainers" in pod["spec"] else "containerStatuses"
        pod["status"][field] = [{"name": "gpudoctor", "state": state}]

    def warn(self, name: str, reason: str, message: str) -> None:
        self.events.append({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.1", "namespace": "team"}, "type": "Warning",
            "involvedObject": {"name": name}, "reason": reason, "message": message,
        })  # fmt: skip

    def end_pods(self, owner: Json) -> None:
        """The garbage collector."""
        for kind, name in list(self.objects):
            if kind == "pods" and name.startswith(f"{owner['metadata']['name']}-"):
                if name in self.children:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(self.children[name].pid, signal.SIGKILL)
                    self.children[name].wait()
                del self.objects[kind, name]

    # What the API server answers.

    def log(self, name: str) -> bytes:
        """As the runtime kept it."""
        log = (self.folder / "pods" / name / "log").read_bytes()
        does = self.does.get(self.objects["pods", name]["spec"]["nodeName"], "")
        if does == "cut":
            return log[:3000]
        if does == "noise":
            noise = b'{"level":"info"} \xff\n@gpudoctor1 abc 00 1/1 0 0 0 ;\n'
            return noise + b"".join(line + noise for line in log.splitlines(keepends=True))
        return log

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        path = request.path.rstrip("/")
        for base, kinds in RESOURCES.items():
            if path == base:
                rows = [{"name": name, "singularName": "", "namespaced": own, "kind": kind, "verbs": ["get", "list", "create", "delete"]}
                        for name, kind, own in kinds]  # fmt: skip
                return web.json_response(
                    {"kind": "APIResourceList", "groupVersion": base.split("/", 2)[2], "resources": rows}
                )
        if path == "/api":
            return web.json_response({"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            versions = [base.removeprefix("/apis/") for base in RESOURCES if base.startswith("/apis/")]
            groups = [{"name": one.split("/")[0], "versions": [{"groupVersion": one, "version": "v1"}],
                       "preferredVersion": {"groupVersion": one, "version": "v1"}} for one in versions]  # fmt: skip
            return web.json_response({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        parts = path.split("/v1/", 1)[-1].split("/")
        if parts[0] == "namespaces" and len(parts) > 2:
            parts = parts[2:]
        resource, name = parts[0], parts[1] if len(parts) > 1 else ""
        if f"{request.method} {resource}" in self.stuck:
            await asyncio.sleep(3600)
        if f"{request.method} {resource}" in self.forbids:
            return failure("Forbidden", 403, f'{resource} "{name}" is forbidden: exceeded quota')
        if parts[2:] == ["log"]:
            return await self.answer_log(name)
        if resource == "selfsubjectaccessreviews":
            return self.review(await request.read())
        if request.method == "POST":
            return self.create(resource, await request.json())
        if request.method == "DELETE":
            self.stuck.clear()
            return self.delete(resource, name)
        self.reap()
        if f"list {resource}.batch" in self.denied:
            return failure("Forbidden", 403, f"{resource} is forbidden")
        if name:
            one = self.objects.get((resource, name))
            return web.json_response(one) if one else missing(resource, name)
        return self.list(resource, request.query.get("labelSelector", ""))

    async def answer_log(self, name: str) -> web.Response:
        self.logs_at_once += 1
        self.most_logs = max(self.most_logs, self.logs_at_once)
        await asyncio.sleep(0.05)
        self.logs_at_once -= 1
        return web.Response(body=self.log(name), content_type="text/plain")

    def review(self, body: bytes) -> web.Response:
        """Whether this user may; kubectl asks in protobuf only (authorization/v1/generated.proto)."""
        raw = fields(body.removeprefix(b"k8s\0"))[2]
        _, verb, group, _, resource, sub = (
            fields(fields(fields(raw)[2])[1])[number].decode() for number in range(1, 7)
        )
        allowed = f"{verb} {resource}{'.' if group else ''}{group}{'/' if sub else ''}{sub}" not in self.denied
        found = {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "status": {"allowed": allowed},
        }
        return web.json_response(found, status=201)

    def create(self, resource: str, made: Json) -> web.Response:
        made["metadata"] |= {"namespace": "team", "uid": "1", "creationTimestamp": "2026-11-29T02:00:00Z"}
        self.objects[resource, made["metadata"]["name"]] = made
        self.created.append(made)
        if resource == "daemonsets":
            self.start_pods(made)
        elif resource == "jobs":
            self.start_job(made)
        return web.json_response(made, status=201)

    def delete(self, resource: str, name: str) -> web.Response:
        one = self.objects.pop((resource, name), None)
        if one is None:
            return missing(resource, name)
        if resource in ("daemonsets", "jobs") and not self.keeps:
            self.end_pods(one)
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def list(self, resource: str, selector: str) -> web.Response:
        kind = next(kind for kinds in RESOURCES.values() for name, kind, _ in kinds if name == resource)
        group = {"daemonsets": "apps/v1", "jobs": "batch/v1"}.get(resource, "v1")
        found = {"nodes": list(self.nodes.values()), "events": self.events}.get(
            resource, [one for (what, _), one in self.objects.items() if what == resource]
        )
        items = [one for one in found if selects(selector, one["metadata"].get("labels", {}))]
        return web.json_response({"kind": f"{kind}List", "apiVersion": group, "metadata": {}, "items": items})


def fields(data: bytes) -> dict[int, bytes]:
    """The fields of a protobuf message that has none but texts and messages, each below 128 bytes."""
    found = {}
    while data:
        found[data[0] >> 3], data = data[2 : 2 + data[1]], data[2 + data[1] :]
    return found


def selects(selector: str, labels: Json) -> bool:
    """Whether labels match `NAME=VALUE`, `NAME!=VALUE` or `NAME`, with commas between."""
    for part in filter(None, selector.split(",")):
        name, sign, value = part.partition("!=" if "!=" in part else "=")
        if (name not in labels) if not sign else (labels.get(name) == value) == (sign == "!="):
            return False
    return True


def matches(node: Json, spec: Json) -> bool:
    """Whether a pod may run on a node, by its nodeSelector and by the fields of its affinity."""
    if any(node["metadata"]["labels"].get(name) != value for name, value in spec.get("nodeSelector", {}).items()):
        return False
    if not spec["affinity"]:
        return True
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    name = node["metadata"]["name"]
    return any(
        all((name in field["values"]) == (field["operator"] == "In") for field in term["matchFields"])
        for term in required["nodeSelectorTerms"]
    )


def failure(reason: str, code: int, message: str) -> web.Response:
    """An error, as Kubernetes puts it."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return web.json_response({**status, "message": message}, status=code)


def missing(resource: str, name: str) -> web.Response:
    return failure("NotFound", 404, f'{resource} "{name}" not found')


@contextlib.contextmanager
def kubernetes(folder: Path, python: Path) -> Iterator[Cluster]:
    """A cluster without nodes. python: the folder of the python3 that its image has."""
    folder.mkdir()
    cluster, loop, ready = Cluster(folder, python), asyncio.new_event_loop(), threading.Event()

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", cluster.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        cluster.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        return runner

    def work() -> None:
        runner = loop.run_until_complete(serve())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield cluster
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for child in cluster.children.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
