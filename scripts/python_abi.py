#!/usr/bin/env python3
"""Writes what python/shoal/_abi.py says of the library's structs and functions.

    scripts/python_abi.py [ROOT]            the module, to standard output
    scripts/python_abi.py --probe [ROOT]    a C program that prints every size and offset

The headers are the only source: they go through the preprocessor, and what is left is plain enough
for the few patterns below. A declaration that fits none of them is an error, never left out. The tests
make the module anew and compare it, and compile the probe and compare what it prints with ctypes.
"""
import keyword
import os
import re
import subprocess
import sys
import tempfile

SYSTEM = ["stdbool.h", "stddef.h", "stdint.h"]

PLAIN = {
    "bool": "c_bool", "char": "c_char", "int": "c_int", "unsigned": "c_uint", "float": "c_float",
    "double": "c_double", "size_t": "c_size_t", "uint64_t": "c_uint64", "uint32_t": "c_uint32",
    "uint16_t": "c_uint16", "uint8_t": "c_uint8", "int64_t": "c_int64", "int32_t": "c_int32",
    "int8_t": "c_int8", "void": "None",
}


def preprocessed(root):
    """The declarations of shoal.h and its parts, without those of the system."""
    with tempfile.TemporaryDirectory() as empty:
        for name in SYSTEM:
            open(os.path.join(empty, name), "w", encoding="utf-8").close()
        said = subprocess.run(
            ["cc", "-E", "-P", "-nostdinc", "-I", empty, "-I", os.path.join(root, "include"),
             "-D__attribute__(x)=", os.path.join(root, "include/shoal.h")],
            check=True, capture_output=True, text=True)
    return re.sub(r"\s+", " ", said.stdout).strip()


def numbers(root):
    """Name and value of each #define that is a plain number."""
    found = {}
    folder = os.path.join(root, "include/shoal")
    paths = [os.path.join(root, "include/shoal.h")]
    paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for name, value in re.findall(r"^#define (SHOAL_\w+) +(\d+)u?\b *(?:/\*.*)?$",
                                          file.read(), re.MULTILINE):
                found[name] = value
    found["SHOAL_NO_ID"] = found["SHOAL_SENTENCE_END"] = str(2**32 - 1)
    return found


def statements(text):
    """The declarations, split at the semicolons outside braces."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char in "{(") - (char in "})")
        if char == ";" and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        raise SystemExit(f"python_abi: found {text[start:][:60]!r}, want a whole declaration")


def split(text, at=","):
    """Parts between commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == at and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in parts + [text[start:].strip()] if part]


