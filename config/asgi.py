"""ASGI application."""

import os
import sys
from threading import Thread

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("LOCI_PROCESS", "web")  # its database connections have timeouts
# A request waits this long for the interpreter whenever another one computes; by default, ten times as long.
sys.setswitchinterval(0.0005)

# Models and settings can only be imported after Django's setup.
django_application = get_asgi_application()

from apps.accounts.middleware.arriving_bodies import BodyLimits  # noqa: E402
from apps.launcher.warming import keep_small, warm_up  # noqa: E402
from apps.mcp.mount import McpMount  # noqa: E402

application = BodyLimits(McpMount(django_application))

# The embedding model takes a second to load: requests that need none don't wait for it.
Thread(target=warm_up, name="warm-up", daemon=True).start()
Thread(target=keep_small, name="keep-small", daemon=True).start()
