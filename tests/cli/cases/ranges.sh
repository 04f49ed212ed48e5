# A value that does not fit is named with what was wanted.
try shoal encode --threads abc
try shoal encode --threads -1
try shoal encode --threads 1025
try shoal encode --threads ''
try shoal encode --threads ' 1'
try shoal encode --threads 1x
try shoal encode --threads
try shoal vocab --min-count 0
try shoal vocab --min-count 99999999999999999999
try shoal vocab --max-vocab=4294967295
try shoal vocab --vocab-memory 1K
try shoal vocab --vocab-memory 1Z
try shoal vocab --vocab-memory 16777216T
try shoal vocab --tokens letters
try shoal vocab --bad-bytes
try shoal vocab --output=
try shoal vocab -o
try shoal vocab --eos=yes
try shoal vocab --help=me
