import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("common", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Lease",
            fields=[
                ("key", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("ends", django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(), size=None)),
            ],
        ),
        # What is under way may be forgotten in a crash, and each request writes it twice.
        migrations.RunSQL("ALTER TABLE common_lease SET UNLOGGED", migrations.RunSQL.noop),
    ]
