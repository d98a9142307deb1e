"""Whose rows can be seen in the database: those of all owners, or in requests and tasks those of one owner, or none.

``common.ownership.row_security`` describes how the database keeps it. Without Django, which loads its database backend
before models.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

NOBODY = ""
RESTRICTED_ROLE = "loci_restricted"  # of the database, for requests and tasks
OWNER_SETTING = "loci.owner"  # of the database, the owner's id

_restriction: ContextVar[str | None] = ContextVar("restriction", default=None)


def restriction() -> str | None:
    """Return the id of the owner whose rows can be seen, NOBODY, or None if the rows of all owners can."""
    return _restriction.get()


@contextmanager
def restricted_to(owner_id: UUID | None) -> Iterator[None]:
    """See only the rows of an owner inside the block; none if it is None, until ``restrict`` names one."""
    token = _restriction.set(NOBODY if owner_id is None else str(owner_id))
    try:
        yield
    finally:
        _restriction.reset(token)


@contextmanager
def unrestricted() -> Iterator[None]:
    """See the rows of all owners inside the block."""
    token = _restriction.set(None)
    try:
        yield
    finally:
        _restriction.reset(token)


def restrict(owner_id: UUID) -> None:
    """See only the rows of an owner in the rest of a block of ``restricted_to``. Do nothing outside of one."""
    if _restriction.get() is not None:
        _restriction.set(str(owner_id))
