"""An application on SQLAlchemy 2: tables, ORM sessions, relations, reflection, DDL that is undone."""
import datetime
import decimal
import enum
import os
import uuid
from typing import Optional

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql as pg




class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(schema="store")


class Size(enum.Enum):
    small = 1
    large = 2


tagging = sa.Table(
    "tagging", Base.metadata, sa.Column("item_id", sa.ForeignKey("store.item.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("store.tag.id"), primary_key=True))


class Tag(Base):
    __tablename__ = "tag"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(20), unique=True)


class Maker(Base):
    __tablename__ = "maker"
    country: orm.Mapped[str] = orm.mapped_column(sa.CHAR(2), primary_key=True)
    nr: orm.Mapped[int] = orm.mapped_column(sa.SmallInteger, primary_key=True)
    name: orm.Mapped[str]
    items: orm.Mapped[list["Item"]] = orm.relationship(back_populates="maker", cascade="all, delete-orphan")


class Item(Base):
    __tablename__ = "item"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    key: orm.Mapped[uuid.UUID] = orm.mapped_column(default=uuid.uuid4)
    title: orm.Mapped[str] = orm.mapped_column(sa.Text, comment="what it is called")
    price: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(8, 2), server_default="1")
    size: orm.Mapped[Optional[Size]]
    made: orm.Mapped[Optional[datetime.date]]
    seen: orm.Mapped[datetime.datetime] = orm.mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())
    data: orm.Mapped[Optional[dict]] = orm.mapped_column(pg.JSONB)
    words: orm.Mapped[Optional[list[str]]] = orm.mapped_column(pg.ARRAY(sa.Text))
    span: orm.Mapped[Optional[object]] = orm.mapped_column(pg.INT4RANGE)
    blob: orm.Mapped[Optional[bytes]]
    country: orm.Mapped[Optional[str]] = orm.mapped_column(sa.CHAR(2))
    maker_nr: orm.Mapped[Optional[int]] = orm.mapped_column(sa.SmallInteger)
    twice: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(9, 2), sa.Computed("price * 2", persisted=True))
    maker: orm.Mapped[Optional[Maker]] = orm.relationship(back_populates="items")
    tags: orm.Mapped[list[Tag]] = orm.relationship(secondary=tagging)
    __table_args__ = (
        sa.ForeignKeyConstraint(["country", "maker_nr"], ["store.maker.country", "store.maker.nr"], name="made_by", onupdate="CASCADE"),
        sa.CheckConstraint("price >= 0", name="not_negative"),
        sa.UniqueConstraint("title", "made", name="once"),
        sa.Index("item_lower", sa.text("lower(title)"), postgresql_where=sa.text("price > 1")),
        sa.Index("item_price", sa.desc("price"), postgresql_include=["title"]),
        {"comment": "what is sold"})


def fill(engine):
    with orm.Session(engine) as s, s.begin():
        tags = [Tag(name=n) for n in ("new", "old", "red")]
        maker = Maker(country="NL", nr=7, name="Olifant & Co")
        for i in range(50):
            maker.items.append(Item(
                title=f"item {i:02}", price=decimal.Decimal(i) / 4, size=Size.large if i % 2 else None,
                made=datetime.date(2024, 1, 1) + datetime.timedelta(days=i), data={"n": i, "tags": ["x"] * (i % 3)},
                words=["a", None, f"w{i}"], span=pg.Range(i, i + 10), blob=bytes([i]), tags=tags[: i % 4]))
        s.add(maker)
    with orm.Session(engine) as s:
        item = s.scalars(sa.select(Item).where(Item.title == "item 07").options(orm.selectinload(Item.tags))).one()
        assert (item.price, item.twice, item.size) == (decimal.Decimal("1.75"), decimal.Decimal("3.50"), Size.large)
        assert item.words == ["a", None, "w7"] and item.blob == b"\x07" and item.data == {"n": 7, "tags": ["x"]}
        assert (item.span.lower, item.span.upper) == (7, 17) and item.seen.tzinfo is not None
        assert sorted(t.name for t in item.tags) == ["new", "old", "red"] and item.maker.name == "Olifant & Co"


