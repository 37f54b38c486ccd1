//! Statistics of one column.

use super::{FLOAT4_ARRAY, Given, Named, missing, named, relation, required, warn};
use crate::StatementEnv;
use base::{Oid, Result, bail, err};
use catalog::{RelationDesc, RowStore, RowWriter, SysRow, indexes, oids};
use functions::{CallInfo, FnEnv};
use types::array::{ArrayRef, ElemType, make_vector};
use types::{Datum, oid};

const ARGUMENTS: &[Named] = &[
    named("schemaname", oid::TEXT),
    named("relname", oid::TEXT),
    named("attname", oid::TEXT),
    named("attnum", oid::INT2),
    named("inherited", oid::BOOL),
    named("null_frac", oid::FLOAT4),
    named("avg_width", oid::INT4),
    named("n_distinct", oid::FLOAT4),
    named("most_common_vals", oid::TEXT),
    named("most_common_freqs", FLOAT4_ARRAY),
    named("histogram_bounds", oid::TEXT),
    named("correlation", oid::FLOAT4),
    named("most_common_elems", oid::TEXT),
    named("most_common_elem_freqs", FLOAT4_ARRAY),
    named("elem_count_histogram", FLOAT4_ARRAY),
    named("range_length_histogram", oid::TEXT),
    named("range_empty_frac", oid::FLOAT4),
    named("range_bounds_histogram", oid::TEXT),
];

/// Kinds of statistics, as `pg_statistic` numbers them.
mod kind {
    pub const MCV: i16 = 1;
    pub const HISTOGRAM: i16 = 2;
    pub const CORRELATION: i16 = 3;
    pub const MCELEM: i16 = 4;
    pub const ELEM_COUNT: i16 = 5;
    pub const RANGE_LENGTH: i16 = 6;
    pub const BOUNDS: i16 = 7;
}

/// `<` of double precision.
const FLOAT8_LESS: Oid = Oid(672);

/// What a kind of statistic holds.
struct Slot {
    kind: i16,
    operator: Oid,
    collation: Oid,
    numbers: Option<Datum>,
    values: Option<Datum>,
}

/// The column, and how its values compare.
struct Column {
    name: String,
    ty: Oid,
    typmod: i32,
    kind: u8,
    collation: Oid,
    eq: Option<Oid>,
    lt: Option<Oid>,
}

fn operator(env: &StatementEnv<'_>, ty: Oid, strategy: i16) -> Result<Option<Oid>> {
    if let Some(class) = env.view.default_opclass(ty, oids::BTREE_AM)? {
        let t = class.input_type;
        return env.view.amop(class.family, t, t, strategy);
    }
    let Some(class) = env.view.default_opclass(ty, Oid(405))?.filter(|_| strategy == 3) else {
        return Ok(None);
    };
    env.view.amop(class.family, class.input_type, class.input_type, 1)
}

impl Column {
    fn of(env: &StatementEnv<'_>, rel: &RelationDesc, attnum: i16) -> Result<Column> {
        let attr = &rel.tuple.attrs[attnum as usize - 1];
        let mut ty = env.view.type_(attr.type_oid)?;
        while ty.kind == b'd' {
            ty = env.view.type_(ty.base_type)?;
        }
        let ts = ty.oid == oid::TSVECTOR;
        Ok(Column {
            name: attr.name.to_string(),
            ty: ty.oid,
            typmod: attr.typmod,
            kind: ty.kind,
            collation: if ts { oids::DEFAULT_COLLATION } else { attr.collation },
            eq: operator(env, ty.oid, 3)?,
            lt: operator(env, ty.oid, 1)?,
        })
    }

    /// What arrays and documents consist of, and its equality.
    fn element(&self, env: &StatementEnv<'_>) -> Result<Option<(Oid, Oid)>> {
        let elem = match env.view.type_(self.ty)? {
            _ if self.ty == oid::TSVECTOR => oid::TEXT,
            t if t.is_array() => t.elem,
            _ => return Ok(None),
        };
        Ok(operator(env, elem, 3)?.map(|eq| (elem, eq)))
    }
}

