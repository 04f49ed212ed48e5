#!/usr/bin/env python3
"""The files of deploy/ are what Kubernetes, KServe, the MPI operator, Compose and Helm take, as far as schemas of ours
can tell: fields by name and type, nothing unknown. Options, probes and ports in them are those of the program.

    tests/deploy.py SHOAL ROOT

Prints TAP. Not checked: what a cluster would say. The chart is rendered by the few lines below, which know the part of
Helm's language that its templates use and refuse the rest.
"""

import json
import os
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as e:  # Debian: python3-yaml, python3-jsonschema
    print(f"1..0 # SKIP {e}")
    sys.exit(0)

SHOAL, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DEPLOY = os.path.join(ROOT, "deploy")
cases = failed = 0


def check(name, truth, detail=""):
    global cases, failed
    cases += 1
    failed += not truth
    print(("ok" if truth else "not ok") + f" {cases} - {name}")
    if not truth and detail != "":
        print("# " + str(detail)[:2000].replace("\n", "\n# "))


# ---- Schemas of the kinds that are used: fields that are not here are unknown ---------------------------


def thing(required=(), **fields):
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": fields}


def many(items, least=0):
    return {"type": "array", "items": items, "minItems": least}


TEXT, COUNT, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
LABELS = {"type": "object", "additionalProperties": TEXT}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
QUANTITY = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$"}
AMOUNTS = thing(cpu=QUANTITY, memory=QUANTITY, storage=QUANTITY)
PORT = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"type": "string", "pattern": "^[a-z]{1,15}$"}]}
PROBE = thing(["httpGet"], httpGet=thing(["path", "port"], path={"type": "string", "pattern": "^/"}, port=PORT),
              periodSeconds=COUNT, failureThreshold=COUNT, initialDelaySeconds=COUNT, timeoutSeconds=COUNT)
CONTEXT = thing(runAsNonRoot=FLAG, runAsUser=COUNT, runAsGroup=COUNT, fsGroup=COUNT, allowPrivilegeEscalation=FLAG,
                readOnlyRootFilesystem=FLAG, capabilities=thing(drop=many(TEXT), add=many(TEXT)),
                seccompProfile=thing(["type"], type={"enum": ["RuntimeDefault", "Unconfined", "Localhost"]}))
CONTAINER = thing(["name", "image"], name=NAME, image=TEXT, imagePullPolicy={"enum": ["Always", "IfNotPresent", "Never"]},
                  command=many(TEXT), args=many(TEXT),
                  ports=many(thing(["containerPort"], name=NAME, containerPort=PORT, protocol={"enum": ["TCP", "UDP"]})),
                  startupProbe=PROBE, readinessProbe=PROBE, livenessProbe=PROBE,
                  resources=thing(["requests", "limits"], requests=AMOUNTS, limits=AMOUNTS), securityContext=CONTEXT,
                  volumeMounts=many(thing(["name", "mountPath"], name=NAME, mountPath=TEXT, readOnly=FLAG)))
VOLUME = thing(["name"], name=NAME, persistentVolumeClaim=thing(["claimName"], claimName=NAME, readOnly=FLAG),
               secret=thing(["secretName"], secretName=NAME, defaultMode=COUNT),
               emptyDir=thing(medium=TEXT, sizeLimit=QUANTITY))
POD = thing(["containers"], automountServiceAccountToken=FLAG, terminationGracePeriodSeconds=COUNT,
            securityContext=CONTEXT, initContainers=many(CONTAINER), containers=many(CONTAINER, 1), volumes=many(VOLUME),
            restartPolicy={"enum": ["Always", "OnFailure", "Never"]})
TEMPLATE = thing(["spec"], metadata=thing(labels=LABELS, annotations=LABELS), spec=POD)
SELECTOR = thing(["matchLabels"], matchLabels=LABELS)
REPLICA = thing(["replicas", "template"], replicas={"type": "integer", "minimum": 1}, template=TEMPLATE)


