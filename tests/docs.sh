#!/bin/sh
# The documents say what is true: their examples run, their links lead somewhere.
#
#     tests/docs.sh ROOT SHOAL [PAGE...]
exec python3 "$(dirname "$0")/docs.py" "$@"
