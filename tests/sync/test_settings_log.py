"""Test the trimming of the change logs of settings."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.common.documents.patches import DocumentPatch
from apps.sync.models import SettingsChange
from apps.sync.settings_documents import SettingsConflict, patch_settings, read_settings, trim_log


def test_old_entries_are_deleted_except_the_last_ones(db: None, settings: Any) -> None:
    settings.CHANGE_LOG_DAYS, settings.CHANGE_LOG_MIN = 30, 2
    alice, bob = (User.objects.create_user(f"{name}@example.com") for name in ("alice", "bob"))
    first = read_settings(alice).integrity
    for number in range(5):
        patch_settings(alice, DocumentPatch(merge={"n": number}), Guard(force=True))
    patch_settings(bob, DocumentPatch(merge={"n": 1}), Guard(force=True))
    for owner in (alice, bob):
        SettingsChange.objects.for_owner(owner).update(at=timezone.now() - dt.timedelta(days=31))
    assert trim_log(timezone.now()) == 4
    assert sorted(SettingsChange.objects.for_owner(alice).values_list("rev", flat=True)) == [4, 5]
    assert SettingsChange.objects.for_owner(bob).count() == 2
    assert read_settings(alice).values == {"n": 4}
    with pytest.raises(SettingsConflict):
        patch_settings(alice, DocumentPatch(merge={"other": 1}), Guard(first, rebase=True))
