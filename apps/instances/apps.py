from django.apps import AppConfig


class InstancesConfig(AppConfig):
    name = "apps.instances"

    def ready(self) -> None:
        from apps.chats.signals import chat_purged
        from apps.common.on_demand import on_demand

        # after that of apps.memories, which deletes the memories
        chat_purged.connect(on_demand("apps.instances.operations.purging:on_chat_purged"))
