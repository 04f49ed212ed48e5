#!/usr/bin/env python3
"""Draws a terminal as SVG, and a page as PNG by headless Chromium.

    tmux capture-pane -p -e | scripts/pictures.py terminal >terminal.svg
    scripts/pictures.py page URL WIDTHxHEIGHT FILE.png [SCRIPT]

The script runs in the page a second before the picture is taken.
"""
import base64
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from PIL import Image # a palette: points in colours make large files

BACK, FRONT = "#10151c", "#d6dde6"
COLOURS = ["#4d5866", "#ef6b73", "#7bc275", "#e5c07b", "#6cb2f0", "#c58fe0", "#59c2c9", "#e8edf2"]
CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 14


def spans(line):
    """(text, colour, bold) of a line with the escapes of a terminal."""
    colour, bold = FRONT, False
    for text, codes in re.findall(r"([^\x1b]*)(?:\x1b\[([\d;]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|$)", line):
        if text:
            yield text, colour, bold
        for code in [int(c or 0) for c in codes.split(";")] if codes else []:
            if code == 0:
                colour, bold = FRONT, False
            elif code in (1, 2):
                bold, colour = code == 1, colour if code == 1 else "#8a96a3"
            elif 30 <= code <= 37 or 90 <= code <= 97:
                colour = COLOURS[code % 10]
            elif code == 39:
                colour = FRONT


def terminal(text):
    lines = text.rstrip("\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    width = int(max(map(len, plain)) * CELL_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" '
           'font-size="14">',
           f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>']
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + (row + 1) * LINE_HEIGHT - 5
        for text, colour, bold in spans(line):
            for word in re.finditer(r"\S+(?: \S+)*", text):
                x = MARGIN + (column + word.start()) * CELL_WIDTH
                weight = ' font-weight="bold"' if bold else ""
                out.append(f'<text x="{x:.1f}" y="{y}" fill="{colour}"{weight} xml:space="preserve" '
                           f'textLength="{len(word.group()) * CELL_WIDTH:.1f}">'
                           f'{html.escape(word.group())}</text>')
            column += len(text)
    print("\n".join(out + ["</svg>"]))


class Browser:
    """Chromium, spoken to over a pipe (the DevTools protocol, NUL behind each message)."""

    def __init__(self, folder):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--hide-scrollbars", f"--user-data-dir={folder}",
                   "--remote-debugging-pipe", "about:blank"]

        def pipes():
            os.dup2(to_read, 103)
            os.dup2(back_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(command, preexec_fn=pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(back_write)
        self.number, self.pending = 0, b""

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.pending:
                got = os.read(self.back, 1 << 20)
                if not got:
                    sys.exit("pictures: chromium has ended")
                self.pending += got
            one, _, self.pending = self.pending.partition(b"\0")
            answer = json.loads(one)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"pictures: {method}: {answer['error']}")
                return answer["result"]


def page(url, size, path, script=""):
    width, height = map(int, size.split("x"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.call("Emulation.setDeviceMetricsOverride", session, width=width, height=height,
                     deviceScaleFactor=1, mobile=width < 600)
        browser.call("Page.navigate", session, url=url)
        time.sleep(2)
        if script:
            browser.call("Runtime.evaluate", session, expression=script)
            time.sleep(3)
        shot = browser.call("Page.captureScreenshot", session, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
        Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
        browser.call("Browser.close")
        browser.process.wait(30)


def main():
    if sys.argv[1:] == ["terminal"]:
        terminal(sys.stdin.read())
    elif len(sys.argv) in (5, 6) and sys.argv[1] == "page":
        page(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
