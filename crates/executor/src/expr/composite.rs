//! Arrays and rows in expressions.

use super::compare::Ordering_;
use super::compile::flags;
use super::{ExprCompiler, Kind, Prog, RowInput, VarMap};
use crate::run::{CaseValue, Run};
use base::{Error, Oid, Result, bail};
use ir::{Expr, RowCompareOp};
use types::array::{ArrayRef, ElemType, make_array, make_vector};
use types::io::TypeInfo;
use types::record::{Record, RecordColumn};
use types::{Datum, oid};

/// How elements are held in an array of some type.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub ty: Oid,
    elem: ElemType,
}

impl Element {
    /// The element type's facts.
    pub fn of_type(c: &ExprCompiler, ty: Oid) -> Result<Element> {
        let t = c.catalog.type_(ty)?;
        let align = match t.align {
            b'c' => 1,
            b's' => 2,
            b'i' => 4,
            _ => 8,
        };
        let info = TypeInfo {
            oid: ty,
            name: t.name.clone(),
            len: t.len,
            byval: t.by_val,
            align,
            storage: t.storage,
            phys: c.phys(ty)?,
            typtype: t.kind,
            category: t.category,
            delim: t.delim,
            elem: t.elem,
            array: t.array,
            base: t.base_type,
            base_typmod: t.typmod,
            relid: t.relation,
            collation: t.collation,
        };
        Ok(Element { ty, elem: ElemType::new(&info) })
    }

    /// The facts of an array type's element type.
    pub fn of_array(c: &ExprCompiler, array: Oid) -> Result<Element> {
        let mut t = c.catalog.type_(array)?;
        while t.kind == b'd' {
            t = c.catalog.type_(t.base_type)?;
        }
        if !t.elem.is_valid() {
            return Element::of_type(c, oid::TEXT);
        }
        Element::of_type(c, t.elem)
    }

    /// How elements are held.
    pub fn elem_phys(&self) -> types::PhysType {
        self.elem.phys()
    }

    /// An array of arrays of one shape: one dimension more.
    pub fn stack(&self, arrays: &[Datum]) -> Result<Datum> {
        let mut shape: Option<(Vec<i32>, Vec<i32>)> = None;
        let mut values = Vec::new();
        for array in arrays {
            if array.is_null() {
                bail!(NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays");
            }
            let parts = ArrayRef::parse(array.as_bytes())?;
            if parts.dims.is_empty() {
                bail!(ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays");
            }
            match &shape {
                None => shape = Some((parts.dims.clone(), parts.lbounds.clone())),
                Some((dims, _)) if *dims != parts.dims => bail!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "cannot accumulate arrays of different dimensionality"
                ),
                Some(_) => {}
            }
            values.extend(parts.values(&self.elem)?);
        }
        let Some((dims, lbounds)) = shape else { return self.make(&[]) };
        let dims = [&[arrays.len() as i32][..], &dims].concat();
        let lbounds = [&[1][..], &lbounds].concat();
        make_array(&self.elem, &values, &dims, &lbounds).map(Datum::bytes)
    }

    /// The elements of an array, in storage order.
    pub fn elements(&self, array: &Datum) -> Result<Vec<Datum>> {
        ArrayRef::parse(array.as_bytes())?.values(&self.elem)
    }

    /// The element at these subscripts; NULL if there is none.
    pub fn at(&self, array: &Datum, subscripts: &[i32]) -> Result<Datum> {
        types::array::element_at(array.as_bytes(), &self.elem, subscripts)
    }

    /// How many elements an array has.
    pub fn count(&self, array: &Datum) -> Result<usize> {
        Ok(ArrayRef::parse(array.as_bytes())?.len())
    }

    /// A one-dimensional array.
    pub fn make(&self, values: &[Datum]) -> Result<Datum> {
        make_vector(&self.elem, values)
    }

    /// An array of these elements with the dimensions of another.
    pub fn with_shape_of(&self, array: &Datum, values: Vec<Datum>) -> Result<Datum> {
        let old = ArrayRef::parse(array.as_bytes())?;
        make_array(&self.elem, &values, &old.dims, &old.lbounds).map(Datum::bytes)
    }

    /// An array of these dimensions.
    pub fn make_shaped(&self, values: &[Datum], dims: &[i32], lbounds: &[i32]) -> Result<Datum> {
        make_array(&self.elem, values, dims, lbounds).map(Datum::bytes)
    }

    /// An array over arrays of one shape; NULL and empty ones count for nothing.
    fn nest(&self, parts: &[Datum]) -> Result<Datum> {
        let mut shape: Option<(Vec<i32>, Vec<i32>)> = None;
        let mut values = Vec::new();
        let mut outer = 0;
        for part in parts {
            if part.is_null() {
                continue;
            }
            let array = ArrayRef::parse(part.as_bytes())?;
            if array.is_empty() {
                continue;
            }
            let own = (array.dims.clone(), array.lbounds.clone());
            if *shape.get_or_insert_with(|| own.clone()) != own {
                bail!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "multidimensional arrays must have array expressions with matching dimensions"
                );
            }
            values.extend(array.values(&self.elem)?);
            outer += 1;
        }
        let Some((dims, lbounds)) = shape else { return self.make(&[]) };
        if outer != parts.len() {
            bail!(
                ARRAY_SUBSCRIPT_ERROR,
                "multidimensional arrays must have array expressions with matching dimensions"
            );
        }
        let dims: Vec<i32> = [outer as i32].into_iter().chain(dims).collect();
        let lbounds: Vec<i32> = [1].into_iter().chain(lbounds).collect();
        make_array(&self.elem, &values, &dims, &lbounds).map(Datum::bytes)
    }
}

