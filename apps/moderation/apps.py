from django.apps import AppConfig
from django.db.models.signals import post_migrate, post_save


class ModerationConfig(AppConfig):
    name = "apps.moderation"

    def ready(self) -> None:
        from apps.chats.models import Character, Lorebook, Persona
        from apps.chats.pages.plugins import panels
        from apps.chats.signals import change_undone, chat_branched, chat_committed
        from apps.common.jobs import Kind, kinds
        from apps.memories.signals import memories_written
        from apps.moderation import tasks
        from apps.moderation.models import ScanJob
        from apps.moderation.operations.withholding import withhold_in_branch, withhold_restored, withhold_undone
        from apps.moderation.panel import hidden_panel
        from apps.moderation.roles import create_roles
        from apps.moderation.scanning.jobs import execute_claimed
        from apps.snapshots.signals import snapshot_restored

        kinds.register(Kind(ScanJob, "indexing", execute_claimed, tasks.send_scan))
        chat_committed.connect(tasks.on_chat_committed)
        for model in (Character, Persona, Lorebook):
            post_save.connect(tasks.on_thing_saved, sender=model)
        memories_written.connect(tasks.on_memories_written)
        chat_branched.connect(withhold_in_branch)
        change_undone.connect(withhold_undone)
        snapshot_restored.connect(withhold_restored)
        post_migrate.connect(create_roles, sender=self)
        panels.register(hidden_panel)
