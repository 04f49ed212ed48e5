#!/bin/sh
# Lines `ROLE METHOD ID PATH[?PARAMETER&...] WHAT` as the paths of an OpenAPI document: a C
# string for each role, `static const char api_ROLE[]`, of the members of "paths".
#
#     scripts/api.sh FILE >api.inc
set -eu

awk '
function member(key, value) { return "\"" key "\":" value }
function text(key, value) { return member(key, "\"" value "\"") }

function parameter(name, place) {
    return "{" text("name", name) "," text("in", place) "," \
        member("required", place == "path" ? "true" : "false") "," \
        member("schema", "{" text("type", "string") "}") "}"
}

# Those of "/models/{model_name}", then those of "word&k".
function parameters(path, query,  all, n, name, i) {
    while (match(path, /\{[a-z_]+\}/)) {
        all = all "," parameter(substr(path, RSTART + 1, RLENGTH - 2), "path")
        path = substr(path, RSTART + RLENGTH)
    }
    n = split(query, name, "&")
    for (i = 1; i <= n; i++)
        all = all "," parameter(name[i], "query")
    return "[" substr(all, 2) "]"
}

function line(json) {
    gsub(/"/, "\\\"", json)
    print "    \"" json "\""
}

BEGIN {
    error = "{" text("type", "object") "," member("properties", "{" \
        member("code", "{" text("type", "integer") "}") "," \
        member("type", "{" text("type", "string") "}") "," \
        member("message", "{" text("type", "string") "}") "}") "}"
    responses = "{" member("200", "{" text("description", "Done") "}") "," \
        member("default", "{" text("description", "An error") "," \
        member("content", "{" member("application/json", "{" member("schema", error) "}") "}") "}") "}"
}

/^#/ || NF == 0 { next }
{
    split($4, part, "?")
    what = substr($0, index($0, $4) + length($4) + 1)
    if ($1 != role) {
        if (role != "")
            print "    \"}\";"
        print "static const char api_" $1 "[] ="
    }
    if ($1 == role && part[1] == path)
        line(",")
    else
        line(($1 == role ? "}," : "") "\"" part[1] "\":{")
    line(member($2, "{" text("operationId", $3) "," text("description", what) "," \
        member("parameters", parameters(part[1], part[2])) "," member("responses", responses) "}"))
    role = $1
    path = part[1]
}
END { print "    \"}\";" }
' "$1"
