from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chats', '0003_withheld_of_all_kinds'),
    ]

    operations = [
        migrations.AddField(
            model_name='chatchange',
            name='replaced_keys',
            field=ArrayField(base_field=models.TextField(), db_default=[], default=list, help_text='Keys of which metadata holds the value instead of a patch, which can hold no null.', size=None),
        ),
        migrations.AlterField(
            model_name='chatchange',
            name='metadata_replaced',
            field=models.BooleanField(default=False, help_text='metadata holds all metadata, not a merge patch. Of old entries.'),
        ),
    ]