class Interface:
    def __init__(self, root):
        self.constants = numbers(root)
        self.enums, self.handles = set(), set()
        self.structs = {}    # name: [(C path, Python name, ctypes text)]
        self.functions = {}  # name: (result, [types])
        self.tables = []     # name of each array of constants
        for line in statements(preprocessed(root)):
            self.take(line)

    def take(self, line):
        enum = re.fullmatch(r"(?:typedef )?enum (\w+)? ?\{(.*)\}( \w+)?", line)
        struct = re.fullmatch(r"struct (\w+) \{(.*)\}", line)
        handle = re.fullmatch(r"typedef struct \w+ (\w+)", line)
        table = re.fullmatch(r"extern const struct (\w+) (\w+)\[\]", line)
        function = re.fullmatch(r"((?:const )?(?:struct |enum )?\w+ \**)(\w+)\((.*)\)", line)
        if enum:
            self.take_enum(enum.group(1), enum.group(2))
        elif struct:
            self.structs[struct.group(1)] = self.fields(struct.group(2))
        elif handle:
            self.handles.add(handle.group(1))
        elif table:
            self.tables.append((table.group(2), table.group(1)))
        elif function:
            self.take_function(*function.groups())
        else:
            raise SystemExit(f"python_abi: found {line!r}, want a declaration it knows")

    def take_enum(self, name, body):
        value = -1
        for part in split(body):
            label, _, given = (x.strip() for x in part.partition("="))
            value = int(given) if given else value + 1
            self.constants[label] = str(value)
        if name:
            self.enums.add(name)

    def take_function(self, result, name, arguments):
        kinds = []
        for part in split(arguments):
            if part == "...":
                return  # shoal_fail: Python raises its own
            if part != "void":
                kinds.append(self.argument(part))
        self.functions[name] = (self.kind(result, True), kinds)

    def argument(self, text):
        pointer = re.fullmatch(r"(.*)\(\*(\w+)\)\((.*)\)", text)
        if pointer:
            return self.callback(pointer.group(1), pointer.group(3))
        array = re.fullmatch(r"(.*?)(\w+) ?\[\w*\]", text)
        if array:
            return self.kind(array.group(1) + "*")
        return self.kind(re.fullmatch(r"(.*?)(\w+)", text).group(1) or text)

    def callback(self, result, arguments):
        kinds = [self.kind(result)]
        for part in split(arguments):
            kind = self.argument(part)
            # Bytes with a length of their own: no string that ends with a NUL.
            kinds.append("c_void_p" if kind == "c_char_p" and "len" in arguments else kind)
        return f"CFUNCTYPE({', '.join(kinds)})"

    def kind(self, text, result=False):
        """What ctypes calls a type. Numbers by reference are c_void_p, which takes NumPy's too."""
        stars = text.count("*")
        name = re.sub(r"\b(const|struct|enum)\b|\*", " ", text).split()
        name = name[0] if len(name) == 1 else " ".join(name)
        if name in self.enums or name == "shoal_status":
            base = "c_int"
        elif name in PLAIN:
            base = PLAIN[name]
        elif name in self.handles or name == "output":
            base = "handle"
        elif name in self.structs:
            base = name
        elif stars:
            base = "handle"
        else:
            raise SystemExit(f"python_abi: found type {text!r}, want one it knows")
        if stars == 0:
            return base
        if base == "c_char":
            return "c_char_p" if stars == 1 else \
                "POINTER(c_char_p)" if "const" in text else "c_void_p"
        if base in self.structs and stars == 1:
            return f"POINTER({base})"
        return "c_void_p"

    def fields(self, body):
        found = []
        for line in statements(body.strip() + " "):
            inner = re.fullmatch(r"struct \{(.*)\} (\w+)", line)
            pointer = re.fullmatch(r"(.*)\(\*(\w+)\)\((.*)\)", line)
            if inner:
                for path, name, kind in self.fields(inner.group(1)):
                    found.append((f"{inner.group(2)}.{path}", f"{inner.group(2)}_{name}", kind))
            elif pointer:
                name = pointer.group(2)
                found.append((name, name, self.callback(pointer.group(1), pointer.group(3))))
            else:
                found += self.plain_fields(line)
        return found

    def plain_fields(self, line):
        words = re.match(r"((?:const )?(?:struct |enum )?\w+ (?:\*(?:const )?)*\*?)(.*)", line)
        base, names = words.group(1), split(words.group(2))
        stem = re.sub(r"\*.*", "", base)
        for i, name in enumerate(names):
            kind = base if i == 0 else stem + "".join(c for c in name if c == "*")
            name = name.replace("*", "").strip()
            sizes = re.findall(r"\[([^\]]*)\]", name)
            name = re.sub(r"\[.*", "", name).strip()
            text = self.kind(kind)
            for size in reversed(sizes):
                text = f"{text} * {self.size(size)}"
            yield name, name + "_" * keyword.iskeyword(name), text

    @staticmethod
    def size(text):
        if not re.fullmatch(r"[\d ()+*<]+", text):
            raise SystemExit(f"python_abi: found the size {text!r}, want a number")
        return eval(text)  # digits and operators alone


def module(interface):
    out = ['"""The library as ctypes sees it. Made by scripts/python_abi.py of the headers: do not edit."""',
           "# fmt: off", "# flake8: noqa",
           "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,",
           "                    c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p)", ""]
    used = " ".join(kind for fields in interface.structs.values() for _, _, kind in fields)
    used += " " + " ".join(k for r, ks in interface.functions.values() for k in [r, *ks])
    known = set(re.findall(r"c_\w+", " ".join(out)))
    more = sorted(set(re.findall(r"\bc_\w+", used)) - known)
    if more:
        out[-1:] = [f"from ctypes import {', '.join(more)}", ""]
    for name, value in interface.constants.items():
        out.append(f"{name} = {value}")
    for name, fields in interface.structs.items():
        out += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        out += [f'        ("{field}", {kind}),' for _, field, kind in fields]
        out.append("    ]")
    out += ["", "", "# name: (result, arguments)", "functions = {"]
    for name, (result, kinds) in interface.functions.items():
        out.append(f'    "{name}": ({result}, [{", ".join(kinds)}]),')
    out += ["}", "", "# Those that return a status.", "statuses = {"]
    out += [f'    "{name}",' for name in sorted(interface.failing)]
    out += ["}", "", "# name: what it is an array of", "tables = {"]
    out += [f'    "{name}": {kind},' for name, kind in interface.tables]
    out += ["}", ""]
    return "\n".join(out)


def probe(interface):
    out = ["#include <shoal.h>", "#include <stdio.h>", "", "int main(void)", "{"]
    for name, fields in interface.structs.items():
        out.append(f'    printf("{name} %zu\\n", sizeof(struct {name}));')
        for path, field, _ in fields:
            out.append(f'    printf("{name}.{field} %zu %zu\\n", offsetof(struct {name}, {path}), '
                       f'sizeof(((struct {name} *)0)->{path}));')
    for name in interface.constants:
        out.append(f'    printf("{name} %lld\\n", (long long){name});')
    return "\n".join(out + ["    return 0;", "}", ""])


def read(root):
    interface = Interface(root)
    text = preprocessed(root)
    interface.failing = set(re.findall(r"\bshoal_status (shoal_\w+)\(", text)) & set(interface.functions)
    return interface


def main():
    arguments = [a for a in sys.argv[1:] if a != "--probe"]
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    made = probe if "--probe" in sys.argv else module
    sys.stdout.write(made(read(root)))


if __name__ == "__main__":
    main()
