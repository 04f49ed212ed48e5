# What cannot be served is said before anything listens.
alone="--no-sandbox --inference-address 127.0.0.1:0 --management-address none --metrics-address none"

try shoal serve $alone nowhere.bin
try shoal serve $alone =x
try shoal serve --no-sandbox --inference-address nonsense --management-address none --metrics-address none
try shoal serve --no-sandbox --inference-address none --management-address none --metrics-address none
try shoal serve $alone --model-store nowhere
try shoal serve $alone --load-all
try shoal serve $alone --tls-cert x
try shoal serve $alone --user nobody-of-that-name
echo 'workers = many' >serve.conf
try shoal serve --config serve.conf
try shoal serve --batch-size 0
# Tokens, or none by a word of its own.
try shoal serve --no-sandbox --inference-address 0.0.0.0:0 --management-address none --metrics-address none
try shoal serve --no-sandbox --inference-address 0.0.0.0:0 --management-address none --metrics-address none --no-tokens nowhere.bin
try shoal serve $alone --no-tokens --token-file tokens
# An address that is taken: what to do.
python3 - <<'PY'
import socket, subprocess
with socket.socket() as taken:
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    at = "127.0.0.1:%d" % taken.getsockname()[1]
    for which in ("inference", "management", "metrics"):
        words = [word for name in ("inference", "management", "metrics") for word in
                 (f"--{name}-address", at if name == which else "127.0.0.1:0")]
        said = subprocess.run(["shoal", "serve", "--no-sandbox", *words], capture_output=True, text=True)
        print(said.returncode, said.stderr.replace(at, "HOST:PORT"), end="")
PY
