"""Start llama.cpp's server for the tests with real models."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

URL = os.environ.get("LOCI_TEST_MODEL_URL", "")
PYTHON = os.environ.get("LOCI_TEST_MODEL_PYTHON", "")


@contextmanager
def model_server(*weights: str) -> Iterator[str]:
    """Run a server with the weights of a file, else with those of SmolLM2, and yield its address."""
    script = Path(__file__).with_name("llama_server.py")
    command = [PYTHON, str(script), *weights]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.kill()
