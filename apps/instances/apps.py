from django.apps import AppConfig


class InstancesConfig(AppConfig):
    name = "apps.instances"

    def ready(self) -> None:
        from apps.chats.signals import chat_purged
        from apps.instances.operations.purging import on_chat_purged

        chat_purged.connect(on_chat_purged)  # after that of apps.memories, which deletes the memories
