"""The type of texts that people read. Those of the project are translated where they are shown."""

from typing import TYPE_CHECKING, TypeAlias

from django.utils.functional import Promise

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    Words: TypeAlias = str | _StrPromise
else:
    Words: TypeAlias = str | Promise
