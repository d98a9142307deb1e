"""Have the messages of all chats indexed again in the background: their words are divided as their script demands."""

from django.db import migrations

QUEUE = """
INSERT INTO extraction_indexjob
    (id, owner_id, chat_id, state, done, total, error, claims, created_at)
SELECT gen_random_uuid(), owner_id, id, 'queued', 0, 0, '', 0, now() FROM chats_chat
WHERE deleted_at IS NULL AND EXISTS (SELECT FROM memories_passage WHERE chat_id = chats_chat.id)
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("extraction", "0002_asked"), ("memories", "0013_words_of_any_script")]

    operations = [migrations.RunSQL(QUEUE, migrations.RunSQL.noop)]