fn column_number(given: &Given, rel: &RelationDesc) -> Result<i16> {
    let name = given.text("attname");
    let number = given.get("attnum");
    let found = match (name, number) {
        (Some(_), Some(_)) => {
            bail!(INVALID_PARAMETER_VALUE, "cannot specify both \"attname\" and \"attnum\"")
        }
        (Some(name), None) => number_of(rel, name)?,
        (None, Some(Datum::I16(n))) => {
            let attrs = &rel.tuple.attrs;
            match usize::try_from(*n).ok().and_then(|n| attrs.get(n.checked_sub(1)?)) {
                Some(attr) if !attr.dropped => *n,
                _ if *n < 0 => *n,
                _ => bail!(
                    UNDEFINED_COLUMN,
                    "column {n} of relation \"{}\" does not exist",
                    rel.name
                ),
            }
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "must specify either \"attname\" or \"attnum\""),
    };
    if found < 0 {
        let shown = name.map_or_else(|| found.to_string(), str::to_string);
        bail!(FEATURE_NOT_SUPPORTED, "cannot modify statistics on system column \"{shown}\"");
    }
    Ok(found)
}

fn number_of(rel: &RelationDesc, name: &str) -> Result<i16> {
    if let Some(i) = rel.tuple.attrs.iter().position(|a| !a.dropped && *a.name == *name) {
        return Ok(i as i16 + 1);
    }
    match name {
        "ctid" | "xmin" | "cmin" | "xmax" | "cmax" | "tableoid" => Ok(-1),
        _ => Err(err!(
            UNDEFINED_COLUMN,
            "column \"{name}\" of relation \"{}\" does not exist",
            rel.name
        )),
    }
}

/// The arguments of one call, checked as they are used.
struct Restore<'a> {
    env: &'a StatementEnv<'a>,
    given: Given,
    slots: Vec<Slot>,
}

