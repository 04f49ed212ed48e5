"""The programs of docs/library.md compile and do what the page says.

    tests/library.py ROOT SHOAL LIBSHOAL CC [FLAG...]

Every block ```c of the page that has a main is compiled as the page says, warnings are errors, and
run from top to bottom in one folder, whose text.txt and clicks.tsv are generated: what one writes the
next may read. RUNS says with which arguments, and what must be printed. A program without an entry
there fails. So does a function of the library that any page names and no header has.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from docs import Tap, blocks_of, pages_of, read  # noqa: E402

PAGE = "docs/library.md"

# Below the heading: [(arguments, what is printed, as a pattern)], in the order they are run.
RUNS = {
    "Train word vectors and ask them": [([], r"(\S+ -?[01]\.\d\d\n){3}")],
    "Train on arrays in memory": [([], r"above the line: (9\d|100)%, \d%\n")],
    "Train on bytes in memory": [([], r"(\S+ (helps|hurts)\n){2}")],
    "Open a model and ask it": [(["vectors.shoal", "clicks.tsv"], None),
                                (["model.shoal", "clicks.tsv"], r"(0\.\d+\n){2000}"),
                                ([], None)],
    "Evaluate": [(["model.shoal", "clicks.tsv"], r"(?s).*\nauc 0\.\d{4}\n.*"), ([], None)],
    "Watch, stop and resume a run": [
        ([], r"epoch 1 of 3: loss \S+\nepoch 2 of 3: loss \S+\nstopped; run again to continue\n"),
        ([], r"epoch 3 of 3: loss \S+\n")],
    "Several ranks": [([], r"1 ranks trained a logreg model\n")],
    "Serve from a program": [([], r"http://127\.0\.0\.1:\d+ serves 1 model\n")],
}
METRICS = ["shoal_stage_seconds"]  # of the server: no C
# These read what a program below them writes.
LATER = ["Open a model and ask it", "Evaluate"]


def programs_of(text):
    """(heading, number of the first line, source) of each block of C with a main."""
    headings = [(number, line[3:].strip()) for number, line in enumerate(text.splitlines(), 1)
                if line.startswith("## ")]
    for first, language, lines in blocks_of(text):
        if language == "c" and re.search(r"^int main\(", "\n".join(lines), re.MULTILINE):
            heading = [name for number, name in headings if number < first][-1]
            yield heading, first, "\n".join(lines) + "\n"


def build(root, library, compiler, source, program):
    """What the compiler says against it."""
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    folder = os.path.dirname(library)
    said = subprocess.run([*compiler, "-std=gnu17", "-Wall", "-Wextra", "-Wpedantic",
                           "-Werror", "-I", os.path.join(root, "include"),
                           program + ".c", library, f"-Wl,-rpath,{folder}", "-o", program],
                          capture_output=True, text=True)
    return said.stderr.splitlines() + (["the compiler fails"] if said.returncode else [])


def run(program, runs, work):
    """What is wrong with what it prints; a pattern None: it must fail with one sentence."""
    wrong = []
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", LC_ALL="C.UTF-8")
    for arguments, pattern in runs:
        said = subprocess.run([program, *arguments], cwd=work, env=env, capture_output=True,
                              text=True, timeout=300, stdin=subprocess.DEVNULL)
        call = " ".join([os.path.basename(program), *arguments])
        if pattern is None:
            if said.returncode != 1 or len(said.stderr.splitlines()) != 1:
                wrong.append(f"{call}: status {said.returncode}, {said.stderr!r}, want 1 and a sentence")
        elif said.returncode or not re.fullmatch(pattern, said.stdout):
            wrong.append(f"{call}: status {said.returncode}, want 0 and {pattern!r}; it printed")
            wrong += (said.stdout + said.stderr).splitlines()[:10]
    return wrong


def missing_functions(root):
    """Each function or type of the library that a page names and no header has."""
    headers = [os.path.join(root, "include/shoal.h")]
    folder = os.path.join(root, "include/shoal")
    headers += [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    known = set(re.findall(r"\bshoal_\w+", "\n".join(read(path) for path in headers)))
    wrong = []
    for page in pages_of(root)[0]:
        for number, line in enumerate(read(os.path.join(root, page)).splitlines(), 1):
            for name in re.findall(r"\bshoal_[a-z]\w*", line):
                if name not in known and name not in METRICS:
                    wrong.append(f"{page}:{number}: {name} is in no header")
    return wrong


def main():
    root, shoal, library, *compiler = sys.argv[1:]
    root, shoal, library = (os.path.abspath(path) for path in (root, shoal, library))
    programs = list(programs_of(read(os.path.join(root, PAGE))))
    programs.sort(key=lambda p: p[0] in LATER)
    tap = Tap()
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "text.txt"), "w", encoding="utf-8") as text:
            text.write("the fish swims in the sea\nthe bird flies in the air\n" * 500)
        subprocess.run([shoal, "gen", "clicks", "--rows", "2000", "-o", "clicks.tsv", "-q"], cwd=work,
                       check=True)
        for heading, first, source in programs:
            program = os.path.join(work, f"program{first}")
            wrong = build(root, library, compiler, source, program)
            if heading not in RUNS:
                wrong.append(f"{PAGE}:{first}: no test says what it must print")
            elif not wrong:
                wrong = run(program, RUNS[heading], work)
            tap.verdict(f"the program of {PAGE} below `{heading}` compiles and runs", wrong)
    tap.verdict("every function that pages name is in a header", missing_functions(root))
    tap.verdict("no program is without its test", sorted(set(RUNS) - {p[0] for p in programs}))
    print(f"1..{tap.cases}")
    return 1 if tap.broken else 0


if __name__ == "__main__":
    sys.exit(main())
