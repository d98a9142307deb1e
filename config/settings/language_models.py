"""Language models that users connect."""

import os

from config.env import allowed_addresses, env
from config.settings.database import IS_WEB_PROCESS
from config.settings.installation import ALLOWED_HOSTS, LOCI_HOST

LLM_ALLOWED_ADDRESSES = allowed_addresses(LOCI_HOST, ALLOWED_HOSTS)
LLM_ALLOWED_PORTS = [int(port) for port in env.list("LLM_ALLOWED_PORTS", default=[])]  # none: all
EMBEDDING_MODEL = env.str("EMBEDDING_MODEL", default="minilm")
# In a web process a long query of one user would else hold all cores, and with them the requests of all others.
EMBEDDING_THREADS = 1 if IS_WEB_PROCESS else env.int("EMBEDDING_THREADS", default=len(os.sched_getaffinity(0)))
LLM_DAILY_TOKENS = env.int("LLM_DAILY_TOKENS", default=2_000_000)  # 0: no limit