/// `pg_restore_attribute_stats`.
pub fn restore(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Result<Datum> {
    let given = Given::read(env, call, args, ARGUMENTS)?;
    let rel =
        relation(env, given.require("schemaname")?.as_str(), given.require("relname")?.as_str())?;
    let attnum = column_number(&given, &rel)?;
    let Datum::Bool(inherited) = *given.require("inherited")? else {
        return Err(missing("inherited"));
    };
    let column = Column::of(env, &rel, attnum)?;
    let mut work = Restore { env, given, slots: Vec::new() };
    work.scalars(&column)?;
    work.elements(&column)?;
    work.ranges(&column)?;
    let right = work.given.right;
    store(env, (rel.oid, attnum, inherited), &work)?;
    Ok(Datum::Bool(right))
}

/// The statistics that can be set for a column, once those that fail are told.
impl Restore<'_> {
    fn wrong(&mut self, text: String, detail: Option<&str>) {
        warn(self.env, text, detail);
        self.given.right = false;
    }

    /// An array of numbers: of one dimension and without nulls.
    fn numbers(&mut self, name: &'static str) -> Option<Datum> {
        let value = self.given.get(name)?.clone();
        let Ok(array) = ArrayRef::parse(value.as_bytes()) else { return None };
        let fault = match array.dims.len() {
            1 if array.has_nulls() => "array must not contain null values",
            1 => return Some(value),
            _ => "must not be a multidimensional array",
        };
        self.wrong(format!("argument \"{name}\" {fault}"), None);
        None
    }

    /// Two that go together: true if both are there.
    fn pair(&mut self, a: (&str, bool), b: (&str, bool)) -> bool {
        let told = match (a.1, b.1) {
            (true, true) => return true,
            (false, false) => return false,
            (true, false) => (b.0, a.0),
            (false, true) => (a.0, b.0),
        };
        let text = format!(
            "argument \"{}\" must be specified when argument \"{}\" is specified",
            told.0, told.1
        );
        self.wrong(text, None);
        false
    }

    /// The text of an array of values of a type.
    fn values(&mut self, name: &'static str, elem: Oid, typmod: i32) -> Result<Option<Datum>> {
        let Some(text) = self.given.text(name).map(str::to_string) else { return Ok(None) };
        let value = match types::io::array_of(elem, &text, typmod, &self.env.io()) {
            Ok(value) => value,
            Err(e) => {
                let f = e.fields();
                self.wrong(f.message.clone(), f.detail.as_deref());
                return Ok(None);
            }
        };
        let parsed = ArrayRef::parse(value.as_bytes())?;
        let fault = match parsed.dims.len() {
            1 if parsed.has_nulls() => "array must not contain null values",
            1 => return Ok(Some(value)),
            _ => "must be a one-dimensional array",
        };
        self.wrong(format!("\"{name}\" {fault}"), None);
        Ok(None)
    }

    fn same_number(&mut self, of: [&str; 2], a: &Datum, b: &Datum) -> Result<bool> {
        let n = |d: &Datum| ArrayRef::parse(d.as_bytes()).map(|a| a.len());
        if n(a)? == n(b)? {
            return Ok(true);
        }
        let [values, numbers] = of;
        self.wrong(
            format!(
                "could not parse \"{values}\": incorrect number of elements (same as \
                 \"{numbers}\" required)"
            ),
            None,
        );
        Ok(false)
    }

    fn scalars(&mut self, column: &Column) -> Result<()> {
        let present = self.given.get("most_common_vals").is_some();
        let frequencies = self.given.get("most_common_freqs").is_some();
        let numbers = self.numbers("most_common_freqs");
        let both = frequencies == numbers.is_some()
            && self.pair(("most_common_vals", present), ("most_common_freqs", frequencies));
        if let (true, Some(numbers)) = (both, numbers)
            && let Some(values) = self.values("most_common_vals", column.ty, column.typmod)?
            && self.same_number(["most_common_vals", "most_common_freqs"], &values, &numbers)?
        {
            self.slot(kind::MCV, column.eq, column, Some(numbers), Some(values));
        }
        let histogram = self.given.get("histogram_bounds").is_some();
        let correlation = self.given.get("correlation").cloned();
        if (histogram || correlation.is_some()) && column.lt.is_none() {
            self.wrong(
                format!("could not determine less-than operator for column \"{}\"", column.name),
                Some("Cannot set STATISTIC_KIND_HISTOGRAM or STATISTIC_KIND_CORRELATION."),
            );
            return Ok(());
        }
        if let Some(values) = self.values("histogram_bounds", column.ty, column.typmod)? {
            self.slot(kind::HISTOGRAM, column.lt, column, None, Some(values));
        }
        if let Some(c) = correlation {
            let numbers = make_vector(&ElemType::builtin(oid::FLOAT4), &[c])?;
            self.slot(kind::CORRELATION, column.lt, column, Some(numbers), None);
        }
        Ok(())
    }

    fn elements(&mut self, column: &Column) -> Result<()> {
        let values = self.given.get("most_common_elems").is_some();
        let frequencies = self.given.get("most_common_elem_freqs").is_some();
        let numbers = self.numbers("most_common_elem_freqs");
        let counts = self.numbers("elem_count_histogram");
        let both = frequencies == numbers.is_some()
            && self.pair(("most_common_elems", values), ("most_common_elem_freqs", frequencies));
        if !both && counts.is_none() {
            return Ok(());
        }
        let Some((elem, eq)) = column.element(self.env)? else {
            self.wrong(
                format!("could not determine element type of column \"{}\"", column.name),
                Some("Cannot set STATISTIC_KIND_MCELEM or STATISTIC_KIND_DECHIST."),
            );
            return Ok(());
        };
        if let (true, Some(numbers)) = (both, numbers)
            && let Some(values) = self.values("most_common_elems", elem, column.typmod)?
        {
            self.slot(kind::MCELEM, Some(eq), column, Some(numbers), Some(values));
        }
        if counts.is_some() {
            self.slot(kind::ELEM_COUNT, Some(eq), column, counts, None);
        }
        Ok(())
    }

    fn ranges(&mut self, column: &Column) -> Result<()> {
        let lengths = self.given.get("range_length_histogram").is_some();
        let empty = self.given.get("range_empty_frac").cloned();
        let both =
            self.pair(("range_length_histogram", lengths), ("range_empty_frac", empty.is_some()));
        let bounds = self.given.get("range_bounds_histogram").is_some();
        if !both && !bounds {
            return Ok(());
        }
        if !matches!(column.kind, b'r' | b'm') {
            self.wrong(
                format!("column \"{}\" is not a range type", column.name),
                Some(
                    "Cannot set STATISTIC_KIND_RANGE_LENGTH_HISTOGRAM or \
                     STATISTIC_KIND_BOUNDS_HISTOGRAM.",
                ),
            );
            return Ok(());
        }
        let none = Column { collation: Oid::INVALID, name: String::new(), ..*column };
        if bounds {
            // Those of a multirange are of its ranges.
            let range = match column.kind {
                b'm' => self.range_of(column.ty)?,
                _ => column.ty,
            };
            if let Some(values) = self.values("range_bounds_histogram", range, column.typmod)? {
                self.slot(kind::BOUNDS, None, &none, None, Some(values));
            }
        }
        if let (true, Some(empty)) = (both, empty)
            && let Some(values) = self.values("range_length_histogram", oid::FLOAT8, -1)?
        {
            let numbers = make_vector(&ElemType::builtin(oid::FLOAT4), &[empty])?;
            let (numbers, less) = (Some(numbers), Some(FLOAT8_LESS));
            self.slot(kind::RANGE_LENGTH, less, &none, numbers, Some(values));
        }
        Ok(())
    }

    fn range_of(&self, multirange: Oid) -> Result<Oid> {
        let info = self.env.io().lookup.type_info(multirange);
        Ok(info.map_or(multirange, |i| i.base))
    }

    fn slot(
        &mut self,
        kind: i16,
        operator: Option<Oid>,
        column: &Column,
        numbers: Option<Datum>,
        values: Option<Datum>,
    ) {
        let operator = operator.unwrap_or(Oid::INVALID);
        let collation = column.collation;
        self.slots.push(Slot { kind, operator, collation, numbers, values });
    }
}

