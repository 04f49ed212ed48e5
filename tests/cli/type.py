#!/usr/bin/env python3
"""Runs a program on a terminal of its own and types lines at its prompt.

    type.py PROMPT LINE... -- COMMAND...

Each line is typed when the prompt stands there, \\t in it being the Tab key and ^C at its
end Ctrl-C; then Ctrl-D. Prints what the program printed, without escape sequences, and
how it ended.
"""
import os
import pty
import re
import signal
import sys
import termios
import time


def edits(terminal):
    """Whether keys go to the program, not to the terminal's own line."""
    return not termios.tcgetattr(terminal)[3] & termios.ICANON


def read_until(terminal, prompt, said):
    """Reads on until a new line has the prompt and takes keys; False at the end."""
    wanted = said.count(b'\n' + prompt) + 1
    while said.count(b'\n' + prompt) < wanted:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how Linux says that nobody is there any more
            piece = b''
        if not piece:
            return False
        said += piece
    while not edits(terminal):
        time.sleep(0.01)
    return True


def main():
    signal.alarm(600)  # a prompt that never comes fails the test, not the day
    split = sys.argv.index('--')
    prompt, lines, command = sys.argv[1].encode(), sys.argv[2:split], sys.argv[split + 1:]
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    said = bytearray()
    keys = [line[:-2].encode() + b'\x03' if line.endswith('^C')
            else line.replace('\\t', '\t').encode() + b'\r' for line in lines]
    keys.append(b'\x04')
    for key in keys:
        if not read_until(terminal, prompt, said):
            break
        os.write(terminal, key)
    while read_until(terminal, prompt, said):
        pass
    status = os.waitpid(child, 0)[1]
    text = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07', '', said.decode(errors='replace'))
    # What the terminal repaints while a line is typed is no output.
    print('\n'.join(line.split('\r')[-1].rstrip() for line in text.replace('\r\n', '\n').split('\n')
                    if not line.startswith(prompt.decode())).strip())
    print(f'[signal {os.WTERMSIG(status)}]' if os.WIFSIGNALED(status)
          else f'[exit {os.WEXITSTATUS(status)}]')


main()
