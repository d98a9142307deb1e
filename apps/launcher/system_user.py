"""System user that runs Postgres: the current one or, for root, a dedicated one, since Postgres refuses root."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFERRED_USER = "loci-postgres"
FALLBACK_USERS = ("postgres", "nobody")


@dataclass(frozen=True)
class SystemUser:
    """Account of the operating system."""

    name: str
    uid: int
    gid: int

    @property
    def subprocess_options(self) -> dict[str, Any]:
        """Return arguments for ``subprocess.run`` that run a program as this user; none if it already is."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program as this user, in ``/``, since it may have no access to the working directory."""
        return subprocess.run(  # noqa: S603
            command, cwd="/", text=True, stdin=subprocess.DEVNULL, **self.subprocess_options, **options
        )

    def can_access(self, path: Path) -> bool:
        """Return whether this user can traverse every folder down to ``path`` and read it."""
        if not self.subprocess_options:
            return os.access(path, os.R_OK | os.X_OK)
        check = ["/bin/sh", "-c", 'test -r "$0" && test -x "$0"', str(path)]
        return self.run(check, capture_output=True).returncode == 0


def server_user() -> SystemUser:
    """Return the account for the server: the current one or, for root, PREFERRED_USER, which is created if possible."""
    if os.geteuid() != 0:
        return system_user_of(pwd.getpwuid(os.geteuid()))
    preferred = find_account(PREFERRED_USER) or create_account(PREFERRED_USER)
    return preferred or next(user for name in FALLBACK_USERS if (user := find_account(name)))


def system_user_of(entry: pwd.struct_passwd) -> SystemUser:
    """Return the account that an entry of the password database describes."""
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def find_account(name: str) -> SystemUser | None:
    """Return the account with this name, or None."""
    try:
        return system_user_of(pwd.getpwnam(name))
    except KeyError:
        return None


def create_account(name: str) -> SystemUser | None:
    """Create a system account without home, shell and password. Return None if that fails."""
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd:
        options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        command = [useradd, *options, "--shell", "/usr/sbin/nologin", name]
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    return find_account(name)
