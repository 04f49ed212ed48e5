#!/bin/sh
# The documents say what is true: their examples run, their links lead somewhere.
#
#     tests/docs.sh [--update] ROOT SHOAL [PAGE...]
exec python3 "$(dirname "$0")/docs.py" "$@"