def kind(version, name, spec):
    return thing(["apiVersion", "kind", "metadata", "spec"], apiVersion={"enum": [version]}, kind={"enum": [name]},
                 metadata=thing(["name"], name=NAME, labels=LABELS, annotations=LABELS), spec=spec)


KINDS = {
    "Deployment": kind("apps/v1", "Deployment", thing(
        ["selector", "template"], replicas=COUNT, selector=SELECTOR, template=TEMPLATE,
        strategy=thing(["type"], type={"enum": ["RollingUpdate", "Recreate"]},
                       rollingUpdate=thing(maxUnavailable=COUNT, maxSurge=COUNT)))),
    "Service": kind("v1", "Service", thing(
        ["selector", "ports"], type={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]}, selector=LABELS,
        ports=many(thing(["port"], name=NAME, port=PORT, targetPort=PORT), 1))),
    "PodDisruptionBudget": kind("policy/v1", "PodDisruptionBudget", thing(
        ["selector"], minAvailable=COUNT, maxUnavailable=COUNT, selector=SELECTOR)),
    "PersistentVolumeClaim": kind("v1", "PersistentVolumeClaim", thing(
        ["accessModes", "resources"], accessModes=many({"enum": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]}, 1),
        resources=thing(["requests"], requests=AMOUNTS), storageClassName=TEXT)),
    "ServingRuntime": kind("serving.kserve.io/v1alpha1", "ServingRuntime", thing(
        ["supportedModelFormats", "containers"], protocolVersions=many({"enum": ["v1", "v2", "grpc-v1", "grpc-v2"]}),
        supportedModelFormats=many(thing(["name"], name=NAME, version=TEXT, autoSelect=FLAG, priority=COUNT), 1),
        containers=many(CONTAINER, 1))),
    "InferenceService": kind("serving.kserve.io/v1beta1", "InferenceService", thing(["predictor"], predictor=thing(
        ["model"], minReplicas=COUNT, maxReplicas=COUNT, model=thing(
            ["modelFormat"], modelFormat=thing(["name"], name=NAME, version=TEXT), runtime=NAME, protocolVersion=TEXT,
            storageUri={"type": "string", "pattern": "^(pvc|s3|gs|https?)://"})))),
    "MPIJob": kind("kubeflow.org/v2beta1", "MPIJob", thing(
        ["mpiReplicaSpecs"], slotsPerWorker=COUNT, sshAuthMountPath=TEXT,
        runPolicy=thing(cleanPodPolicy={"enum": ["Running", "All", "None"]}, backoffLimit=COUNT,
                        ttlSecondsAfterFinished=COUNT),
        mpiReplicaSpecs=thing(["Launcher", "Worker"], Launcher=REPLICA, Worker=REPLICA))),
}
COMPOSE = thing(["services"], services={"type": "object", "additionalProperties": thing(
    ["image"], image=TEXT, build=thing(["context"], context=TEXT, dockerfile=TEXT), read_only=FLAG, user=TEXT,
    cap_drop=many(TEXT), security_opt=many(TEXT), volumes=many(TEXT), ports=many(TEXT), mem_limit=TEXT,
    cpus={"type": "number"}, stop_grace_period=TEXT, restart=TEXT, depends_on=many(TEXT), command=many(TEXT))})
PROMETHEUS = thing(["scrape_configs"], **{"global": thing(scrape_interval=TEXT)}, scrape_configs=many(thing(
    ["job_name"], job_name=TEXT, metrics_path=TEXT,
    static_configs=many(thing(["targets"], targets=many(TEXT, 1), labels=LABELS))), 1))
CHART = thing(["apiVersion", "name", "version"], apiVersion={"enum": ["v2"]}, name=NAME, description=TEXT,
              type={"enum": ["application"]}, version={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}, appVersion=TEXT)