/// `ARRAY[...]`.
pub(crate) struct ArrayProg {
    pub element: Element,
    pub args: Vec<Prog>,
    pub multidims: bool,
}

impl ArrayProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let mut values = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            values.push(arg.eval(run, input)?);
        }
        if self.multidims {
            return self.element.nest(&values);
        }
        self.element.make(&values)
    }
}

/// `ROW(...)`, and whole rows.
pub(crate) struct RowProg {
    pub args: Vec<Prog>,
    pub ty: Oid,
    /// Which registered row type a record is of.
    pub typmod: i32,
}

impl RowProg {
    /// A row of these values; `names` matter for records.
    fn new(args: Vec<Prog>, ty: Oid, names: &[String]) -> RowProg {
        let named = ty == oid::RECORD && !names.is_empty() && names.len() == args.len();
        let typmod = match named {
            true => {
                let columns: Vec<_> =
                    names.iter().cloned().zip(args.iter().map(|a| a.ty)).collect();
                types::record::register(&columns)
            }
            false => -1,
        };
        RowProg { args, ty, typmod }
    }

    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let mut fields = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            fields.push((arg.ty, arg.eval(run, input)?));
        }
        Ok(make_row(self.ty, self.typmod, fields))
    }
}

/// A row of these fields.
pub(crate) fn make_row(ty: Oid, typmod: i32, fields: Vec<(Oid, Datum)>) -> Datum {
    let columns =
        fields.into_iter().map(|(type_oid, value)| RecordColumn { type_oid, value }).collect();
    Record { type_oid: ty, typmod, columns }.encode()
}

/// The fields of a row.
pub(crate) fn row_fields(row: &Datum) -> Result<Vec<(Oid, Datum)>> {
    let record = Record::decode(row.as_bytes())?;
    Ok(record.columns.into_iter().map(|c| (c.type_oid, c.value)).collect())
}

/// IS [NOT] NULL of a row.
pub(crate) fn row_null_test(value: &Datum, is_null: bool) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Bool(is_null));
    }
    let fields = row_fields(value)?;
    Ok(Datum::Bool(fields.iter().all(|(_, v)| v.is_null() == is_null)))
}

