# What makes no sense exits with 2, before any work.
try shoal
try shoal gen
try shoal gen --help=world
try shoal vocab
try shoal encode
try shoal encode -o corpus.shoal
try shoal encode text.txt
try shoal encode text.txt -o -
try shoal encode text.txt -o corpus.shoal --vocab vocab.txt --min-count 3
try shoal gen world text.txt
try shoal gen world -o - --questions -
try shoal info
try shoal info one two
try shoal help info one
ls

# What fails exits with 1.
try shoal vocab nowhere.txt
try shoal encode nowhere.txt -o corpus.shoal
try shoal info nowhere.shoal
ls
