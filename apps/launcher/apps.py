from django.apps import AppConfig


class LauncherConfig(AppConfig):
    name = "apps.launcher"
    label = "launcher"
