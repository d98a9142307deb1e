"""What clients send, to the operations of the proxy."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from apps.accounts.models import User
from apps.proxy.matching import planning
from apps.proxy.matching.plans import ChangePlan, ComparedMessage, KeyedRequest
from apps.proxy.operations import requests
from apps.proxy.operations.requests import StoredRequest
from apps.proxy.requests.conversations import ClientRequest
from apps.proxy.requests.turns import Turn

Texts = Callable[[tuple[UUID, ...]], Mapping[UUID, str]]


def store_request(owner: User, turns: Sequence[Turn], **fields: Any) -> StoredRequest:
    """Store what a client sends."""
    return requests.store_request(owner, ClientRequest(turns=turns, **fields))


class Unchanged:
    """Texts of a chat that nobody else has changed."""

    def __init__(self, texts: Texts) -> None:
        self.of = texts

    def changed(self, messages: Sequence[ComparedMessage]) -> set[UUID]:
        return set()

    def swipe_keys(self, messages: Sequence[ComparedMessage]) -> Mapping[UUID, Sequence[int]]:
        return {}


def plan_changes(
    messages: Sequence[ComparedMessage], turns: Sequence[Turn], keys: Sequence[int], texts: Texts = lambda ids: {}
) -> ChangePlan:
    """Return what a client has changed that sends these turns."""
    return planning.plan_changes(messages, KeyedRequest(ClientRequest(turns=turns), turns, keys), Unchanged(texts))
