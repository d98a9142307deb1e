from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"

    def ready(self) -> None:
        from apps.chats.signals import chat_deleted, chat_purged, chat_restored
        from apps.memories.operations import bin

        chat_deleted.connect(bin.on_bin_changed)
        chat_restored.connect(bin.on_bin_changed)
        chat_purged.connect(bin.on_chat_purged)
