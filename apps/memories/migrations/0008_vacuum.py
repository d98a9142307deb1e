from django.db import migrations

# The migration before rewrote these tables, after which Postgres knows of no page that all may see: each search would
# count the words of speakers by reading whole rows until, perhaps weeks later, an automatic vacuum.
VACUUM = "VACUUM (ANALYZE) memories_memory, memories_journalentry, memories_passage"


class Migration(migrations.Migration):
    atomic = False  # a vacuum can't be part of a transaction
    dependencies = [("memories", "0007_search_terms")]

    operations = [migrations.RunSQL(VACUUM, migrations.RunSQL.noop)]
