"""Language models that users connect."""

import os

from config.env import allowed_addresses, allowed_ports, env
from config.settings.database import IS_WEB_PROCESS
from config.settings.installation import ALLOWED_HOSTS, LOCI_HOST
from config.variables import Group

_embedding_model = env.str(
    "EMBEDDING_MODEL",
    default="minilm",
    group=Group.LANGUAGE_MODELS,
    help="The built-in embedding model: `minilm` (all-MiniLM-L6-v2, for English), or `multilingual` "
    "(multilingual-e5-small, for a hundred languages), which needs a package. After a change, search vectors are "
    "computed again in the background. See [models.md](models.md#the-built-in-embedding-model).",
)
EMBEDDING_MODEL = _embedding_model or "minilm"
_threads = env.int(
    "EMBEDDING_THREADS",
    default=len(os.sched_getaffinity(0)),
    least=1,
    shown="one for each core",
    group=Group.LANGUAGE_MODELS,
    help="Threads with which a worker runs the built-in embedding model; web processes use one.",
)
# In a web process a long query of one user would else hold all cores, and with them the requests of all others.
EMBEDDING_THREADS = 1 if IS_WEB_PROCESS else _threads
LLM_ALLOWED_ADDRESSES = allowed_addresses(LOCI_HOST, ALLOWED_HOSTS)
LLM_ALLOWED_PORTS = allowed_ports()
LLM_DAILY_TOKENS = env.int(
    "LLM_DAILY_TOKENS",
    default=2_000_000,
    group=Group.LANGUAGE_MODELS,
    help="How many tokens a user's connections may take on a day (UTC), sent and received together; `0` is no limit. "
    "The admin site sets other limits for single users. Calls under way when it is reached are completed.",
)
