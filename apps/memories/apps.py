from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    name = "apps.memories"

    def ready(self) -> None:
        from apps.chats.operations.attachments import Attachment, attachments
        from apps.chats.signals import character_renamed, characters_merged, chat_deleted, chat_purged, chat_restored
        from apps.memories.operations import bin, characters
        from apps.memories.operations.restoring import restore_sources, save_sources

        attachments.register(Attachment("sources", save_sources, restore_sources))
        chat_deleted.connect(bin.on_bin_changed)
        chat_restored.connect(bin.on_bin_changed)
        chat_purged.connect(bin.on_chat_purged)
        character_renamed.connect(characters.on_character_renamed)
        characters_merged.connect(characters.on_characters_merged)
