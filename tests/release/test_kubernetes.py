"""deploy/kubernetes against the schemas of Kubernetes, and its parts against each other and against the server."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support.servers import HERE, Server

from gradloupe import __version__
from gradloupe.server.config.settings import parse_settings

pytestmark = pytest.mark.release

Plain = dict[str, Any]
OVERLAYS = ("base", "gpu", "play")
VERSIONS = ("1.31", "1.37")


def merged(plain: Any, patch: Any) -> Any:
    """A strategic merge: mappings by key, lists of what has a name by that, anything else is replaced."""
    if isinstance(plain, dict) and isinstance(patch, dict):
        return plain | {key: merged(plain.get(key), value) for key, value in patch.items()}
    if isinstance(plain, list) and isinstance(patch, list) and all("name" in each for each in (*plain, *patch)):
        by_name = {each["name"]: each for each in plain}
        return [*(by_name | {each["name"]: merged(by_name.get(each["name"]), each) for each in patch}).values()]
    return patch


def documents(file: Path) -> list[Plain]:
    return [*yaml.safe_load_all(file.read_text())]


@cache
def objects(folder: Path) -> dict[tuple[str, str], Plain]:
    """What a kustomization applies, by kind and name, its settings as a ConfigMap."""
    chosen, found = documents(folder / "kustomization.yaml")[0], dict[tuple[str, str], Plain]()
    for name in chosen["resources"]:
        path = (folder / name).resolve()
        parts = objects(path).values() if path.is_dir() else documents(path)
        found |= {(each["kind"], each["metadata"]["name"]): each for each in parts}
    for patch in chosen.get("patches", []):
        (change,) = documents(folder / patch["path"])
        key = (change["kind"], change["metadata"]["name"])
        found[key] = merged(found[key], change)
    for made in chosen.get("configMapGenerator", []):
        data = dict(each.split("=", 1) for each in made.get("literals", []))
        data |= {file: (folder / file).read_text() for file in made.get("files", [])}
        before = found.get(("ConfigMap", made["name"]), {"data": {}})["data"]
        head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": made["name"]}}
        found["ConfigMap", made["name"]] = head | {"data": before | data}
    return found


def overlay(name: str) -> dict[tuple[str, str], Plain]:
    return objects(HERE / "deploy/kubernetes" / name)


def pods(name: str) -> dict[str, Plain]:
    """The templates of the pods of an overlay, by Deployment."""
    return {each: plain["spec"]["template"] for (kind, each), plain in overlay(name).items() if kind == "Deployment"}


def chosen_by(selector: Plain, template: Plain) -> bool:
    labels, exprs = template["metadata"]["labels"], selector.get("matchExpressions", [])
    equal = selector.get("matchLabels", {} if exprs else selector).items() <= labels.items()
    return equal and all(labels[each["key"]] in each["values"] for each in exprs)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OVERLAYS)
def test_each_object_is_what_its_schema_says(name: str, version: str) -> None:
    for plain in overlay(name).values():
        assert kubernetes_validate.validate(plain, version, strict=True)


def test_a_field_that_is_unknown_or_of_another_type_would_be_told() -> None:
    plain = overlay("base")["Deployment", "gradloupe"]
    for wrong in ({"replica": 2}, {"minReadySeconds": "soon"}):
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(plain | {"spec": plain["spec"] | wrong}, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("name", OVERLAYS)
def test_what_names_another_part_names_one_that_is_there(name: str) -> None:
    applied, templates = overlay(name), pods(name)
    for (kind, _), plain in applied.items():
        spec = plain.get("spec", {})
        if kind == "Service":
            (pod,) = [each for each in templates.values() if chosen_by(spec["selector"], each)]
            ports = [port["name"] for each in pod["spec"]["containers"] for port in each["ports"]]
            assert [port["targetPort"] for port in spec["ports"]] == ports
        elif kind == "PodDisruptionBudget":
            assert sum(chosen_by(spec["selector"], each) for each in templates.values()) == 1
        elif kind == "NetworkPolicy":
            assert any(chosen_by(spec["podSelector"], each) for each in templates.values())
        elif kind == "HorizontalPodAutoscaler":
            assert spec["scaleTargetRef"]["name"] in templates
            assert "replicas" not in applied["Deployment", spec["scaleTargetRef"]["name"]]["spec"]
        elif kind == "Ingress":
            (path,) = [path for rule in spec["rules"] for path in rule["http"]["paths"]]
            assert path["pathType"] in ("Prefix", "Exact", "ImplementationSpecific")
            assert ("Service", path["backend"]["service"]["name"]) in applied
    for template in templates.values():
        told = template["spec"]["containers"] + template["spec"].get("initContainers", [])
        maps = [source["configMapRef"]["name"] for each in told for source in each.get("envFrom", [])]
        maps += [volume["configMap"]["name"] for volume in template["spec"]["volumes"] if "configMap" in volume]
        assert all(("ConfigMap", each) in applied for each in maps)
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        assert {mount["name"] for each in told for mount in each["volumeMounts"]} == volumes


@pytest.mark.parametrize("name", OVERLAYS)
def test_nothing_has_more_rights_than_it_needs(name: str) -> None:
    for template in pods(name).values():
        spec = template["spec"]
        assert not spec["automountServiceAccountToken"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in (*spec["containers"], *spec.get("initContainers", [])):
            context = each["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert not context["allowPrivilegeEscalation"]
            assert re.fullmatch(r"\d+(Mi|Gi)", each["resources"]["limits"]["memory"])
    policy = overlay(name)["NetworkPolicy", "gradloupe"]["spec"]
    assert policy["egress"] == []
    assert chosen_by(policy["podSelector"], pods(name)["gradloupe"])


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_settings_are_options_that_strangers_may_meet(name: str) -> None:
    chosen = parse_settings([], overlay(name)["ConfigMap", "settings"]["data"], __version__)
    assert chosen.public
    assert chosen.play == (name == "play")
    assert chosen.requests_per_peer == 0  # all come from nginx


def test_what_is_edited_runs_in_pods_of_its_own() -> None:
    names = [each["value"] for each in pods("play")["proxy"]["spec"]["initContainers"][0]["env"]]
    assert names[1:] == ["gradloupe.gradloupe.svc.cluster.local:8000", "play.gradloupe.svc.cluster.local:8000"]
    assert chosen_by(overlay("play")["NetworkPolicy", "gradloupe"]["spec"]["podSelector"], pods("play")["play"])
    assert pods("play")["play"]["spec"]["containers"][0]["image"] == "gradloupe"


def test_the_names_that_nginx_gets_stand_in_its_file() -> None:
    (script,) = [each for each in pods("base")["proxy"]["spec"]["initContainers"][0]["command"] if "sed" in each]
    text = overlay("base")["ConfigMap", "nginx"]["data"]["nginx.conf"]
    wanted = [each.replace("\\", "") for each in re.findall(r"s/([^/]+)/", script)]
    assert [text.count(each) > 0 for each in wanted] == [True] * 3


def test_starting_is_told_from_broken(running: Server) -> None:
    probes = {
        name: each for name, each in pods("base")["gradloupe"]["spec"]["containers"][0].items() if "Probe" in name
    }
    assert {name: probe["httpGet"]["path"] for name, probe in probes.items()} == {
        "startupProbe": "/healthz?ready=1",
        "readinessProbe": "/healthz?ready=1",
        "livenessProbe": "/healthz",
    }
    startup = probes["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] > 120  # as long as torch may load
    running.wait_until_ready()
    assert {running.get(probe["httpGet"]["path"]).status_code for probe in probes.values()} == {200}


def test_the_autoscaler_counts_what_the_server_tells(running: Server) -> None:
    metrics = overlay("base")["HorizontalPodAutoscaler", "gradloupe"]["spec"]["metrics"]
    (name,) = [each["pods"]["metric"]["name"] for each in metrics if each["type"] == "Pods"]
    assert f"\n{name} " in running.get("/metrics").text
