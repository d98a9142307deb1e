"""System user that runs Postgres: the present one, or a dedicated one for root, as whom Postgres does not run."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFERRED = "loci-postgres"
FALLBACKS = ("postgres", "nobody")


@dataclass(frozen=True)
class SystemUser:
    """Account of the operating system."""

    name: str
    uid: int
    gid: int

    @property
    def switch(self) -> dict[str, Any]:
        """Return arguments for ``subprocess.run`` that run a program as this user; none if this process does."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program as this user, in ``/``, since our working folder may be closed to it."""
        return subprocess.run(  # noqa: S603
            command,
            cwd="/",
            text=True,
            stdin=subprocess.DEVNULL,
            **self.switch,
            **options,
        )

    def reaches(self, path: Path) -> bool:
        """Return whether this user may traverse every folder down to ``path`` and read it."""
        if not self.switch:
            return os.access(path, os.R_OK | os.X_OK)
        check = ["/bin/sh", "-c", 'test -r "$0" && test -x "$0"', str(path)]
        return self.run(check, capture_output=True).returncode == 0


def server_user() -> SystemUser:
    """Return the account for the server: the present one or, for root, PREFERRED, created if possible."""
    if os.geteuid() != 0:
        return account(pwd.getpwuid(os.geteuid()))
    preferred = find_account(PREFERRED) or create_account(PREFERRED)
    return preferred or next(user for name in FALLBACKS if (user := find_account(name)))


def account(entry: pwd.struct_passwd) -> SystemUser:
    """Return the account of an entry of the password database."""
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def find_account(name: str) -> SystemUser | None:
    """Return the account of this name, or None."""
    try:
        return account(pwd.getpwnam(name))
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
