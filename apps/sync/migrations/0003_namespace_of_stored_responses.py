from django.db import migrations, models


class Migration(migrations.Migration):
    """Responses that are already stored count as those of tokens bound to no namespace: any erasure drops them."""

    dependencies = [("sync", "0002_streams_are_leases")]

    operations = [
        migrations.AddField(
            model_name="idempotencyrecord",
            name="namespace",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="That the token is bound to; empty if it is bound to none.",
                max_length=255,
            ),
        ),
    ]