/// `row.field`.
pub(crate) struct FieldSelectProg {
    pub arg: Prog,
    /// Number from 0.
    pub field: usize,
}

impl FieldSelectProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let row = self.arg.eval(run, input)?;
        if row.is_null() {
            return Ok(Datum::Null);
        }
        Ok(row_fields(&row)?.into_iter().nth(self.field).map_or(Datum::Null, |(_, v)| v))
    }
}

/// A copy of a row with some fields replaced.
pub(crate) struct FieldStoreProg {
    pub arg: Prog,
    pub values: Vec<(usize, Prog)>,
    /// Types of all the row's fields.
    pub types: Vec<Oid>,
    pub ty: Oid,
}

impl FieldStoreProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let row = self.arg.eval(run, input)?;
        let mut fields = if row.is_null() {
            self.types.iter().map(|t| (*t, Datum::Null)).collect()
        } else {
            row_fields(&row)?
        };
        for (at, value) in &self.values {
            // An assignment to a part of the field starts from what it is.
            run.case.push(CaseValue::One(fields.get(*at).map_or(Datum::Null, |f| f.1.clone())));
            let value = value.eval(run, input);
            run.case.pop();
            let value = value?;
            if let Some(field) = fields.get_mut(*at) {
                field.1 = value;
            }
        }
        Ok(make_row(self.ty, -1, fields))
    }
}

/// A row of a child table as a row of its parent.
pub(crate) struct ConvertRowProg {
    pub arg: Prog,
    /// For each field of the result, the number of the input's, and its type.
    pub fields: Vec<(Option<usize>, Oid)>,
    pub ty: Oid,
}

impl ConvertRowProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let row = self.arg.eval(run, input)?;
        if row.is_null() {
            return Ok(Datum::Null);
        }
        let old = row_fields(&row)?;
        let fields = self
            .fields
            .iter()
            .map(|(from, ty)| {
                let value = from.and_then(|f| old.get(f)).map_or(Datum::Null, |f| f.1.clone());
                (*ty, value)
            })
            .collect();
        Ok(make_row(self.ty, -1, fields))
    }
}

/// `(a, b) < (c, d)`.
pub(crate) struct RowCompareProg {
    pub op: RowCompareOp,
    pub columns: Vec<(Prog, Prog, Ordering_)>,
}

impl RowCompareProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let mut order = std::cmp::Ordering::Equal;
        for (left, right, by) in &self.columns {
            let a = left.eval(run, input)?;
            let b = right.eval(run, input)?;
            if a.is_null() || b.is_null() {
                return Ok(Datum::Null);
            }
            order = by.kind.compare(run, &a, &b)?;
            if order.is_ne() {
                break;
            }
        }
        Ok(Datum::Bool(match self.op {
            RowCompareOp::Lt => order.is_lt(),
            RowCompareOp::Le => order.is_le(),
            RowCompareOp::Ge => order.is_ge(),
            RowCompareOp::Gt => order.is_gt(),
        }))
    }
}

/// A whole row of these columns.
pub(crate) fn whole_row(
    c: &mut ExprCompiler,
    ty: Oid,
    columns: &[(i16, usize)],
    known: Option<&[(String, Oid)]>,
) -> Result<Prog> {
    let mut types = field_types(c, ty)?;
    let mut names: Vec<String> = Vec::new();
    let mut count = columns.len();
    if let (true, Some(known)) = (types.is_empty(), known) {
        types = known.iter().map(|k| k.1).collect();
        names = known.iter().map(|k| k.0.clone()).collect();
    }
    // What a subquery gives beyond its row's fields is not part of the row.
    if !types.is_empty() {
        count = count.min(types.len());
    }
    let mut args = Vec::new();
    for (attno, column) in &columns[..count] {
        let field = types.get(*attno as usize - 1).copied().unwrap_or(oid::TEXT);
        args.push(Prog::column(*column, field, c.phys(field)?));
    }
    c.node(Kind::WholeRow(Box::new(RowProg::new(args, ty, &names))), ty, (false, true))
}

