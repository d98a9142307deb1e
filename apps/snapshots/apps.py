from django.apps import AppConfig


class SnapshotsConfig(AppConfig):
    name = "apps.snapshots"

    def ready(self) -> None:
        from apps.accounts.signals import account_deleting
        from apps.chats.signals import before_forced_write, chat_purged
        from apps.common.jobs import Kind, kinds
        from apps.snapshots import tasks
        from apps.snapshots.mirror import remove_account_from_mirror, remove_from_mirror
        from apps.snapshots.models import Restore, Snapshot
        from apps.snapshots.operations import (
            delete_automatic_snapshots,
            delete_snapshots,
            snapshot_before_forced_settings_write,
            snapshot_before_forced_write,
        )
        from apps.sync.signals import before_forced_settings_write

        kinds.register(Kind(Snapshot, "indexing", tasks.execute_snapshot, tasks.send_snapshot))
        kinds.register(Kind(Restore, "indexing", tasks.execute_restore, tasks.send_restore))
        account_deleting.connect(delete_snapshots)
        account_deleting.connect(remove_account_from_mirror)
        chat_purged.connect(delete_automatic_snapshots)
        chat_purged.connect(remove_from_mirror)
        before_forced_write.connect(snapshot_before_forced_write)
        before_forced_settings_write.connect(snapshot_before_forced_settings_write)
