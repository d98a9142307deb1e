from django.apps import AppConfig


class LauncherConfig(AppConfig):
    name = "apps.launcher"
    label = "launcher"
    default_auto_field = "django.db.models.BigAutoField"
