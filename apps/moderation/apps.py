from django.apps import AppConfig
from django.db.models.signals import post_migrate, post_save


class ModerationConfig(AppConfig):
    name = "apps.moderation"

    def ready(self) -> None:
        from apps.chats.models import Character, Lorebook, Persona
        from apps.chats.pages.plugins import panels
        from apps.chats.signals import change_undone, chat_branched, chat_committed
        from apps.common.jobs import Kind, kinds
        from apps.common.on_demand import on_demand
        from apps.memories.signals import memories_written
        from apps.moderation.models import ScanJob
        from apps.moderation.roles import create_roles
        from apps.snapshots.signals import snapshot_restored

        kinds.register(
            Kind(
                ScanJob,
                "indexing",
                on_demand("apps.moderation.scanning.jobs:execute_claimed"),
                on_demand("apps.moderation.tasks:send_scan"),
            )
        )
        chat_committed.connect(on_demand("apps.moderation.tasks:on_chat_committed"))
        for model in (Character, Persona, Lorebook):
            post_save.connect(on_demand("apps.moderation.tasks:on_thing_saved"), sender=model)
        memories_written.connect(on_demand("apps.moderation.tasks:on_memories_written"))
        chat_branched.connect(on_demand("apps.moderation.operations.withholding:withhold_in_branch"))
        change_undone.connect(on_demand("apps.moderation.operations.withholding:withhold_undone"))
        snapshot_restored.connect(on_demand("apps.moderation.operations.withholding:withhold_restored"))
        post_migrate.connect(create_roles, sender=self)
        panels.register(on_demand("apps.moderation.panel:hidden_panel"))
