import gc
from pathlib import Path

from django.apps import AppConfig


class LauncherConfig(AppConfig):
    name = "apps.launcher"

    def ready(self) -> None:
        """Offer a story of the demo, and turn the garbage collector on, which is off while apps are loaded."""
        from apps.exchange.samples import Sample, samples
        from apps.launcher import checks  # noqa: F401 - registers them

        samples.register(Sample("The Salt Road", Path(self.path) / "demo" / "the_salt_road.jsonl"))
        gc.freeze()  # the apps are not looked through
        gc.enable()
