import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models
from django.utils import timezone


def count(apps, schema_editor):
    assert apps.get_model("shop", "Book").objects.count() == 0


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AlterField("author", "name", models.CharField(max_length=50)),
        migrations.RenameField("book", "name", "title"),
        migrations.AlterField("book", "title", models.CharField(max_length=100, unique=True)),
        migrations.AlterField("book", "price", models.DecimalField(max_digits=8, decimal_places=2)),
        migrations.AddField("book", "published", models.DateField(null=True)),
        migrations.AddField("book", "data", models.JSONField(default=dict)),
        migrations.AddField("book", "added", models.DateTimeField(auto_now_add=True, default=timezone.now), preserve_default=False),
        migrations.CreateModel("Review", [
            ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ("stars", models.SmallIntegerField()),
            ("text", models.TextField(blank=True, default="")),
            ("book", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="shop.book"))]),
        migrations.AddIndex("book", django.contrib.postgres.indexes.BTreeIndex("published", "price", name="book_published")),
        migrations.AddIndex("book", models.Index(fields=["-price"], condition=models.Q(price__gt=10), name="book_dear")),
        migrations.AddConstraint("book", models.CheckConstraint(condition=models.Q(price__gte=0), name="price_positive")),
        migrations.RunPython(count, migrations.RunPython.noop),
    ]