def query(engine):
    with orm.Session(engine) as s:
        rows = s.execute(
            sa.select(Tag.name, sa.func.count(), sa.func.sum(Item.price).filter(Item.size == Size.large))
            .join(Item.tags).group_by(Tag.name).having(sa.func.count() > 1).order_by(Tag.name)).all()
        assert [(r[0], r[1]) for r in rows] == [("new", 37), ("old", 24), ("red", 12)], rows
        ranked = sa.select(Item.id, sa.func.rank().over(partition_by=Item.size, order_by=Item.price.desc()).label("r")).subquery()
        assert s.scalar(sa.select(sa.func.count()).select_from(ranked).where(ranked.c.r <= 3)) == 6
        tree = sa.select(sa.literal(1).label("n")).cte(recursive=True)
        tree = tree.union_all(sa.select(tree.c.n + 1).where(tree.c.n < 10))
        assert s.scalar(sa.select(sa.func.sum(tree.c.n))) == 55
        assert s.scalar(sa.select(sa.func.count()).where(Item.data["n"].as_integer() < 5)) == 5
        assert s.scalar(sa.select(sa.func.count()).where(Item.data.contains({"tags": ["x"]}))) > 10
        assert s.scalar(sa.select(sa.func.count()).where(Item.words.any("w3"))) == 1
        assert s.scalar(sa.select(Item.title).where(Item.title.ilike("ITEM 1%")).order_by(Item.id).limit(1).offset(2)) == "item 12"
        assert s.execute(sa.select(sa.exists().where(Item.price > 1000))).scalar() is False
        upsert = pg.insert(Tag).values([{"name": "new"}, {"name": "blue"}])
        upsert = upsert.on_conflict_do_update(index_elements=["name"], set_={"name": sa.func.upper(upsert.excluded.name)}).returning(Tag.name)
        assert sorted(s.scalars(upsert)) == ["NEW", "blue"]
        s.rollback()
        locked = s.scalars(sa.select(Item).where(Item.id < 4).with_for_update(skip_locked=True)).all()
        locked[0].title = "changed"
        s.flush()
        try:
            with s.begin_nested():
                s.add(Item(title="bad", price=-1))
        except sa.exc.IntegrityError as e:
            assert e.orig.sqlstate == "23514"
        s.commit()
        assert s.scalar(sa.select(sa.func.count()).where(Item.title == "changed")) == 1
        s.execute(sa.update(Item).where(Item.id > 45).values(price=Item.price * 2))
        assert len(s.execute(sa.delete(Item).where(Item.id > 48).returning(Item.id)).all()) == 2
        s.commit()
        for part in s.execute(sa.select(Item).order_by(Item.id).execution_options(yield_per=10)).partitions():
            assert len(part) <= 10


def reflect(engine):
    i = sa.inspect(engine)
    assert sorted(i.get_table_names("store")) == ["item", "maker", "tag", "tagging"], i.get_table_names("store")
    assert i.get_pk_constraint("maker", "store")["constrained_columns"] == ["country", "nr"]
    [key] = i.get_foreign_keys("item", "store")
    assert (key["name"], key["constrained_columns"], key["referred_table"], key["options"]) == \
        ("made_by", ["country", "maker_nr"], "maker", {"onupdate": "CASCADE"}), key
    indexes = {x["name"]: x for x in i.get_indexes("item", "store")}
    assert indexes["item_lower"]["expressions"] == ["lower(title)"], indexes
    assert indexes["item_price"]["include_columns"] == ["title"] and indexes["once"]["unique"], indexes
    assert [c["name"] for c in i.get_check_constraints("item", "store")] == ["not_negative"]
    assert [c["name"] for c in i.get_unique_constraints("item", "store")] == ["once"]
    assert i.get_table_comment("item", "store") == {"text": "what is sold"}
    assert {e["name"]: e["labels"] for e in i.get_enums()} == {"size": ["small", "large"]}, i.get_enums()
    columns = {c["name"]: c for c in i.get_columns("item", "store")}
    assert columns["twice"]["computed"] == {"sqltext": "(price * (2)::numeric)", "persisted": True}, columns["twice"]
    assert columns["title"]["comment"] == "what it is called" and not columns["title"]["nullable"]
    assert str(columns["words"]["type"]) == "ARRAY" and str(columns["price"]["type"]) == "NUMERIC(8, 2)"
    assert i.get_columns("tag", "store")[0]["identity"]["always"] is False
    assert i.get_view_names("store") == ["cheap"] and "price < " in i.get_view_definition("cheap", "store")
    again = sa.MetaData(schema="store")
    again.reflect(engine)
    assert sorted(again.tables) == ["store.item", "store.maker", "store.tag", "store.tagging"]
    with engine.connect() as c:
        assert c.execute(sa.select(sa.func.count()).select_from(again.tables["store.item"])).scalar() == 48


def main():
    url = sa.URL.create(f"postgresql+psycopg", os.environ["PGUSER"], os.environ.get("PGPASSWORD"), os.environ["PGHOST"],
                        int(os.environ["PGPORT"]), os.environ["PGDATABASE"])
    engine = sa.create_engine(url)
    assert engine.dialect is not None
    with engine.begin() as c:
        assert c.dialect.server_version_info[0] == 18
        c.execute(sa.schema.CreateSchema("store"))
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)  # finds that all is there
    with engine.begin() as c:
        c.execute(sa.text("CREATE VIEW store.cheap AS SELECT id, title FROM store.item WHERE price < 5"))
    fill(engine)
    query(engine)
    reflect(engine)
    with engine.connect() as c:
        with c.begin() as t:
            sa.Table("brief", sa.MetaData(schema="store"), sa.Column("a", sa.BigInteger, primary_key=True)).create(c)
            t.rollback()
    assert not sa.inspect(engine).has_table("brief", "store")
    with engine.begin() as c:
        c.execute(sa.text("DROP VIEW store.cheap"))
    Base.metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names("store") == []
    assert sa.inspect(engine).get_enums() == []


main()
print("sqlalchemy: ok")
