"""Rewrite the lexemes of memories and journal entries, for words of any script. Extraction's 0003 does so for passages."""

from django.db import migrations

from apps.text.lexemes import Lexemes

BATCH = 500
TEXTS = {"memories_memory": "text", "memories_journalentry": "title || E'\\n' || text"}


def write_lexemes(apps, schema_editor):
    for table, text in TEXTS.items():
        last = "00000000-0000-0000-0000-000000000000"
        with schema_editor.connection.cursor() as cursor:
            while rows := batch_after(cursor, table, text, last):
                for row_id, row_text in rows:
                    sql, parameters = Lexemes(row_text).as_sql(None, None)
                    cursor.execute(f"UPDATE {table} SET lexemes = {sql} WHERE id = %s", [*parameters, row_id])
                last = rows[-1][0]


def batch_after(cursor, table, text, last):
    cursor.execute(
        f"SELECT id, {text} FROM {table} WHERE id > %s AND lexemes IS NOT NULL ORDER BY id LIMIT {BATCH}", [last]
    )
    return cursor.fetchall()


class Migration(migrations.Migration):
    dependencies = [("memories", "0012_namespaces_and_metadata")]

    operations = [migrations.RunPython(write_lexemes, migrations.RunPython.noop)]
