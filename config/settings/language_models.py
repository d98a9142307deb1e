"""Language models that users connect."""

from config.env import allowed_addresses, env
from config.settings.installation import ALLOWED_HOSTS, LOCI_HOST

LLM_ALLOWED_ADDRESSES = allowed_addresses(LOCI_HOST, ALLOWED_HOSTS)
LLM_ALLOWED_PORTS = [int(port) for port in env.list("LLM_ALLOWED_PORTS", default=[])]  # none: all
LLM_DAILY_TOKENS = env.int("LLM_DAILY_TOKENS", default=2_000_000)  # 0: no limit
