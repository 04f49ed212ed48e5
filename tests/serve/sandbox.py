#!/usr/bin/env python3
"""The server over loopback again, held by the kernel to its list of system calls: whatever it
does for clients it does within the sandbox too.

    tests/serve/sandbox.py SHOAL

Prints TAP. test_sandbox tries what the list refuses; here is what it must not.
"""

import os
import shutil
import sys
import tempfile

import harness
import loopback
from loopback import ANY, WORDS, Server, check, vectors


def held(pid):
    """Whether every thread of the process is."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as f:
            status = f.read()
        if "NoNewPrivs:\t1" not in status or "Seccomp:\t2" not in status:
            return False
    return True


def main():
    Server.__init__.__kwdefaults__["sandbox"] = True
    work = tempfile.mkdtemp(prefix="shoal-sandbox-")
    try:
        os.mkdir(os.path.join(work, "store"))
        vectors(os.path.join(work, "words.vec"), WORDS)
        vectors(os.path.join(work, "store", "words.vec"), WORDS)
        with open(os.path.join(work, "store", "junk.bin"), "wb") as f:
            f.write(os.urandom(100))
        s = Server("words=words.vec", "--model-store", "store", "--max-body", "100K", *ANY, cwd=work)
        check("every thread is held to the list", held(s.process.pid))
        for part in (loopback.inference, loopback.embeddings, loopback.protocols, loopback.management,
                     loopback.metrics):
            part(s)
        check("the state was written", os.path.exists(os.path.join(work, "store", ".shoal-serve.state")))
        check("and the server ends well", s.stop() == 0)
        for part in (loopback.replacement, loopback.restart, loopback.drained, loopback.tokens, loopback.encrypted,
                     loopback.nets, loopback.clicks, loopback.pictures, loopback.next_words):
            part(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
