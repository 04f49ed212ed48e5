"""Models are served from within Python, and the server ends when it should."""
import json
import socket
import subprocess
import sys
import os
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import shoal


@pytest.fixture(scope="module")
def model():
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 30)
    return shoal.LogisticRegression().fit(X, np.arange(60) % 2)


def get(url, body=None):
    with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=20) as answer:
        return json.load(answer)


def test_a_model_is_served_by_its_name(model):
    with shoal.serve({"clicks": model}) as server:
        assert server.url.startswith("http://127.0.0.1:") and server.models == 1
        assert get(server.url + "/ping")["status"] == "Healthy"
        answer = get(server.url + "/predictions/clicks", b'{"0": 1.0}')
        assert float(str(answer).strip("[]")) == pytest.approx(model.predict_proba([[1.0, 0.0]])[0, 1], abs=1e-4)
        assert "href" in server._repr_html_()
    assert repr(server) == "<shoal server, stopped>"
    with pytest.raises(urllib.error.URLError):
        get(server.url + "/ping")
    server.stop()  # again does nothing


def test_files_and_several_models_are_served(model, tmp_path):
    model.save(tmp_path / "one.shoal")
    with shoal.serve([tmp_path / "one.shoal", model], management="127.0.0.1:0") as server:
        assert server.models == 2 and server.management_url
        names = {entry["modelName"] for entry in get(server.management_url + "/models")["models"]}
        assert names == {"one", "model2"}


def test_words_are_served_whatever_is_in_them():
    vectors = shoal.KeyedVectors(2)
    vectors.add_vectors(["new york", "york", "\u00fcn\u00ef"], [[1, 0], [0, 1], [0.6, 0.8]])
    vectors.set_vecattr("york", "colour", "red")
    with shoal.serve({"places": vectors}) as server:
        found = get(server.url + "/predictions/places", b'{"word": "new york"}')
    assert "\u00fcn\u00ef" in str(found) and "york" in str(found)
    numbers = shoal.KeyedVectors(2)
    with pytest.raises(ValueError, match="found KeyedVectors<vector_size=2, 0 keys>, want some"):
        shoal.serve(numbers)
    numbers.add_vectors([1, 2], np.eye(2))
    with pytest.raises(ValueError, match="keys that are no words"):
        shoal.serve(numbers)


def test_the_log_is_told_of_a_file_that_was_replaced(model, tmp_path):
    model.save(tmp_path / "one.shoal")
    said = []
    with shoal.serve(tmp_path / "one.shoal", log=said.append, reload_every=0.05) as server:
        (tmp_path / "new").write_text("this is no model")
        os.replace(tmp_path / "new", tmp_path / "one.shoal")
        until = time.monotonic() + 20
        while not said and time.monotonic() < until:
            time.sleep(0.02)
        assert get(server.url + "/ping")["status"] == "Healthy"
    assert any("one.shoal" in line for line in said)


def test_what_cannot_be_served_is_refused(tmp_path):
    with pytest.raises(shoal.Error):
        shoal.serve(tmp_path / "nowhere.shoal")
    with pytest.raises(TypeError, match="found a model of type int"):
        shoal.serve([3])
    with pytest.raises(ValueError, match="found the option 'batch'"):
        shoal.serve([], batch=3)
    with pytest.raises(ValueError, match="found the option 'sandbox'"):
        shoal.serve([], sandbox=True)
    with pytest.raises(ValueError, match="batch_size 'many'"):
        shoal.serve([], batch_size="many")
    with pytest.raises(ValueError):
        shoal.serve([], batch_size=0)


def test_a_server_that_was_forgotten_ends_with_the_interpreter(model, tmp_path):
    model.save(tmp_path / "one.shoal")
    code = f"import shoal\nserver = shoal.serve({str(tmp_path / 'one.shoal')!r}, log=lambda s: None)\nprint(server.url)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(shoal.__file__))})
    assert said.returncode == 0 and said.stdout.startswith("http://") and said.stderr == ""


def test_grpc_has_an_address_of_its_own(model):
    with shoal.serve({"clicks": model}) as server:
        assert server.grpc_address is None
    try:
        server = shoal.serve({"clicks": model}, grpc="127.0.0.1:0")
    except ValueError as error:
        pytest.skip(str(error))  # built without it
    with server:
        host, port = server.grpc_address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=20) as client:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            assert client.recv(9)[3] == 4  # a frame of SETTINGS
