"""What this machine has, for the programs that shoal is measured beside.

Debian's modules (python3-torch, python3-numpy) belong to Debian's interpreter, whatever `python3` is
in PATH. Its OpenBLAS takes kernels of 2004 on processors that it does not know, so it is told which to
take, and PyTorch's own kernels likewise: what the processor lacks would end them with SIGILL.
"""
import os
import subprocess
import sys

PYTHON = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else sys.executable


def cpu():
    """What /proc/cpuinfo says of the first processor, word by word: its maker and its flags."""
    try:
        with open('/proc/cpuinfo') as f:
            return set(f.read().split('\n\n')[0].split())
    except OSError:
        return set()


def tuned():
    """The environment for a program that uses PyTorch; what is set already stays."""
    has, best = cpu(), {}
    if {'avx512f', 'GenuineIntel'} <= has:
        best = {'OPENBLAS_CORETYPE': 'SkylakeX', 'ATEN_CPU_CAPABILITY': 'avx512'}
    elif 'avx2' in has:
        amd = 'AuthenticAMD' in has
        best = {'OPENBLAS_CORETYPE': 'Zen' if amd else 'Haswell', 'ATEN_CPU_CAPABILITY': 'avx2'}
    return {**best, **os.environ}


def has_modules(*names):
    return subprocess.run([PYTHON, '-c', 'import ' + ', '.join(names)], stderr=subprocess.DEVNULL).returncode == 0


def program(path):
    """The program of a build folder, or the file itself."""
    return os.path.abspath(os.path.join(path, 'cli', 'shoal') if os.path.isdir(path) else path)