/// Types of the fields of a composite type; empty for RECORD.
fn field_types(c: &ExprCompiler, ty: Oid) -> Result<Vec<Oid>> {
    let mut t = c.catalog.type_(ty)?;
    while t.kind == b'd' {
        t = c.catalog.type_(t.base_type)?;
    }
    if !t.relation.is_valid() {
        return Ok(Vec::new());
    }
    Ok(c.catalog.relation(t.relation)?.tuple.attrs.iter().map(|a| a.type_oid).collect())
}

/// The program for an expression of one of this file's kinds.
pub(crate) fn compile(c: &mut ExprCompiler, e: &Expr, map: &VarMap) -> Result<Prog> {
    match e {
        Expr::Array(a) => {
            let element = Element::of_type(c, a.element_type)?;
            let args = c.list(&a.elements, map)?;
            let volatile = flags(&args).0;
            let prog = ArrayProg { element, args, multidims: a.multidims };
            c.node(Kind::Array(Box::new(prog)), a.array_type, (volatile, true))
        }
        Expr::Row(r) => {
            let args = c.list(&r.args, map)?;
            let volatile = flags(&args).0;
            c.node(Kind::Row(Box::new(RowProg::new(args, r.ty, &r.names))), r.ty, (volatile, true))
        }
        Expr::RowCompare { op, ops, families, collations, left, right } => {
            let mut columns = Vec::new();
            for (i, (l, r)) in left.iter().zip(right).enumerate() {
                let desc = c.catalog.operator(ops[i])?;
                let types = [desc.left, desc.right];
                let order = Ordering_::of_family(c, families[i], types, collations[i])?;
                columns.push((c.expr(l, map)?, c.expr(r, map)?, order));
            }
            let volatile = columns.iter().any(|(a, b, _)| a.volatile || b.volatile);
            let prog = RowCompareProg { op: *op, columns };
            c.node(Kind::RowCompare(Box::new(prog)), oid::BOOL, (volatile, true))
        }
        Expr::FieldSelect { arg, field, ty, .. } => {
            let arg = c.expr(arg, map)?;
            let volatile = arg.volatile;
            let prog = FieldSelectProg { arg, field: (*field as usize).saturating_sub(1) };
            c.node(Kind::FieldSelect(Box::new(prog)), *ty, (volatile, true))
        }
        Expr::FieldStore { arg, values, fields, ty } => {
            let arg = c.expr(arg, map)?;
            let progs = c.list(values, map)?;
            let volatile = arg.volatile || flags(&progs).0;
            let at = fields.iter().map(|f| (*f as usize).saturating_sub(1));
            let values = at.zip(progs).collect();
            let prog = FieldStoreProg { arg, values, types: field_types(c, *ty)?, ty: *ty };
            c.node(Kind::FieldStore(Box::new(prog)), *ty, (volatile, true))
        }
        Expr::Subscript(s) => super::subscript::compile(c, s, map),
        Expr::ConvertRowtype { arg, ty, .. } => compile_convert(c, arg, *ty, map),
        _ => Err(Error::internal("not a composite expression")),
    }
}

fn compile_convert(c: &mut ExprCompiler, arg: &Expr, ty: Oid, map: &VarMap) -> Result<Prog> {
    let from = c.catalog.type_(arg.ty())?.relation;
    let to = c.catalog.type_(ty)?.relation;
    let (from, to) = (c.catalog.relation(from)?, c.catalog.relation(to)?);
    let fields = to
        .tuple
        .attrs
        .iter()
        .map(|a| ((!a.dropped).then(|| from.tuple.position(&a.name)).flatten(), a.type_oid))
        .collect();
    let arg = c.expr(arg, map)?;
    let volatile = arg.volatile;
    c.node(Kind::ConvertRow(Box::new(ConvertRowProg { arg, fields, ty })), ty, (volatile, true))
}
