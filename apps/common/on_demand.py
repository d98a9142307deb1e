"""Functions that are named when an app gets ready, and imported when they are first called.

A process then loads what it uses: a command that makes a token knows nothing of extraction, and no worker of pages.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any


class OnDemand:
    """A function given as ``module:name``, which is called like the function itself."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.module, _, self.name = path.partition(":")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"on_demand({self.path!r})"

    @property
    def function(self) -> Any:
        """Return the function, which a test may have replaced in its module."""
        return getattr(import_module(self.module), self.name)


_known: dict[str, OnDemand] = {}


def on_demand(path: str) -> OnDemand:
    """Return the function ``module:name`` without importing it: always the same object, which signals refer to weakly.

    A test asks for the function of each, so that no path can be wrong.
    """
    return _known.setdefault(path, OnDemand(path))


def known() -> Iterable[OnDemand]:
    """Return what has been named so far."""
    return _known.values()
