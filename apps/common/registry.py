"""Registry of plug-ins: a lower-level app declares it, and higher-level apps add to it."""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """An ordered list of plug-ins. Apps register theirs in ``AppConfig.ready()``."""

    def __init__(self) -> None:
        self._items: list[T] = []

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def register(self, item: T) -> None:
        """Add ``item`` at the end, unless it is registered already."""
        if item not in self._items:
            self._items.append(item)
