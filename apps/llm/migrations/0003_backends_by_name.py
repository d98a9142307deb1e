from django.db import migrations, models

import apps.llm.apis


class Migration(migrations.Migration):

    dependencies = [
        ('llm', '0002_constrains_replies'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='connection',
            name='connection_backend',
        ),
        migrations.AlterField(
            model_name='connection',
            name='backend',
            field=models.CharField(choices=apps.llm.apis.backend_choices, default='openai', max_length=16),
        ),
    ]
