"""The command ``loci`` of the installed package: a command of ``manage.py``, such as ``loci up``.

In the package, this file stands beside ``manage.py``.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run a command of ``manage.py``. Processes that it starts find the project too."""
    root = Path(__file__).resolve().parent
    os.environ.setdefault("LOCI_HOME", str(data_home()))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    sys.path.insert(0, str(root))
    from manage import main as run_command

    run_command()


def data_home() -> Path:
    """Return the folder of the data: in the user's folder, as the XDG specification has it."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "loci"
