"""Who wants to know when an owner's vectors come from another model. Upper apps say so in ``AppConfig.ready()``."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction

Callback = Callable[[Any], None]
_callbacks: list[Callback] = []


def on_embedding_change(callback: Callback) -> None:
    """``callback`` is called with the owner's id once a change that may concern embeddings is committed."""
    if callback not in _callbacks:
        _callbacks.append(callback)


def announce_embedding_change(owner_id: Any) -> None:
    """Tell everybody as soon as the transaction is committed; what one raises is logged, and fails no write."""
    for callback in _callbacks:
        transaction.on_commit(partial(callback, owner_id), robust=True)
