"""Signals about connections to models. Upper apps connect their receivers in ``AppConfig.ready()``."""

from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

from apps.llm.models import Connection

# Sent with ``owner_id`` after the commit of a change that may concern the owner's embedding model.
embedding_changed = Signal()


def announce_embedding_change(owner_id: UUID) -> None:
    """Send ``embedding_changed`` after the commit. What a receiver raises is logged, and fails no write."""
    transaction.on_commit(partial(embedding_changed.send_robust, sender=Connection, owner_id=owner_id))
