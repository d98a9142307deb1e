"""What an error of the database means for a request: nothing was written, or the database can't answer now."""

import errno
import logging

from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from kombu.exceptions import OperationalError as BrokerError

from apps.common.database import newer_migrations
from apps.common.problems import Problem, ProblemType

logger = logging.getLogger(__name__)
DEADLOCK_DETECTED, SERIALIZATION_FAILURE, FOREIGN_KEY_VIOLATION = "40P01", "40001", "23503"
CHANGED_TYPE = "0A000"  # of a column that a prepared statement returns
STATEMENT_TIMEOUT, LOCK_TIMEOUT, TOO_MANY_CONNECTIONS = "57014", "55P03", "53300"
DISK_FULL = "53100"
# Of statements for tables that another version of Loci has: a table, column or function is missing, or a value.
OTHER_TABLES = ("42P01", "42703", "42883", "23502")
# Classes of codes: connection exceptions, and what a server reports that shuts down or has just been started.
CONNECTION_LOST = ("08", "57P0", "25P03")


class Unavailable(Problem):
    """The database is down, or a statement took too long. Whether the request was executed may be unknown."""

    status = 503
    type = ProblemType.UNAVAILABLE
    title = _("Not available now")
    headers = {"Retry-After": "2"}


class BeingUpdated(Unavailable):
    """The database is that of a newer version, whose processes replace this one in a moment. Nothing was stored."""

    headers = {"Retry-After": "10"}

    def __init__(self) -> None:
        super().__init__(gettext("Loci is being updated. Try again in a moment."))


class DiskFull(Unavailable):
    """There is no space for the write. Nothing was stored, and reading goes on."""

    type = ProblemType.DISK_FULL
    title = _("The disk is full")
    headers = {"Retry-After": "60"}

    def __init__(self) -> None:
        super().__init__(
            gettext("The disk of this Loci is full. What is stored is safe and can be read; new things wait for space.")
        )


def is_disk_full(exception: BaseException | None) -> bool:
    """Return whether there was no space, for the database or for a file."""
    if isinstance(exception, OSError):
        return exception.errno in (errno.ENOSPC, errno.EDQUOT)
    return isinstance(exception, OperationalError) and _code(exception) == DISK_FULL


def is_rolled_back(exception: BaseException | None) -> bool:
    """Return whether Postgres rolled the transaction back because of others, so that it may succeed if repeated.

    These are other transactions, or a migration.
    """
    codes = (DEADLOCK_DETECTED, SERIALIZATION_FAILURE, CHANGED_TYPE)
    return isinstance(exception, OperationalError | NotSupportedError) and _code(exception) in codes


def is_row_gone(exception: BaseException | None) -> bool:
    """Return whether a write failed because a row that was read before, and is updated or referred to, is gone."""
    if isinstance(exception, IntegrityError):
        return _code(exception) == FOREIGN_KEY_VIOLATION
    # The only error of this class itself is that of ``save(update_fields=...)`` if it updates no row.
    return type(exception) is DatabaseError


def is_connection_lost(exception: BaseException | None) -> bool:
    """Return whether there is no connection to the database or the broker any more, or none could be had."""
    if isinstance(exception, InterfaceError | BrokerError):  # tasks are enqueued in the same transaction
        return True
    # Without a code, the error is the driver's or the pool's, which has none to report but that of a connection.
    return isinstance(exception, OperationalError) and (
        not _code(exception) or _code(exception).startswith(CONNECTION_LOST)
    )


def is_overload(exception: BaseException | None) -> bool:
    """Return whether a statement or a lock took longer than allowed, or there are too many connections."""
    codes = (STATEMENT_TIMEOUT, LOCK_TIMEOUT, TOO_MANY_CONNECTIONS)
    return isinstance(exception, OperationalError) and _code(exception) in codes


def is_statement_timeout(exception: BaseException | None) -> bool:
    """Return whether a statement took longer than allowed."""
    return isinstance(exception, OperationalError) and _code(exception) == STATEMENT_TIMEOUT


def is_of_newer_version(exception: BaseException | None) -> bool:
    """Return whether a statement failed on tables that were migrated after this process began."""
    if not isinstance(exception, ProgrammingError | IntegrityError) or _code(exception) not in OTHER_TABLES:
        return False
    return newer_migrations.was_migrated_since(newer_migrations.BEGUN)


def unavailable_after(exception: BaseException | None, *, was_repeated: bool = False) -> Unavailable | None:
    """Return the problem for an error after which a client should try again later, or None for any other error.

    ``was_repeated``: the request was run a second time with fresh data, so a missing row is not the client's error.
    """
    if is_disk_full(exception):
        return DiskFull()
    if is_connection_lost(exception):
        return Unavailable(gettext("The database can't be reached. Try again in a moment."))
    if is_overload(exception) or is_rolled_back(exception) or (was_repeated and is_row_gone(exception)):
        return Unavailable(gettext("This took too long, perhaps because of other requests. Nothing was stored."))
    if is_of_newer_version(exception):
        logger.warning("A statement failed on tables of a newer version", exc_info=exception)
        return BeingUpdated()
    return None


def _code(exception: BaseException) -> str:
    return getattr(exception.__cause__, "sqlstate", None) or ""
