"""Signals about connections to models. Other apps connect receivers in ``AppConfig.ready()``."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

from apps.llm.models import Connection

# Sent with ``owner_id`` after the commit of a change that may affect the owner's embedding model.
embedding_changed = Signal()
# Sent with ``owner_id`` after the commit of a change by which calls may succeed that failed before.
generation_changed = Signal()


def announce_embedding_change(owner_id: UUID) -> None:
    """Send ``embedding_changed`` after the commit. Exceptions of receivers are logged and not raised."""
    transaction.on_commit(partial(embedding_changed.send_robust, sender=Connection, owner_id=owner_id))


def announce_generation_change(owner_id: UUID) -> None:
    """Send ``generation_changed`` after the commit. Exceptions of receivers are logged and not raised."""
    transaction.on_commit(partial(generation_changed.send_robust, sender=Connection, owner_id=owner_id))
