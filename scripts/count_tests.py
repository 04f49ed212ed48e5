#!/usr/bin/env python3
"""Counts the cases of a `meson test` run: count_tests.py TESTLOG STATUS OUTPUT

TESTLOG is meson-logs/testlog.json: one JSON object for each program, with what
it printed. STATUS is the exit status of meson, OUTPUT what it said.
A case is a TAP line (`ok 1 - name`, `not ok 2 - name`), as cmocka prints them
under CMOCKA_MESSAGE_OUTPUT=TAP; a program that prints none is one case. A program
that failed without a failing case (a crash, a timeout, a leak) is one failure
more. Nothing run is a failure.
"""
import json
import os
import re
import sys

CASE = re.compile(r"^(not )?ok\b[^#\n]*(# *skip\b)?", re.IGNORECASE | re.MULTILINE)


def count(program):
    """(passed, failed, skipped) of one line of the log."""
    cases = list(CASE.finditer(program.get("stdout") or ""))
    skipped = sum(1 for c in cases if c.group(2))
    failed = sum(1 for c in cases if c.group(1) and not c.group(2))
    passed = len(cases) - skipped - failed
    result = program["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        if not cases:
            passed = 1
    elif result == "SKIP":
        skipped += not cases
    elif failed == 0:
        failed = 1
    return passed, failed, skipped


def main():
    path, status, output = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    programs = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as log:
            programs = [json.loads(line) for line in log if line.strip()]

    passed = failed = 0
    for program in programs:
        p, f, s = count(program)
        passed += p
        failed += f
        name = program["name"].split(" / ")[-1]
        line = f"{name:<24} {p:>4} passed"
        if s:
            line += f", {s} skipped"
        if f:
            line += f", {f} failed ({program['result'].lower()})"
        print(f"{line:<50} {program['duration']:7.2f} s")
        if f:
            for said in (program.get("stdout"), program.get("stderr")):
                if said and said.strip():
                    print(said.rstrip())
    if passed + failed == 0 or (status != 0 and failed == 0):
        with open(output, encoding="utf-8", errors="replace") as said:
            sys.stdout.write(said.read())
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
