from django.apps import AppConfig


class JournalConfig(AppConfig):
    name = "apps.journal"

    def ready(self) -> None:
        from apps.chats.signals import chat_purged
        from apps.common.on_demand import on_demand

        chat_purged.connect(on_demand("apps.journal.purging:on_chat_purged"))
