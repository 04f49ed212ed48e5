#!/usr/bin/env python3
"""The server's interface, of src/serve/api.txt and api.json, as C:

    api_paths_ROLE[]  the members of "paths" of an OpenAPI document, a string for each role
    api_components_*  its "components", between which examples of the models stand
    api_routes[]      the addresses, which describe.c walks for each request

    scripts/api.py api.txt api.json >api.inc
"""

import json
import re
import sys

ROLES = ["inference", "management", "metrics"]


def schema_of(kind):
    """`integer:1:9`, `string:add|mul`, `boolean`"""
    name, *rest = kind.split(":")
    schema = {"type": name}
    if name == "string" and rest:
        schema["enum"] = rest[0].split("|")
    elif rest:
        schema["minimum"], schema["maximum"] = int(rest[0]), int(rest[1])
    return schema


def read(path):
    parameters, operations = {}, []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if line.startswith(" "):
                operations[-1]["more"].append(words)
            elif words[0] == "parameter":
                parameters[words[1]] = (schema_of(words[2]), " ".join(words[3:]))
            elif words[0] in ROLES + ["any"] and len(words) > 4:
                where, _, query = words[3].partition("?")
                operations.append({"role": words[0], "method": words[1], "id": words[2], "path": where,
                                   "query": query.split("&") if query else [], "what": " ".join(words[4:]),
                                   "more": []})
            else:
                sys.exit(f"{path}:{number}: found '{line.strip()}', want ROLE METHOD ID PATH WHAT")
    return parameters, operations


def json_content(name):
    return {"application/json": {"schema": {"$ref": "#/components/schemas/" + name}}}


def content(names):
    """Of `Status`, `text/plain`, or both."""
    out = {}
    for name in names:
        if "/" in name:
            binary = {"format": "binary"} if name == "application/octet-stream" else {}
            out[name] = {"schema": {"type": "string", **binary}}
        else:
            out.update(json_content(name))
    return out


DONE = {"200": "Done", "202": "Begun", "500": "Not healthy", "503": "Not ready"}


def parameter(name, place, parameters):
    required = place == "path" or name.endswith("!")
    name = name.rstrip("!")
    if name not in parameters:
        sys.exit(f"api.txt: found the parameter {name}, want a line `parameter {name} TYPE WHAT`")
    schema, what = parameters[name]
    return {"name": name, "in": place, "required": required, "description": what, "schema": schema}


def operation(o, parameters, components):
    error = "ProtocolError" if re.match(r"/v2(/|$)", o["path"]) else "Error"
    out = {"operationId": o["id"], "summary": o["what"], "description": o["what"], "tags": [o["role"]],
           "parameters": [parameter(n, "path", parameters) for n in re.findall(r"{([a-z_]+)}", o["path"])]
           + [parameter(n, "query", parameters) for n in o["query"]]}
    responses = {}
    for words in o["more"]:
        if words[0] == "body":
            if words[1] not in components["requestBodies"]:
                sys.exit(f"api.txt: {o['id']}: found the body {words[1]}, want one of api.json")
            out["requestBody"] = {"$ref": "#/components/requestBodies/" + words[1]}
        elif words[0] == "errors":
            for code in words[1:]:
                responses.setdefault(code, {"description": "An error", "content": json_content(error)})
        elif words[0] == "open":
            out["security"] = []
        else:
            for name in words[1:]:
                if "/" not in name and name not in components["schemas"]:
                    sys.exit(f"api.txt: {o['id']}: found the schema {name}, want one of api.json")
            responses[words[0]] = {"description": DONE.get(words[0], "Done"), "content": content(words[1:])}
    out["responses"] = dict(sorted(responses.items())) or {"200": {"description": "Done"}}
    # Refused before it is known what is asked for: a wrong token, another method, no memory.
    out["responses"]["default"] = {"description": "An error", "content": json_content(error)}
    return out


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '"'


def c_string(name, text):
    print(f"static const char {name}[] =")
    for at in range(0, len(text), 90):
        print("    " + quoted(text[at:at + 90]))
    print("    ;")


def main():
    parameters, operations = read(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        components = json.load(f)
    ids = [o["id"] for o in operations]
    if len(set(ids)) != len(ids):
        sys.exit("api.txt: found an ID twice")
    for role in ["any"] + ROLES:
        paths = {}
        for o in operations:
            if o["role"] == role:
                paths.setdefault(o["path"], {})[o["method"]] = operation(o, parameters, components)
        c_string("api_paths_" + role, json.dumps(paths, separators=(",", ":"))[1:-1])
    # Where "examples" are "@", those of the models are put.
    text = json.dumps(components, separators=(",", ":")).split(',"examples":"@"')
    for name, part in zip(("head", "middle", "tail"), text, strict=True):
        c_string("api_components_" + name, part)
    print("static const char *const api_routes[] = {")
    for path in dict.fromkeys(o["path"] for o in operations):
        print(f'    "{path}",')
    print("};")


if __name__ == "__main__":
    main()