/// Puts the statistics in the column's row, beside those that it has.
fn store(env: &StatementEnv<'_>, of: (Oid, i16, bool), work: &Restore<'_>) -> Result<()> {
    const SLOTS: usize = 5;
    let (rel, attnum, inherited) = of;
    let rows = &env.core.store;
    let key = [Datum::U32(rel.0), Datum::I16(attnum), Datum::Bool(inherited)];
    let old = rows.index_scan(indexes::PG_STATISTIC_RELID, &key)?.into_iter().next();
    let is_new = old.is_none();
    let mut row = match old {
        Some(row) => row,
        None => SysRow::new(oids::PG_STATISTIC)?,
    };
    if is_new {
        row.set_oid("starelid", rel)?.set_i16("staattnum", attnum)?;
        row.set_bool("stainherit", inherited)?;
        row.set_f32("stanullfrac", 0.0)?.set_i32("stawidth", 0)?.set_f32("stadistinct", 0.0)?;
    }
    let scalars =
        [("null_frac", "stanullfrac"), ("avg_width", "stawidth"), ("n_distinct", "stadistinct")];
    for (name, column) in scalars {
        if let Some(value) = work.given.get(name) {
            row.set(column, value.clone())?;
        }
    }
    for slot in &work.slots {
        let kind_at = |row: &SysRow, n: usize| match row.get(&format!("stakind{n}")) {
            Ok(Datum::I16(kind)) => *kind,
            _ => 0,
        };
        let free = (1..=SLOTS)
            .find(|n| kind_at(&row, *n) == slot.kind)
            .or_else(|| (1..=SLOTS).find(|n| kind_at(&row, *n) == 0));
        let Some(n) = free else {
            bail!(TOO_MANY_COLUMNS, "maximum number of statistics slots exceeded: {}", SLOTS + 1);
        };
        row.set_i16(&format!("stakind{n}"), slot.kind)?
            .set_oid(&format!("staop{n}"), slot.operator)?
            .set_oid(&format!("stacoll{n}"), slot.collation)?;
        row.set(&format!("stanumbers{n}"), slot.numbers.clone().unwrap_or_default())?;
        row.set(&format!("stavalues{n}"), slot.values.clone().unwrap_or_default())?;
    }
    match is_new {
        true => rows.insert(row)?,
        false => rows.update(row)?,
    };
    Ok(())
}

/// `pg_clear_attribute_stats`.
pub fn clear(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Datum> {
    let schema = required(args, 0, "schemaname")?.as_str();
    let rel = relation(env, schema, required(args, 1, "relname")?.as_str())?;
    let name = required(args, 2, "attname")?.as_str();
    let attnum = number_of(&rel, name)?;
    if attnum < 0 {
        bail!(FEATURE_NOT_SUPPORTED, "cannot clear statistics on system column \"{name}\"");
    }
    let inherited = required(args, 3, "inherited")?;
    let rows = &env.core.store;
    let key = [Datum::U32(rel.oid.0), Datum::I16(attnum), inherited.clone()];
    for row in rows.index_scan(indexes::PG_STATISTIC_RELID, &key)? {
        rows.delete(&row)?;
    }
    Ok(Datum::text(""))
}
