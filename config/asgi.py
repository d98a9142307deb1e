"""ASGI application."""

import os
from threading import Thread

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

from apps.llm.embeddings import get_embedder  # noqa: E402 - needs the settings

# Load the embedding model in advance, which takes a second, so that the first search does not wait for it.
Thread(target=get_embedder, name="warm-up", daemon=True).start()
