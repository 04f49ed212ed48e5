# A slip of the finger gets a suggestion, nonsense does not.
try shoal voacb
try shoal encod
try shoal vocabulary
try shoal xyzzy
try shoal help ifno
try shoal gen wrold
try shoal gen sea
try shoal --verison
try shoal -x
try shoal vocab --thread 3
try shoal vocab --tokens=space --min_count=3
try shoal encode --mem 1G
try shoal encode --wibble
try shoal encode -qx
try shoal vocab --no-tokens
