from django.apps import AppConfig


class SyncConfig(AppConfig):
    name = "apps.sync"
    label = "sync"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.chats.events import take_part
        from apps.sync import live

        take_part(live.announce)
