"""``python -m benchmarks [NAME ...]``: run the named benchmarks, or all, on a temporary database.

Those that need a whole installation run its large form, or the one that LOCI_FORM says.
"""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

BENCHMARKS = [
    *("sync", "request_size", "throughput", "imports", "search", "journal", "catchup", "fairness", "page", "prompt"),
    *("proxy", "neighbour", "memory", "publishing"),
]


def main(names: list[str]) -> None:
    """Run benchmarks on a new embedded database."""
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as home:
        # As root, the database runs as another user, who has to traverse the folder.
        Path(home).chmod(0o711)
        (Path(home) / "static").mkdir()
        os.environ.setdefault("LOCI_FORM", "large")
        os.environ |= {"LOCI_HOME": home, "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "WARNING"}
        import django
        from django.core.management import call_command

        from apps.launcher import embedded_postgres

        django.setup()
        from apps.launcher.warming import warm_up

        warm_up()  # as a process that serves requests
        with embedded_postgres.running(Path(home)):
            call_command("migrate", verbosity=0)
            for name in names or BENCHMARKS:
                print(f"== {name}", flush=True)
                import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
