"""What runs read and what models replied before stands where it stands from now on."""

from django.db import migrations

_REPLIES = """
INSERT INTO memories_modelcall
    (id, owner_id, run_id, stage, task, reply, reasoning, error, prompt_tokens, completion_tokens, seconds, at)
SELECT gen_random_uuid(), owner_id, run_id, stage, stage, reply, '', '', 0, 0, 0, finished_at
FROM memories_runstep WHERE reply <> ''
"""
_WINDOWS = "UPDATE memories_runstep SET \"window\" = 'step ' || position"
_READINGS = """
INSERT INTO memories_reading (id, owner_id, chat_id, message_id, fingerprint, tiers)
SELECT gen_random_uuid(), message.owner_id, message.chat_id, message.id,
       md5(concat_ws('|', swipe.id, message.is_system, message.is_user, message.name, swipe.mes)), read.tiers
FROM (
    SELECT between_ends.id, array_agg(DISTINCT step.stage::text) AS tiers
    FROM memories_runstep AS step
    JOIN chats_message AS first ON first.id = step.first_id
    JOIN chats_message AS last ON last.id = step.last_id
    JOIN chats_message AS between_ends
        ON between_ends.chat_id = first.chat_id AND between_ends.index BETWEEN first.index AND last.index
    GROUP BY between_ends.id
) AS read
JOIN chats_message AS message ON message.id = read.id
JOIN chats_swipe AS swipe ON swipe.message_id = message.id AND swipe.position = message.swipe_id
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_memory_engine")]

    operations = [
        migrations.RunSQL(statement, migrations.RunSQL.noop) for statement in (_REPLIES, _WINDOWS, _READINGS)
    ]