def wrong(schema, value):
    """Sentences of what does not fit."""
    jsonschema.Draft7Validator.check_schema(schema)
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}"
            for e in jsonschema.Draft7Validator(schema).iter_errors(value)]


# ---- Helm's language, as far as the templates have it ---------------------------------------------------


class Renderer:
    def __init__(self, values, name):
        self.scope = {"Values": values, "Release": {"Name": name}}

    def value(self, text, dot):
        """A word of an expression."""
        if text.startswith('"'):
            return json.loads(text)
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        at = dot if text == "." else self.scope
        for part in [] if text == "." else text.removeprefix(".").split("."):
            at = at[part]  # an unknown name is an error, as with --strict
        return at

    def call(self, words, dot, piped):
        name, args = words[0], [self.value(w, dot) for w in words[1:]] + piped
        functions = {
            "quote": lambda x: json.dumps(x if isinstance(x, str) else json.dumps(x)),
            "toJson": json.dumps, "add": lambda *x: sum(x), "printf": lambda f, *x: f % x, "not": lambda x: not x,
        }
        if name in functions:
            return functions[name](*args)
        if len(words) > 1 or piped:
            raise ValueError(f"the function {name} is not known here")
        return self.value(name, dot)

    def evaluate(self, expression, dot):
        piped = []
        for stage in expression.split("|"):
            words = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', stage)
            piped = [self.call(words, dot, piped)]
        return piped[0]

    def render(self, text, dot=None):
        parts = re.split(r"(\s*{{-.*?}}|{{.*?}})", text, flags=re.DOTALL)
        out, rest = self.block(parts, 0, dot, ())
        if rest != len(parts):
            raise ValueError("an end too many")
        return out

    def block(self, parts, at, dot, ends):
        """Text up to one of the ends, and where that is."""
        out = ""
        while at < len(parts):
            found = re.fullmatch(r"(\s*){{-?\s*(.*?)\s*}}", parts[at], re.DOTALL) if "{{" in parts[at] else None
            if not found:
                out += parts[at]
                at += 1
                continue
            if "{{-" not in parts[at]:
                out += found[1]
            word, _, rest = found[2].partition(" ")
            if word in ends:
                return out, at
            if word == "if":
                yes, at = self.block(parts, at + 1, dot, ("else", "end"))
                no = ""
                if "else" in parts[at]:
                    no, at = self.block(parts, at + 1, dot, ("end",))
                out += yes if self.evaluate(rest, dot) else no
            elif word == "range":
                start, items = at + 1, self.evaluate(rest, dot)
                _, at = self.block(parts, start, "", ("end",))
                for item in items:
                    out += self.block(parts, start, item, ("end",))[0]
            else:
                value = self.evaluate(found[2], dot)
                out += value if isinstance(value, str) else json.dumps(value)
            at += 1
        if ends:
            raise ValueError("no end")
        return out, at


# ---- The files ------------------------------------------------------------------------------------------


