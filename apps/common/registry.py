"""Lists of plug-ins that a lower app offers and upper apps fill."""

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """An ordered list of plug-ins. Upper apps register theirs in ``AppConfig.ready()``."""

    def __init__(self) -> None:
        self._items: list[T] = []

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def register(self, item: T) -> None:
        """Add ``item`` at the end, unless it is registered already."""
        if item not in self._items:
            self._items.append(item)
