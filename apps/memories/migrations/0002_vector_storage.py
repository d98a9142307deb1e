from django.db import migrations

# Vectors and lexemes stay in their rows, where searches read them several times as fast as from a table of long values.
INLINE = """
ALTER TABLE memories_memory SET (toast_tuple_target = 8160);
ALTER TABLE memories_memory ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE memories_journalentry SET (toast_tuple_target = 8160);
ALTER TABLE memories_journalentry ALTER COLUMN embedding SET STORAGE MAIN;
ALTER TABLE memories_passage SET (toast_tuple_target = 8160);
ALTER TABLE memories_passage
    ALTER COLUMN embedding SET STORAGE MAIN, ALTER COLUMN window_embedding SET STORAGE MAIN;
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [migrations.RunSQL(INLINE, migrations.RunSQL.noop)]
