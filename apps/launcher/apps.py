import gc

from django.apps import AppConfig


class LauncherConfig(AppConfig):
    name = "apps.launcher"

    def ready(self) -> None:
        """Turn the garbage collector on, which is off while apps are loaded; what they are is not looked through."""
        from apps.launcher import checks  # noqa: F401 - registers them

        gc.freeze()
        gc.enable()
