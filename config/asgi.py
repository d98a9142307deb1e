"""The ASGI application that the web server runs."""

import os
from threading import Thread

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

from apps.llm.embeddings import get_embedder  # noqa: E402 - settings have to stand first

# Loading the model takes a second: it is ready before the first search asks for it.
Thread(target=get_embedder, name="warm-up", daemon=True).start()
