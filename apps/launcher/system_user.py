"""Who runs Postgres: ourselves, or, since it refuses root, a system user of its own."""

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
    """An account of the operating system; `switch` holds what subprocess needs to become it."""

    name: str
    uid: int
    gid: int

    @property
    def switch(self) -> dict[str, Any]:
        """Arguments for `subprocess.run` that run a program as this user; none if we are it."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program as this user, in `/`, since our working folder may be closed to it."""
        return subprocess.run(  # noqa: S603
            command,
            cwd="/",
            text=True,
            stdin=subprocess.DEVNULL,
            **self.switch,
            **options,
        )

    def reaches(self, path: Path) -> bool:
        """Whether this user may pass through every folder down to `path`, and read it."""
        if not self.switch:
            return os.access(path, os.R_OK | os.X_OK)
        check = ["/bin/sh", "-c", 'test -r "$0" && test -x "$0"', str(path)]
        return self.run(check, capture_output=True).returncode == 0


def server_user() -> SystemUser:
    """The account for the server: our own, or, for root, `loci-postgres`, made if need be and possible."""
    if os.geteuid() != 0:
        return account(pwd.getpwuid(os.geteuid()))
    found = existing(PREFERRED) or created(PREFERRED)
    return found or next(user for name in FALLBACKS if (user := existing(name)))


def account(entry: pwd.struct_passwd) -> SystemUser:
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def existing(name: str) -> SystemUser | None:
    """The account of this name, if there is one."""
    try:
        return account(pwd.getpwnam(name))
    except KeyError:
        return None


def created(name: str) -> SystemUser | None:
    """A new system account without home, shell or password; None where that cannot be done."""
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd:
        options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        command = [useradd, *options, "--shell", "/usr/sbin/nologin", name]
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    return existing(name)
