from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BTreeIndex
from django.db import models


class Author(models.Model):
    name = models.CharField(max_length=50)

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=100, unique=True)
    author = models.ForeignKey(Author, models.CASCADE)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    published = models.DateField(null=True)
    tags = ArrayField(models.CharField(max_length=10), default=list)
    data = models.JSONField(default=dict)
    added = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [BTreeIndex("published", "price", name="book_published"),
                   models.Index(fields=["-price"], condition=models.Q(price__gt=10), name="book_dear")]
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="price_positive")]


class Review(models.Model):
    book = models.ForeignKey(Book, models.CASCADE)
    stars = models.SmallIntegerField()
    text = models.TextField(blank=True, default="")
