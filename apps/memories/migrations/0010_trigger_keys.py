import django.contrib.postgres.indexes
from django.db import migrations, models

# A key is a trigger word of an owner as a number, so that the index leads to one owner's memories only. Who reads them
# as the restricted role can't have Postgres use an index of arrays, since the policy on the owner comes before their
# operators. The second function reads the index with the rights of the tables' role, and keeps to the owner itself.
# It looks each word up by itself: for all at once, the index compares each memory found with all words of the turn.
# A memory with several of the words is returned several times.
FUNCTIONS = """
CREATE FUNCTION trigger_keys(owner uuid, words varchar[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000
RETURN (
    SELECT coalesce(array_agg(hashtextextended(word, uuid_hash_extended(owner, 0))), '{}') FROM unnest(words) AS word
);

CREATE FUNCTION memories_with_trigger(owner uuid, words varchar[]) RETURNS SETOF uuid
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 50
BEGIN ATOMIC
    SELECT memory.id FROM unnest(trigger_keys(owner, words)) AS key CROSS JOIN LATERAL (
        SELECT id FROM memories_memory AS memory
        WHERE trigger_keys(memory.owner_id, memory.triggers) @> ARRAY[key] AND memory.owner_id = owner
    ) AS memory
    WHERE current_setting('role') <> 'loci_restricted' OR current_setting('loci.owner', true) = owner::text;
END;
"""
DROP_FUNCTIONS = "DROP FUNCTION memories_with_trigger(uuid, varchar[]); DROP FUNCTION trigger_keys(uuid, varchar[]);"


class Migration(migrations.Migration):
    dependencies = [("memories", "0009_memories_with_triggers")]

    operations = [
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func("owner", "triggers", function="trigger_keys"), name="memory_trigger_keys", fastupdate=False
            ),
        ),
        migrations.RemoveIndex(model_name="memory", name="memory_with_triggers"),
    ]
