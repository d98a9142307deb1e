from django.db import migrations

# As 0008: the migration before rewrote these tables, after which each search would read whole rows until a vacuum.
VACUUM = "VACUUM (ANALYZE) memories_memory, memories_journalentry, memories_passage"


class Migration(migrations.Migration):
    atomic = False  # a vacuum can't be part of a transaction
    dependencies = [("memories", "0014_saturated_terms")]

    operations = [migrations.RunSQL(VACUUM, migrations.RunSQL.noop)]
