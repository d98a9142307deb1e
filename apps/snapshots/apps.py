from django.apps import AppConfig


class SnapshotsConfig(AppConfig):
    name = "apps.snapshots"

    def ready(self) -> None:
        from apps.accounts.signals import account_deleting
        from apps.chats.signals import before_forced_write, chat_purged
        from apps.common.jobs import Kind, kinds
        from apps.common.on_demand import on_demand
        from apps.snapshots.models import Restore, Snapshot
        from apps.sync.signals import before_forced_settings_write

        kinds.register(
            Kind(
                Snapshot,
                "indexing",
                on_demand("apps.snapshots.tasks:execute_snapshot"),
                on_demand("apps.snapshots.tasks:send_snapshot"),
            )
        )
        kinds.register(
            Kind(
                Restore,
                "indexing",
                on_demand("apps.snapshots.tasks:execute_restore"),
                on_demand("apps.snapshots.tasks:send_restore"),
            )
        )
        account_deleting.connect(on_demand("apps.snapshots.operations:delete_snapshots"))
        account_deleting.connect(on_demand("apps.snapshots.mirror:remove_account_from_mirror"))
        chat_purged.connect(on_demand("apps.snapshots.operations:delete_automatic_snapshots"))
        chat_purged.connect(on_demand("apps.snapshots.mirror:remove_from_mirror"))
        before_forced_write.connect(on_demand("apps.snapshots.operations:snapshot_before_forced_write"))
        before_forced_settings_write.connect(
            on_demand("apps.snapshots.operations:snapshot_before_forced_settings_write")
        )