def load(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def options(*verb):
    """Those that the program has."""
    text = subprocess.run([SHOAL, *verb, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"--[a-z][a-z-]*", text))


def addresses():
    """Those of the interface that need no token."""
    with open(os.path.join(ROOT, "src/serve/api.txt"), encoding="utf-8") as f:
        text = f.read()
    return set(re.findall(r"^inference get \S+ (\S+)[^\n]*\n(?: [^\n]*\n)*?    open$", text, re.MULTILINE))


def containers(node):
    if isinstance(node, dict):
        for key in ("containers", "initContainers"):
            yield from node.get(key, []) if isinstance(node.get(key), list) else []
        for x in node.values():
            yield from containers(x)
    elif isinstance(node, list):
        for x in node:
            yield from containers(x)


def judge(title, documents):
    """What a schema cannot say."""
    names = []
    for d in documents:
        names.append(d.get("kind"))
        check(f"{title}: a {d.get('kind')} is what its schema says", d.get("kind") in KINDS and not wrong(
            KINDS[d["kind"]], d), wrong(KINDS[d["kind"]], d) if d.get("kind") in KINDS else "unknown kind")
    known, probes = options("serve"), addresses()
    bad = []
    for c in containers(documents):
        args = c.get("args", [])
        if c["image"].startswith("shoal:") and not c.get("command"):
            bad += [f"option {a}" for a in args if a.startswith("--") and a not in known]
            ports = {p.get("name", p["containerPort"]): p["containerPort"] for p in c.get("ports", [])}
            bound = {int(args[args.index(o) + 1].rsplit(":", 1)[1]) for o in ("--inference-address",)}
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                get = c[probe]["httpGet"]
                if get["path"] not in probes or ports[get["port"]] not in bound:
                    bad.append(f"{probe} {get}")
        if c["image"].startswith("shoal:"):
            context = c.get("securityContext", {})
            if not context.get("readOnlyRootFilesystem") or context.get("allowPrivilegeEscalation") is not False:
                bad.append(f"{c['name']} may write or gain privileges")
    check(f"{title}: options, probes and ports are the program's, and the root is read-only", not bad, bad)
    for d in documents:
        if d["kind"] != "Deployment":
            continue
        pod = d["spec"]["template"]["spec"]
        args = pod["containers"][0]["args"]
        waits = float(args[args.index("--drain-delay") + 1]) + float(args[args.index("--drain") + 1])
        check(f"{title}: there is time for the drain", pod["terminationGracePeriodSeconds"] > waits, waits)
        check(f"{title}: the selector finds the pods", d["spec"]["selector"]["matchLabels"].items()
              <= d["spec"]["template"]["metadata"]["labels"].items())
        mounts = {m["name"] for c in containers(pod) for m in c.get("volumeMounts", [])}
        check(f"{title}: what is mounted is there, and all of it is", mounts == {v["name"] for v in pod["volumes"]}, mounts)
        check(f"{title}: nobody is root", pod["securityContext"]["runAsNonRoot"] is True)
        for other in documents:
            if other["kind"] == "Service":
                check(f"{title}: the service finds the pods", other["spec"]["selector"].items()
                      <= d["spec"]["template"]["metadata"]["labels"].items())
                named = {p["name"] for p in pod["containers"][0]["ports"]}
                check(f"{title}: and their ports", all(p["targetPort"] in named for p in other["spec"]["ports"]))
    return names


def chart():
    folder = os.path.join(DEPLOY, "helm", "shoal")
    values = load("helm", "shoal", "values.yaml")[0]
    with open(os.path.join(folder, "values.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    check("helm: the chart is one", not wrong(CHART, load("helm", "shoal", "Chart.yaml")[0]))
    check("helm: the values are what their schema says", not wrong(schema, values), wrong(schema, values))
    for change in ({"replicas": 0}, {"colour": 1}, {"log": {"form": "xml", "sample": 1}}, {"service": {"type": "ClusterIP"}}):
        check(f"helm: {change} is refused by the schema", wrong(schema, {**values, **change}))
    variants = {"as it is": values, "with tokens and limits": {
        **values, "tokens": {"secret": "shoal-tokens"}, "limits": 'words:rate=5', "extraArgs": ["--max-body", "1M"],
        "metrics": {"scrape": False}, "drain": {"delay": 20, "timeout": 60}}}
    for title, given in variants.items():
        check(f"helm, {title}: the values are taken", not wrong(schema, given), wrong(schema, given))
        documents, notes = [], ""
        for name in sorted(os.listdir(os.path.join(folder, "templates"))):
            with open(os.path.join(folder, "templates", name), encoding="utf-8") as f:
                text = Renderer(given, "demo").render(f.read())
            check(f"helm, {title}: {name} has nothing left to render", "{{" not in text, text)
            if name == "NOTES.txt":
                notes = text
            else:
                documents += list(yaml.safe_load_all(text))
        names = judge(f"helm, {title}", documents)
        check(f"helm, {title}: there is all of it", sorted(names) == ["Deployment", "PodDisruptionBudget", "Service"], names)
        secret = bool(given["tokens"]["secret"])
        args = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
        check(f"helm, {title}: tokens are wanted or not", ("--token-file" in args) == secret
              and ("--no-tokens" in args) != secret and ("No token is wanted" in notes) != secret, args)
    for bad in ("{{ .Values.none }}", "{{ if .Values.replicas }}x", "{{ end }}", "{{ .Values.replicas | upper }}"):
        try:
            Renderer(values, "demo").render(bad)
            refused = False
        except (KeyError, ValueError, IndexError):
            refused = True
        check(f"the renderer refuses {bad}", refused)


def image():
    """The Containerfile is read line by line."""
    with open(os.path.join(DEPLOY, "Containerfile"), encoding="utf-8") as f:
        text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", f.read(), flags=re.MULTILINE))
    lines = [x.split(None, 1) for x in text.splitlines() if x.strip()]
    last = lines[max(i for i, x in enumerate(lines) if x[0] == "FROM"):]
    said = {x[0]: x[1] for x in last}
    check("the image has two stages", sum(x[0] == "FROM" for x in lines) == 2)
    check("its last one has no compiler", not re.search(r"gcc|g\+\+|meson|ninja|-dev\b", " ".join(x[1] for x in last)))
    check("it is nobody's root, and knows whether it is well", said["USER"] == "65532:65532" and "HEALTHCHECK" in said
          and "/health/ready" in said["HEALTHCHECK"])
    args = json.loads(said["CMD"])
    check("it is called with options that the program has", not [a for a in args if a.startswith("--")
                                                                 and a not in options("serve")], args)


def plants():
    """A schema that sees nothing proves nothing."""
    good = next(d for d in load("kubernetes", "shoal.yaml") if d["kind"] == "Deployment")
    for what, change in (("an unknown field", lambda d: d["spec"].update(replica=2)),
                         ("a number for text", lambda d: d["metadata"].update(name=7)),
                         ("no selector", lambda d: d["spec"].pop("selector")),
                         ("a wrong amount", lambda d: d["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
                          .update(memory="1 GB")),
                         ("a probe without a path", lambda d: d["spec"]["template"]["spec"]["containers"][0]
                          ["livenessProbe"]["httpGet"].pop("path"))):
        copy = json.loads(json.dumps(good))
        change(copy)
        check(f"the schema sees {what}", wrong(KINDS["Deployment"], copy))


def main():
    plants()
    check("kubernetes has what it should", judge("kubernetes", load("kubernetes", "shoal.yaml")) == [
        "Deployment", "Service", "PodDisruptionBudget", "PersistentVolumeClaim"])
    check("kserve has what it should", judge("kserve", load("kserve", "shoal.yaml")) == [
        "ServingRuntime", "InferenceService"])
    jobs = load("mpi", "train.yaml")
    check("mpi has what it should", judge("mpi", jobs) == ["MPIJob"])
    command = jobs[0]["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"]
    check("mpi: the options are those of training", command[:3] == ["shoal", "train", "cbow"] and not [
        a for a in command if a.startswith("--") and a not in options("train", "cbow")], command)
    compose = load("compose.yaml")[0]
    check("compose is what its schema says", not wrong(COMPOSE, compose), wrong(COMPOSE, compose))
    check("compose: what it mounts and builds is there", os.path.exists(os.path.join(DEPLOY, "prometheus.yaml"))
          and os.path.exists(os.path.join(DEPLOY, "..", compose["services"]["shoal"]["build"]["dockerfile"])))
    check("prometheus is what its schema says", not wrong(PROMETHEUS, load("prometheus.yaml")[0]))
    chart()
    image()
    print(f"1..{cases}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
