#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session of kubectl with a simulated node, compared with the one on record.

    COREHOLD=PATH session_test.py VERSION [--update]

What kubectl VERSION prints (ages, times, UIDs and the like masked) must be golden/VERSION.txt.
--update writes that file instead; read the difference before it is committed.
Exit 77: this kubectl cannot be had here.
"""
import argparse
import difflib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from kubectl import HERE, Session, eventually

sys.path.insert(0, str(HERE.parent / "api"))
from agent import Agent  # noqa: E402 (beside this folder)

MACHINE = "package:2 numa:1 l3:1 core:4 pu:2"
SKIPPED = 77

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0-1"
staticPodPath: manifests
featureGates:
  InPlacePodVerticalScalingExclusiveCPUs: true
---
apiVersion: corehold.dev/v1alpha1
kind: CoreholdConfiguration
listen:
  address: 127.0.0.1:0
"""
STATIC_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: local}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: registry.example/local:1, command: [serve]}
"""


def looking(session):
    session.title("what is there")
    session.run("version" if session.has("1.28") else "version --short")
    session.run("get --raw /healthz")
    session.run("api-resources")
    session.run("get nodes")
    session.run("get nodes -o wide")
    session.run("get namespaces")
    session.run("get pods -n nothing")
    session.run("get pods")


def applying(session, flags):
    session.title("apply, by the client")
    if session.has("1.32"):
        session.run("apply -f web.yaml --dry-run=server")
    session.run(f"apply {flags} -f web.yaml")
    session.run("wait --for=condition=Ready pod/web --timeout=300s")
    session.run(f"apply {flags} -f web.yaml")
    if session.has("1.32"):
        session.run("diff -f web-changed.yaml")
    session.run(f"apply {flags} -f web-changed.yaml")
    session.run(f"apply {flags} -f web-forbidden.yaml")


def reading(session):
    session.title("get")
    session.run("get pods")
    session.run("get pods -o wide")
    session.run("get pod web -o yaml")
    session.run("get pod web -o json")
    session.run("get pods -o name")
    session.run("get pods -A")
    session.run("get pods -l app=web --show-labels")
    session.run("get pods -l app!=web,!app")
    session.run("get pods -L app,tier --field-selector status.phase=Running,metadata.name=web")
    session.run("get pods -o jsonpath='{.items[*].metadata.name}{\"\\n\"}'")
    session.run("get pod web -o custom-columns=NAME:.metadata.name,CPU:.spec.containers[0]"
                ".resources.requests.cpu")
    session.run("get pod nope")
    session.run("get deployments")


def describing(session):
    session.title("describe")
    session.run("describe pod web")
    session.run(f"describe node {session.node}")


def server_side(session):
    session.title("apply, by the server")
    session.run("apply --server-side -f cache.yaml")
    session.run("apply --server-side -f cache.yaml")
    session.run("apply --server-side -f cache-changed.yaml")
    session.run("apply --server-side --field-manager=other -f cache-other.yaml")
    session.run("apply --server-side --field-manager=other --force-conflicts -f cache-other.yaml")
    session.run("apply --server-side -f cache-other.yaml")
    session.run("get pod cache -o jsonpath='{.spec.containers[0].image} {.metadata.labels}{\"\\n\"}'")
    # One by one: their order goes by time, to the second.
    for manager in ("kubectl", "other"):
        session.run("get pod cache -o jsonpath='{.metadata.managedFields[?(@.manager==\"%s\")]"
                    ".fieldsV1}{\"\\n\"}'" % manager)


def creating(session, flags):
    session.title("create")
    session.run(f"create {flags} -f job.yaml")
    session.run(f"create {flags} -f job.yaml")
    if session.has("1.32"):
        session.run("wait --for=jsonpath='{.status.phase}'=Succeeded pod/job --timeout=300s")
    eventually(lambda: session.quietly("get pod job -o jsonpath={.status.phase}") == "Succeeded",
               lambda: "the job is done")
    session.run("get pod job")
    session.run(f"create {flags} -f bad.yaml")
    if session.has("1.32"):
        session.run("create -f typo.yaml")
        session.run("run quick --image=registry.example/quick:1 --command -- serve")
        session.run("get pod quick -o jsonpath='{.metadata.labels} {.spec.containers[0].command}"
                    "{\"\\n\"}'")
    session.title("a pod that does not fit")
    session.run(f"create {flags} -f large.yaml")
    session.run("wait --for=condition=PodScheduled=false pod/large --timeout=300s"
                if session.has("1.32") else "get pod large -o name")
    session.run("get pod large")
    session.run("describe pod large")


def changing(session):
    session.title("patch, label, annotate")
    session.run("patch pod web -p '{\"metadata\":{\"labels\":{\"patched\":\"strategic\"}}}'")
    session.run("patch pod web --type merge -p '{\"metadata\":{\"labels\":{\"patched\":\"merge\"}}}'")
    session.run("patch pod web --type json -p "
                "'[{\"op\":\"replace\",\"path\":\"/metadata/labels/patched\",\"value\":\"json\"}]'")
    session.run("patch pod web --type json -p "
                "'[{\"op\":\"test\",\"path\":\"/metadata/labels/patched\",\"value\":\"no\"}]'")
    session.run("patch pod web -p '{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x:9\"}]}}'")
    session.run("patch pod web -p '{\"spec\":{\"nodeName\":\"elsewhere\"}}'")
    session.run("label pod web colour=red")
    session.run("label pod web colour=blue")
    session.run("label pod web colour=blue --overwrite")
    session.run("label pod web colour- patched-")
    session.run("annotate pod web note='two words'")
    session.run("annotate pod web note-")
    session.run("get pod web -o jsonpath='{.metadata.labels} {.spec.containers[0].image}{\"\\n\"}'")
    if session.has("1.32"):
        session.run("edit pod web", KUBE_EDITOR="sed -i s/tier:.*/tier:\\ edited/")
    session.run("get pod web -L tier")


def cpus(amount):
    amounts = '{"cpu":"%s"}' % amount
    return ('{"spec":{"containers":[{"name":"main","resources":{"limits":%s,"requests":%s}}]}}'
            % (amounts, amounts))


def resizing(session):
    """In a namespace of its own, so that its events are not among those of others."""
    shown = ("{.spec.containers[0].resources.requests.cpu} "
             "{.status.containerStatuses[0].allocatedResources.cpu} "
             "{.status.containerStatuses[0].resources.limits.cpu}")
    refusal = '{.status.conditions[?(@.type=="PodResizePending")].%s}'
    ask = "get pod web -n sizes -o jsonpath='%s'"
    patch = "patch pod web -n sizes --subresource resize"

    def becomes(text, path):
        eventually(lambda: session.quietly(ask % path) == text, lambda: text)

    session.title("resize")
    session.quietly("create -n sizes -f web.yaml")
    becomes("2 2 2", shown)
    session.run(f"{patch} -p '{cpus(4)}'")
    becomes("4 4 4", shown)
    session.run(f"{patch} -p '{cpus(4)}'")
    session.run(f"{patch} -p '{cpus(64)}'")
    becomes("Infeasible", refusal % "reason")
    session.run("get pod web -n sizes")
    session.run(ask % (shown + '{"\\n"}' + refusal % "message" + '{"\\n"}'))
    session.run(f"{patch} --type json -p '["
                '{"op":"replace","path":"/spec/containers/0/resources/limits/cpu","value":"2"},'
                '{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"2"}]\'')
    becomes("2 2 2", shown)
    session.run(patch + ' -p \'{"spec":{"containers":[{"name":"main","resources":'
                '{"requests":{"cpu":"1"}}}]}}\'')
    session.run(f"{patch} --dry-run=server -p '{cpus(4)}'")
    session.run(f"patch pod nope -n sizes --subresource resize -p '{cpus(4)}'")
    session.run("get pod web -n sizes --subresource resize")
    session.run("get events -n sizes -o custom-columns=R:.reason,T:.type,M:.message")
    session.quietly("delete pod web -n sizes --now")


def logs(session):
    session.title("logs")
    session.write_log("web", ["one", "two", "three"])
    session.run("logs web")
    session.run("logs web --tail=1 -c main")
    session.run("logs web --timestamps --tail=1")
    session.run("logs -l app=web --tail=2 --prefix")
    session.run("logs web -c nope")
    session.run("logs web --previous")
    session.run("logs nope")


def watching(session):
    session.title("get -w")
    with session.watching("get pod cache -w --no-headers -o custom-columns=L:.metadata.labels.seen",
                          3) as so_far:
        so_far(1)
        session.quietly("label pod cache seen=once")
        so_far(2)
        session.quietly("label pod cache seen=twice --overwrite")
    with session.watching("get pods -w --output-watch-events -l app=cache -L seen", 3) as so_far:
        so_far(2)
        session.quietly("label pod cache seen=thrice --overwrite")
    with session.watching("get pods -w --output-watch-events -l seen=thrice", 3) as so_far:
        so_far(2)
        session.quietly("label pod cache seen=gone --overwrite")


def events(session):
    session.title("events")
    session.run("get events --field-selector involvedObject.name=web,reason=Started")
    session.run("get events --field-selector type=Warning -o custom-columns=R:.reason,"
                "N:.involvedObject.name")
    if session.has("1.32"):
        session.run("events --for pod/web")
        session.run("events --types=Warning")


def nodes(session):
    name = session.node
    session.title("the node")
    session.run(f"cordon {name}")
    session.run("get nodes")
    session.run(f"cordon {name}")
    session.run(f"uncordon {name}")
    session.run(f"label node {name} rack=r1")
    session.run("get nodes -l rack=r1 -L rack")
    session.run(f"label node {name} rack-")
    session.run(f"get node {name} -o jsonpath='{{.status.capacity.cpu}} "
                "{.status.allocatable.cpu}{\"\\n\"}'")


def deleting(session, flags):
    session.title("delete")
    session.run("delete pod nope")
    session.run("delete pod nope --ignore-not-found")
    session.run("delete pod job --dry-run=server")
    session.run("delete pod job")
    session.run("delete pod large --grace-period=0 --force" if session.has("1.32")
                else "delete pod large --grace-period=0 --force --wait=false")
    if session.has("1.32"):
        session.run("delete pod quick --grace-period=1")
    session.run("delete pod cache --wait=false")
    session.run("wait --for=delete pod/cache --timeout=300s")
    session.run("delete -f web.yaml --now")
    session.run("get pods -l app")
    session.quietly(f"create {flags} -f web.yaml")
    session.quietly(f"create {flags} -f cache.yaml")
    session.run("delete pods -l app=web")
    session.run("get pods -l app -o name")


def static_pods(session):
    name = session.node
    session.title("static pods")
    session.run(f"get pod local-{name}")
    session.run(f"get pod local-{name} -o jsonpath='{{.metadata.annotations.kubernetes\\.io/config\\."
                "source}{\"\\n\"}'")
    session.run(f"delete pod local-{name}")
    session.run(f"label pod local-{name} a=b")
    session.run("delete pods --all")
    session.run("get pods")


def whole_session(session):
    # Before 1.27 kubectl checks by an OpenAPI document of version 2, which there is not.
    flags = "" if session.has("1.32") else "--validate=false"
    looking(session)
    applying(session, flags)
    reading(session)
    describing(session)
    if session.has("1.32"):
        server_side(session)
        resizing(session)
    else:
        session.quietly(f"apply {flags} -f cache.yaml")
    creating(session, flags)
    changing(session)
    logs(session)
    watching(session)
    events(session)
    nodes(session)
    deleting(session, flags)
    static_pods(session)


def compare(found, path, update):
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
        return True
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(True), found.splitlines(True), path.name, "this session"))
    return found == expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    got = subprocess.run([HERE.parent.parent / "tools/kubectl-get", arguments.version],
                         stdout=subprocess.PIPE, text=True, check=False)
    if got.returncode != 0:
        return SKIPPED if got.returncode == 3 else 1
    # Ended from outside it ends its agent too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    agent = Agent(os.environ["COREHOLD"], MACHINE, CONFIG)
    manifests = pathlib.Path(agent.root) / "manifests"
    manifests.mkdir()
    (manifests / "local.yaml").write_text(STATIC_POD, encoding="utf-8")
    with agent, tempfile.TemporaryDirectory(prefix="corehold-kubectl-") as home:
        session = Session(agent, got.stdout.strip(), arguments.version, home)
        try:
            whole_session(session)
        except BaseException:
            print("".join(session.lines))
            print(agent.log())
            raise
        agent.stop()
    found = "".join(session.lines).lstrip("\n")
    same = compare(found, HERE / "golden" / f"{arguments.version}.txt", arguments.update)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
