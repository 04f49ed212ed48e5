"""The documents say what is true: their examples run, their links lead somewhere.

    tests/docs.py [--update] ROOT SHOAL [PAGE...]

Every block ```sh and ```console of README.md and of the manual runs, one TAP line a page. A page is
one shell in one folder, from top to bottom: what a block makes, a file or a variable, the next one
has. The folder is empty but for `examples`, as in the sources. A block ```sh must succeed. In a block ```console a line `$ command` (`> ` continues it)
must print what stands below it; only times and rates may differ. Other blocks do not run: ```text
is for what a test cannot do. $PORT is a free port, for pages that start a server.

A build without MPI runs a page as far as the first command of several ranks.

Kernels of other processors round differently, so all pages run with those of AVX2 (SHOAL_ISA), and
numbers with a point may differ a little (matrix products are cut by the size of the caches). Without
AVX2 the digits of what is printed are not compared. --update writes into the pages what
their commands print: read the diff before you commit it.

Pages of docs/notes are not run; their links are followed, as those of every document.
"""
import concurrent.futures
import difflib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

from ports import hold_port

PAGE_SECONDS = 300  # a page that takes longer hangs; all together take less than a minute
MOST_WORDS = 16  # of a sentence, on average

# What no two runs or machines share: times, rates, memory, lines that say how far a run is.
VARIES = [
    (re.compile(r"^[a-z]+ +[\d.]+%( .*/s.*)?$"), None),
    (re.compile(r"^[a-z]+ +\d[\d.,]* [A-Za-z]+ +[\d.]+ .*/s$"), None),
    (re.compile(r"^(took|plan) .*"), r"\1"),
    (re.compile(r"\b[\d.,]+ ?([kMG]?)( ?[a-z]+/s)\b"), r"RATE\2"),
    (re.compile(r"\b[\d.,]+ [KMGT]?i?B/s"), "RATE"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|us)\b"), "TIME"),
    (re.compile(r"^(memory|disk|work|held|peak) .*"), r"\1"),  # depends on cores and libraries
    (re.compile(r"^(kernel) .*"), r"\1"),
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def pages_of(root):
    """(pages that run, documents whose links are followed), beginning at root."""
    documents = [name for name in os.listdir(root) if name.endswith(".md")]
    documents.append("tests/fuzz/README.md")
    for folder, _, names in os.walk(os.path.join(root, "docs")):
        documents += [os.path.relpath(os.path.join(folder, name), root)
                      for name in names if name.endswith(".md")]
    documents.sort()
    run = [name for name in documents if name == "README.md"
           or name.startswith("docs/") and not name.startswith("docs/notes/")]
    return run, documents


# ---- blocks ----------------------------------------------------------------------------------


def blocks_of(text):
    """Yields (number of the first line, language, lines) of each fenced block."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if fence is None:
            found = re.match(r"( *)(```+)(.*)$", line)
            if found:
                indent, fence, language = len(found.group(1)), found.group(2), found.group(3).strip()
                first, lines = number + 1, []
        elif bare.startswith(fence) and bare.strip("`") == "":
            yield first, language, lines
            fence = None
        else:
            lines.append(line[min(indent, len(line) - len(line.lstrip())):])


def commands_of(lines):
    """[command, what it shows, where that begins] of the lines of a console block."""
    commands = []
    wants_more = False
    for number, line in enumerate(lines):
        if wants_more:
            commands[-1][0] += "\n" + re.sub("^> ?", "", line)
            commands[-1][2] = number + 1
        elif line.startswith("$ "):
            commands.append([line[2:], [], number + 1])
        elif commands:
            commands[-1][1].append(line)
        elif line.strip():
            commands.append(["false # no command above: " + line, [], number + 1])
        wants_more = bool(commands) and not commands[-1][1] and (
            commands[-1][0].endswith("\\") or line.startswith("$ ") and unfinished(line[2:])
            or wants_more and unfinished(commands[-1][0]))
    return commands


def unfinished(command):
    """Whether a quote or a here-document is still open."""
    try:
        shlex.split(command)
    except ValueError:
        return True
    here = re.search(r"<<-?\s*['\"]?(\w+)", command)
    return bool(here) and here.group(1) not in command.split("\n")[1:]


def of_ranks(command):
    return re.search(r"--ranks\b|\bmpirun\b|\bsrun\b", command)


def before_ranks(lines):
    """The lines above the first command of several ranks."""
    for number, line in enumerate(lines):
        if of_ranks(line):
            while number > 0 and lines[number - 1].endswith("\\"):
                number -= 1
            return lines[:number]
    return lines


# ---- a page ----------------------------------------------------------------------------------


def script_of(page, text, folder, mpi):
    """The page as one shell script, and what its commands show: [(line, command, shown, its line, file)]."""
    script, shown = ["exec </dev/null"], []
    for first, language, lines in blocks_of(text):
        if not mpi and language in ("sh", "console") and of_ranks("\n".join(lines)):
            lines = before_ranks(lines)
            mpi = None
        if language == "sh":
            script += [f"echo '{page}:{first}: block of sh'", "set -ex", *lines,
                       "{ set +ex; } 2>/dev/null"]
        elif language == "console":
            for command, expected, place in commands_of(lines):
                file = os.path.join(folder, f"printed{len(shown)}")
                shown.append((first, command, expected, first + place, file))
                script += [f"eval {shlex.quote(command)} >{shlex.quote(file)} 2>&1"]
        if mpi is None:
            break
    return "\n".join(script) + "\nexit 0\n", shown


def steady(lines, digits):
    """The lines without what varies from run to run; without `digits`, without any number."""
    kept = []
    for line in lines:
        line = line.rstrip()
        for pattern, instead in VARIES:
            if instead is None:
                line = None if pattern.search(line) else line
            else:
                line = pattern.sub(instead, line)
            if line is None:
                break
        if line is not None:
            kept.append(re.sub(r" +", " ", line if digits else re.sub(r"-?\d[\d.,]*", "0", line)))
    return kept


DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


def alike(shown, printed):
    """Whether the lines are the same but for the last digits of numbers with a point."""
    if [DECIMAL.sub("X", line) for line in shown] != [DECIMAL.sub("X", line) for line in printed]:
        return False
    pairs = zip(DECIMAL.findall("\n".join(shown)), DECIMAL.findall("\n".join(printed)))
    return all(abs(float(a) - float(b)) <= 0.05 * max(abs(float(a)), abs(float(b))) + 0.002
               for a, b in pairs)


def has_avx2():
    try:
        return bool(re.search(r"^flags\s*:.*\bavx2\b", read("/proc/cpuinfo"), re.MULTILINE))
    except OSError:
        return False


def run_page(root, page, tools, mpi, update):
    """Runs the page; returns what is wrong with it, as lines."""
    text = read(os.path.join(root, page))
    with tempfile.TemporaryDirectory() as folder, hold_port() as port:
        work = os.path.join(folder, "work")
        os.mkdir(work)
        os.symlink(os.path.join(root, "examples"), os.path.join(work, "examples"))
        script, shown = script_of(page, text, folder, mpi)
        if len(script.splitlines()) == 2:
            return []
        env = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], PORT=str(port.getsockname()[1]),
                   LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0",  # MPI libraries leak at their end
                   XDG_STATE_HOME=folder)
        env.pop("NO_COLOR", None)
        digits = has_avx2()
        if digits:
            env["SHOAL_ISA"] = "avx2"
        log = os.path.join(folder, "log")
        with open(log, "wb") as said:
            shell = subprocess.Popen(["sh", "-u", "-c", script], cwd=work, env=env, stdout=said,
                                     stderr=said, start_new_session=True)
            try:
                status = shell.wait(PAGE_SECONDS)
            except subprocess.TimeoutExpired:
                status = f"none after {PAGE_SECONDS} s"
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # servers that a broken page left running
                shell.wait()
            except ProcessLookupError:
                pass
        wrong = []
        if status != 0:
            wrong = [f"{page}: the status is {status}, want 0; its last lines:"]
            wrong += read_log(log)[-20:]
        differ = []
        for first, command, expected, place, file in shown:
            printed = read_log(file) if os.path.exists(file) else ["(did not run)"]
            if not alike(steady(expected, digits), steady(printed, digits)):
                wrong.append(f"{page}:{first}: $ {command}")
                wrong += difflib.unified_diff(expected, printed, "shown", "printed", lineterm="")
                differ.append((place, expected, printed))
        if update and status == 0:
            write_page(os.path.join(root, page), text, differ)
        return wrong


def write_page(path, text, differ):
    """Puts what was printed where the page shows something else."""
    lines = text.splitlines()
    for place, expected, printed in reversed(differ):
        indent = re.match(" *", lines[place - 2]).group(0)
        lines[place - 1:place - 1 + len(expected)] = [(indent + line).rstrip() for line in printed]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def read_log(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


# ---- links -----------------------------------------------------------------------------------


def prose_lines(text):
    """(number, line) outside of fenced blocks, without spans of code."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        found = re.match(r"```+", bare)
        if fence is None and found:
            fence = found.group(0)
        elif fence is not None:
            if bare.startswith(fence) and bare.strip("`") == "":
                fence = None
        else:
            yield number, line


def anchors_of(text):
    """What GitHub calls the headings of a page."""
    anchors, seen = set(), {}
    for _, line in prose_lines(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
            name = re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
            times = seen.get(name, 0)
            seen[name] = times + 1
            anchors.add(f"{name}-{times}" if times else name)
        anchors.update(re.findall(r"<a (?:name|id)=\"([^\"]+)\"", line))
    return anchors


def broken_links(root, documents):
    """A line for each link that leads nowhere."""
    wrong = []
    for document in documents:
        text = read(os.path.join(root, document))
        for number, line in prose_lines(text):
            line = re.sub(r"(`+).+?\1", "", line)
            links = re.findall(r"\]\(\s*<?([^)\s>]*)", line) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", line)
            links += re.findall(r"<(?:img|a)[^>]* (?:src|href)=\"([^\"]+)\"", line)
            for link in links:
                if re.match(r"[a-z]+:", link) or not link:
                    continue
                path, _, anchor = link.partition("#")
                target = os.path.normpath(os.path.join(root, os.path.dirname(document), path)) \
                    if path else os.path.join(root, document)
                if not os.path.exists(target):
                    wrong.append(f"{document}:{number}: {link} is not there")
                elif anchor and target.endswith(".md") and anchor not in anchors_of(read(target)):
                    wrong.append(f"{document}:{number}: {link} has no such heading")
    return wrong


# ---- options ---------------------------------------------------------------------------------


def calls_of(text):
    """(number of the line, call) of each `shoal ...` that the page spells out, run or not."""
    for first, language, lines in blocks_of(text):
        if language in ("sh", "console", "text", ""):
            for number, line in enumerate(lines, first):
                for call in re.findall(r"(?:^|[$|(&] ?)(shoal [a-z][^|&#`]*)", line):
                    yield number, call
    for number, line in prose_lines(text):
        for call in re.findall(r"`(shoal [a-z][^`|]*)`", line):
            yield number, call


class Options:
    """The options of each verb, as `shoal help` lists them."""

    def __init__(self, shoal):
        self.shoal = shoal
        self.known = {}

    def ask(self, *words):
        said = subprocess.run([self.shoal, "help", *words], capture_output=True, text=True)
        if said.returncode:
            return None
        lines = [line for line in said.stdout.splitlines() if re.match(r" {2,6}-", line)]
        return set(re.findall(r"--[a-z][a-z0-9-]*", "\n".join(lines)))

    def of(self, call):
        """Those of the call's verb, and of its model or kind; None for no verb. A study has those of
        what it trains."""
        words = [word for word in call.split()[1:] if not word.startswith("-")] + [""]
        key = words[0], words[1] if words[0] in ("train", "gen") else ""
        if key not in self.known:
            options = self.ask(words[0])
            more = self.ask(*key) if key[1] else None
            if options is not None and more is None and words[0] in ("train", "study"):
                more = set()
                for model in ("cbow", "logreg", "multinomial", "mlp", "nextword", "vgg"):
                    more |= self.ask("train", model)
            self.known[key] = None if options is None else options | (more or set())
        return self.known[key]


def unknown_options(root, pages, shoal):
    """A line for each option of a `shoal ...` that its verb does not have."""
    options, wrong = Options(shoal), []
    for page in pages:
        for number, call in calls_of(read(os.path.join(root, page))):
            known = options.of(call)
            for option in re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", call):
                if known is not None and option not in known \
                        and option.replace("--no-", "--", 1) not in known:
                    wrong.append(f"{page}:{number}: {option} is none of `{' '.join(call.split()[:3])}`")
    return wrong


# ---- all of it -------------------------------------------------------------------------------


def library_example(root):
    """README.md's first block of C below `## The library` is the example of shoal.h."""
    header = subprocess.run([os.path.join(root, "tests/header_example.sh"),
                             os.path.join(root, "include/shoal.h")],
                            capture_output=True, check=True, text=True).stdout.splitlines()
    below = read(os.path.join(root, "README.md")).partition("\n## The library\n")[2]
    shown = next((lines for _, language, lines in blocks_of(below) if language == "c"), [])
    return list(difflib.unified_diff(header, shown, "shoal.h", "README.md", lineterm=""))


def pages_unlisted(root, pages):
    """Each page of the manual stands in its index."""
    if not os.path.exists(os.path.join(root, "docs/README.md")):
        return ["docs/README.md is not there"]
    index = read(os.path.join(root, "docs/README.md"))
    return [f"{page} is not in docs/README.md" for page in pages
            if page.startswith("docs/") and page != "docs/README.md"
            and f"({os.path.relpath(page, 'docs')}" not in index]


def tests_unlisted(root):
    """Each unit test, program of ranks and case of the program stands in docs/tests.md."""
    index = read(os.path.join(root, "docs/tests.md"))
    names = []
    for folder, pattern in (("tests/unit", r"test_(\w+)\.c"), ("tests/mpi", r"test_(\w+)_ranks\.c"),
                            ("tests/cli/cases", r"(\w+)\.sh")):
        found = [re.fullmatch(pattern, name) for name in sorted(os.listdir(os.path.join(root, folder)))]
        names += [(folder, match.group(1)) for match in found if match]
    return [f"{folder}: {name} is not in docs/tests.md" for folder, name in names
            if f"`{name}`" not in index]


def long_sentences(root, pages):
    said = subprocess.run([sys.executable, os.path.join(root, "scripts/prose.py"), "--most",
                           str(MOST_WORDS), *pages], cwd=root, capture_output=True, text=True)
    return said.stderr.splitlines() if said.returncode else []


def replaced_words(root):
    """Each use, in code or documents, of a word that was replaced."""
    said = subprocess.run([sys.executable, os.path.join(root, "scripts/prose.py"), "--words", root],
                          capture_output=True, text=True)
    return said.stdout.splitlines() + said.stderr.splitlines()


def has_mpi(shoal):
    said = subprocess.run([shoal, "train", "cbow", "nowhere", "--ranks", "2", "-o", "x.bin"],
                          capture_output=True, text=True, cwd="/")
    return "need MPI" not in said.stdout + said.stderr


class Tap:
    def __init__(self):
        self.cases = 0
        self.broken = 0

    def verdict(self, name, wrong):
        self.cases += 1
        self.broken += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {self.cases} - {name}")
        for line in wrong:
            print(f"# {line}")
        sys.stdout.flush()


def main():
    update = "--update" in sys.argv[1:]
    root, shoal, *named = [word for word in sys.argv[1:] if word != "--update"]
    root, shoal = os.path.abspath(root), os.path.abspath(shoal)
    pages, documents = pages_of(root)
    chosen = [page for page in pages if not named or page in named]
    mpi = has_mpi(shoal)
    tap = Tap()
    with tempfile.TemporaryDirectory() as tools, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        os.symlink(shoal, os.path.join(tools, "shoal"))
        under_way = [(page, pool.submit(run_page, root, page, tools, mpi, update)) for page in chosen]
        for page, result in under_way:
            tap.verdict(f"the commands of {page} do what it says", result.result())
    if not named:
        tap.verdict("the library example of README.md is that of shoal.h", library_example(root))
        tap.verdict("every link of the documents leads somewhere", broken_links(root, documents))
        tap.verdict("every option that pages spell out is one of its verb",
                    unknown_options(root, pages, shoal))
        tap.verdict("every page is in the index of the manual", pages_unlisted(root, pages))
        tap.verdict("every test is in docs/tests.md", tests_unlisted(root))
        tap.verdict(f"sentences have {MOST_WORDS} words on average", long_sentences(root, pages))
        tap.verdict("no file has a word that was replaced", replaced_words(root))
    print(f"1..{tap.cases}")
    return 1 if tap.broken else 0


if __name__ == "__main__":
    sys.exit(main())
