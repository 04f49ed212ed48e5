#!/usr/bin/env python3
"""Runs a program on a terminal of its own until it has drawn a time left.

    screen.py COLUMNS [LATER] -- COMMAND...

With LATER the terminal then has so many columns, until the line was drawn again. Then
Ctrl-C. Prints what was drawn, with figures and the number of blocks replaced, and each erasing
that reaches over several rows.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))


def read_until(terminal, said, wanted, times):
    while len(re.findall(wanted, said)) < times:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how Linux says that nobody is there any more
            return
        said += piece


def main():
    signal.alarm(60)
    split = sys.argv.index('--')
    sizes, command = [int(n) for n in sys.argv[1:split]], sys.argv[split + 1:]
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    said = bytearray()
    resize(terminal, sizes[0])
    read_until(terminal, said, rb'left', 1)
    seen = len(said)
    if len(sizes) > 1:
        resize(terminal, sizes[1])
        more = bytearray()
        read_until(terminal, more, rb'left', 2)
        said += more
    os.write(terminal, b'\x03')
    read_until(terminal, said, rb'never', 1)
    os.waitpid(child, 0)
    line = re.search(rb'\x1b\[K([^\r]*left[^\r]*)', said)[1]
    text = re.sub(r'\x1b\[[0-9;]*m|\^C', '', line.decode())
    assert len(text) + 3 <= sizes[0], text  # room for ^C and the cursor
    text = re.sub(r'[\u2588-\u258f][\u2588-\u258f ]*|#[# ]*|(?<=  ) {8,}', 'BAR ', text)
    text = re.sub(r'[0-9.]+%', 'N%', re.sub(r'[0-9:]+ left', 'TIME left', text))
    print(re.sub(r'[0-9.]+ ?[kMG]?.{0,8}$', 'RATE', text))
    for rows in re.findall(rb'\x1b\[([0-9]+)A\x1b\[J', said[seen:])[:1]:
        print(f'erased with {int(rows)} rows above')


main()
