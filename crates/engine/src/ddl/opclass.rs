//! Operator classes and families: CREATE, and ALTER OPERATOR FAMILY.

use super::Ddl;
use super::name::split;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ProcDesc, SysRow, indexes, oids};
use parser::ast::{
    AlterOpFamilyStmt, CreateOpClassStmt, FuncSignature, Name, OpClassItem, OpName, TypeName,
};
use std::sync::Arc;
use types::Datum;

/// Facts about an access method.
struct Method<'a> {
    oid: Oid,
    name: &'a str,
    /// Highest operator number; 0 is no limit.
    strategies: i32,
    supports: i32,
    /// The stored type may differ.
    storage: bool,
}

/// An operator or a function of a class.
#[derive(Clone)]
struct Member {
    object: Oid,
    number: i32,
    left: Oid,
    right: Oid,
    sort_family: Oid,
}

fn refuse(text: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, text.into())
}

impl Ddl<'_> {
    fn method<'m>(&self, name: &'m str) -> Result<Method<'m>> {
        let found = self.rows.index_scan(indexes::PG_AM_NAME, &[Datum::text(name)])?;
        let Some(row) = found.first() else {
            bail!(UNDEFINED_OBJECT, "access method \"{name}\" does not exist");
        };
        let oid = row.oid("oid")?;
        if row.char("amtype")? != b'i' {
            bail!(WRONG_OBJECT_TYPE, "access method \"{name}\" is not of type INDEX");
        }
        let (strategies, supports, storage) = match oid.0 {
            403 => (5, 6, false),
            405 => (1, 3, false),
            783 => (0, 12, true),
            2742 => (0, 7, true),
            4000 => (0, 7, true),
            3580 => (0, 15, true),
            _ => (0, 32767, true),
        };
        Ok(Method { oid, name, strategies, supports, storage })
    }

    fn require_family_rights(&self, what: &str) -> Result<()> {
        if !self.is_superuser()? {
            bail!(INSUFFICIENT_PRIVILEGE, "must be superuser to {what}");
        }
        Ok(())
    }

    fn opfamily_in(&self, am: Oid, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        for row in self.rows.table_scan(oids::PG_OPFAMILY)? {
            if row.oid("opfmethod")? == am
                && row.oid("opfnamespace")? == namespace
                && *row.text("opfname")? == *name
            {
                return Ok(Some(row.oid("oid")?));
            }
        }
        Ok(None)
    }

    fn require_opfamily(&self, method: &Method<'_>, name: &Name) -> Result<Oid> {
        let (schema, last) = split(name);
        let places = match schema {
            Some(s) => vec![self.view.require_namespace(s)?.oid],
            None => self.view.search_path().to_vec(),
        };
        for namespace in places {
            if let Some(oid) = self.opfamily_in(method.oid, namespace, last)? {
                return Ok(oid);
            }
        }
        bail!(
            UNDEFINED_OBJECT,
            "operator family \"{}\" does not exist for access method \"{}\"",
            name.parts.join("."),
            method.name
        )
    }

    /// CREATE OPERATOR FAMILY.
    pub fn create_opfamily(&self, name: &Name, method: &str) -> Result<()> {
        let (schema, last) = split(name);
        let namespace = self.creation_namespace(schema)?;
        let method = self.method(method)?;
        self.require_family_rights("create an operator family")?;
        self.insert_opfamily(&method, namespace, last).map(drop)
    }

    fn insert_opfamily(&self, method: &Method<'_>, namespace: Oid, name: &str) -> Result<Oid> {
        if self.opfamily_in(method.oid, namespace, name)?.is_some() {
            bail!(
                DUPLICATE_OBJECT,
                "operator family \"{name}\" for access method \"{}\" already exists",
                method.name
            );
        }
        let oid = self.rows.new_oid(oids::PG_OPFAMILY)?;
        let mut row = SysRow::new(oids::PG_OPFAMILY)?;
        row.set_oid("oid", oid)?
            .set_oid("opfmethod", method.oid)?
            .set_text("opfname", name)?
            .set_oid("opfnamespace", namespace)?
            .set_oid("opfowner", self.user())?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_OPFAMILY, oid);
        let am = ObjectAddress::new(oids::PG_AM, method.oid);
        depend::record(self.rows, own, am, DependKind::Auto)?;
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, self.user())?;
        Ok(oid)
    }

    /// CREATE OPERATOR CLASS.
    pub fn create_opclass(&self, stmt: &CreateOpClassStmt) -> Result<()> {
        let (schema, name) = split(&stmt.name);
        let namespace = self.creation_namespace(schema)?;
        let method = self.method(&stmt.access_method)?;
        self.require_family_rights("create an operator class")?;
        let input = super::type_name::resolve(&self.view, &stmt.type_name)?.oid;
        let family = match &stmt.family {
            Some(family) => self.require_opfamily(&method, family)?,
            None => match self.opfamily_in(method.oid, namespace, name)? {
                Some(family) => family,
                None => self.insert_opfamily(&method, namespace, name)?,
            },
        };
        let (mut operators, mut functions) = (Vec::new(), Vec::new());
        let mut storage = Oid::INVALID;
        for item in &stmt.items {
            match item {
                OpClassItem::Operator { number, op, operands, order_family } => {
                    let operands = operands.as_ref().map(|o| (o.0.as_ref(), o.1.as_ref()));
                    let m = self.class_operator(&method, *number, op, operands, Some(input))?;
                    let m = self.with_order(&method, m, order_family.as_ref())?;
                    add_member(&mut operators, m, true, self)?;
                }
                OpClassItem::Function { number, class_args, function, signature } => {
                    let m = self.class_function(
                        &method,
                        *number,
                        class_args,
                        function,
                        signature.as_ref(),
                        Some(input),
                    )?;
                    add_member(&mut functions, m, false, self)?;
                }
                OpClassItem::Storage(t) => {
                    if storage.is_valid() {
                        return Err(refuse("storage type specified more than once"));
                    }
                    storage = super::type_name::resolve(&self.view, t)?.oid;
                }
            }
        }
        if storage == input {
            storage = Oid::INVALID;
        }
        if storage.is_valid() && !method.storage {
            return Err(refuse(format!(
                "storage type cannot be different from data type for access method \"{}\"",
                method.name
            )));
        }
        let default = stmt.default.then_some(&stmt.type_name);
        self.check_new_class(&method, namespace, name, input, default)?;
        let oid = self.rows.new_oid(oids::PG_OPCLASS)?;
        let mut row = SysRow::new(oids::PG_OPCLASS)?;
        row.set_oid("oid", oid)?
            .set_oid("opcmethod", method.oid)?
            .set_text("opcname", name)?
            .set_oid("opcnamespace", namespace)?
            .set_oid("opcowner", self.user())?
            .set_oid("opcfamily", family)?
            .set_oid("opcintype", input)?
            .set_bool("opcdefault", stmt.default)?
            .set_oid("opckeytype", storage)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_OPCLASS, oid);
        for (a, kind) in [
            (ObjectAddress::new(oids::PG_AM, method.oid), DependKind::Auto),
            (ObjectAddress::new(oids::PG_NAMESPACE, namespace), DependKind::Normal),
            (ObjectAddress::new(oids::PG_OPFAMILY, family), DependKind::Auto),
            (ObjectAddress::new(oids::PG_TYPE, input), DependKind::Normal),
            (ObjectAddress::new(oids::PG_TYPE, storage), DependKind::Normal),
        ] {
            depend::record(self.rows, own, a, kind)?;
        }
        self.depend_owner(own, self.user())?;
        let family = ObjectAddress::new(oids::PG_OPFAMILY, family);
        // Members for other types belong to the family.
        let place = |m: &Member| {
            let of_class = m.left == input && m.right == input
                || !matches!(method.oid, oids::BTREE_AM | oids::HASH_AM);
            if of_class { own } else { family }
        };
        for m in &operators {
            self.insert_amop(&method, family.object, m, place(m))?;
        }
        for m in &functions {
            self.insert_amproc(&method, family.object, m, place(m))?;
        }
        Ok(())
    }

    fn check_new_class(
        &self,
        method: &Method<'_>,
        namespace: Oid,
        name: &str,
        input: Oid,
        default: Option<&TypeName>,
    ) -> Result<()> {
        let all = self.view.source().opclasses_of(method.oid)?;
        if all.iter().any(|c| c.namespace == namespace && *c.name == *name) {
            bail!(
                DUPLICATE_OBJECT,
                "operator class \"{name}\" for access method \"{}\" already exists",
                method.name
            );
        }
        let other = all.iter().find(|c| c.is_default && c.input_type == input);
        let (Some(written), Some(other)) = (default, other) else { return Ok(()) };
        Err(err!(
            DUPLICATE_OBJECT,
            "could not make operator class \"{name}\" be default for type {}",
            written.names.join(".")
        )
        .detail(format!("Operator class \"{}\" already is the default.", other.name)))
    }

    fn class_operator(
        &self,
        method: &Method<'_>,
        number: i32,
        op: &OpName,
        operands: Option<(Option<&TypeName>, Option<&TypeName>)>,
        input: Option<Oid>,
    ) -> Result<Member> {
        let most = if method.strategies > 0 { method.strategies } else { i32::from(i16::MAX) };
        if number < 1 || number > most {
            return Err(refuse(format!(
                "invalid operator number {number}, must be between 1 and {most}"
            )));
        }
        let operand = |t: Option<&TypeName>| -> Result<Oid> {
            t.map_or(Ok(Oid::INVALID), |t| Ok(super::type_name::resolve(&self.view, t)?.oid))
        };
        let (left, right) = match (operands, input) {
            (Some((left, right)), _) => (operand(left)?, operand(right)?),
            (None, Some(input)) => (input, input),
            (None, None) => bail!(
                SYNTAX_ERROR,
                "operator argument types must be specified in ALTER OPERATOR FAMILY"
            ),
        };
        let found = self.require_operator(op, left, right)?;
        let (left, right) = (found.left, found.right);
        Ok(Member { object: found.oid, number, left, right, sort_family: Oid::INVALID })
    }

    /// FOR ORDER BY, and what an operator must be to be searched or ordered by.
    fn with_order(&self, method: &Method<'_>, m: Member, order: Option<&Name>) -> Result<Member> {
        let op = self.view.operator(m.object)?;
        if op.kind != b'b' {
            return Err(refuse("index operators must be binary"));
        }
        let Some(order) = order else {
            if op.result != oids::BOOL {
                return Err(refuse("index search operators must return boolean"));
            }
            return Ok(m);
        };
        if !matches!(method.oid.0, 783 | 4000) {
            return Err(refuse(format!(
                "access method \"{}\" does not support ordering operators",
                method.name
            )));
        }
        let sort_family = self.require_opfamily(&self.method("btree")?, order)?;
        Ok(Member { sort_family, ..m })
    }

    fn class_function(
        &self,
        method: &Method<'_>,
        number: i32,
        class_args: &[TypeName],
        function: &Name,
        signature: Option<&FuncSignature>,
        input: Option<Oid>,
    ) -> Result<Member> {
        if number < 1 || number > method.supports {
            return Err(refuse(format!(
                "invalid function number {number}, must be between 1 and {}",
                method.supports
            )));
        }
        let mut given = Vec::new();
        for t in class_args {
            given.push(super::type_name::resolve(&self.view, t)?.oid);
        }
        let f = match signature {
            Some(s) => {
                let mut args = Vec::new();
                for p in &s.params {
                    args.push(super::type_name::resolve(&self.view, &p.type_name)?.oid);
                }
                self.function_exact(function, &args)?
            }
            None => {
                let (schema, last) = split(function);
                match self.view.procs_named(schema, last)?.as_slice() {
                    [one] => one.clone(),
                    [] => bail!(
                        UNDEFINED_FUNCTION,
                        "could not find a function named \"{}\"",
                        function.parts.join(".")
                    ),
                    _ => bail!(
                        AMBIGUOUS_FUNCTION,
                        "function name \"{}\" is not unique",
                        function.parts.join(".")
                    ),
                }
            }
        };
        check_function(method, number, &f)?;
        let btree = method.oid == oids::BTREE_AM && number == 1;
        let (left, right) = match (given.as_slice(), f.arg_types.as_slice()) {
            ([one], _) => (*one, *one),
            ([left, right], _) => (*left, *right),
            (_, [left, right]) if btree => (*left, *right),
            (_, [one, ..]) if method.oid == oids::HASH_AM && number == 1 => (*one, *one),
            (_, [left, right, ..]) if method.oid == oids::BTREE_AM && number == 3 => {
                (*left, *right)
            }
            _ => match input {
                Some(input) => (input, input),
                None => {
                    return Err(refuse(
                        "associated data types must be specified for index support function",
                    ));
                }
            },
        };
        Ok(Member { object: f.oid, number, left, right, sort_family: Oid::INVALID })
    }

    fn insert_amop(
        &self,
        method: &Method<'_>,
        family: Oid,
        m: &Member,
        place: ObjectAddress,
    ) -> Result<()> {
        let oid = self.rows.new_oid(oids::PG_AMOP)?;
        let mut row = SysRow::new(oids::PG_AMOP)?;
        row.set_oid("oid", oid)?
            .set_oid("amopfamily", family)?
            .set_oid("amoplefttype", m.left)?
            .set_oid("amoprighttype", m.right)?
            .set_i16("amopstrategy", m.number as i16)?
            .set_char("amoppurpose", if m.sort_family.is_valid() { b'o' } else { b's' })?
            .set_oid("amopopr", m.object)?
            .set_oid("amopmethod", method.oid)?
            .set_oid("amopsortfamily", m.sort_family)?;
        self.rows.insert(row)?;
        let object = ObjectAddress::new(oids::PG_OPERATOR, m.object);
        self.depend_member(ObjectAddress::new(oids::PG_AMOP, oid), object, place)
    }

    fn insert_amproc(
        &self,
        _: &Method<'_>,
        family: Oid,
        m: &Member,
        place: ObjectAddress,
    ) -> Result<()> {
        let oid = self.rows.new_oid(oids::PG_AMPROC)?;
        let mut row = SysRow::new(oids::PG_AMPROC)?;
        row.set_oid("oid", oid)?
            .set_oid("amprocfamily", family)?
            .set_oid("amproclefttype", m.left)?
            .set_oid("amprocrighttype", m.right)?
            .set_i16("amprocnum", m.number as i16)?
            .set_oid("amproc", m.object)?;
        self.rows.insert(row)?;
        let object = ObjectAddress::new(oids::PG_PROC, m.object);
        self.depend_member(ObjectAddress::new(oids::PG_AMPROC, oid), object, place)
    }

    /// A class does not work without its members; a family does.
    fn depend_member(
        &self,
        own: ObjectAddress,
        object: ObjectAddress,
        place: ObjectAddress,
    ) -> Result<()> {
        let (on_object, on_place) = match place.class {
            oids::PG_OPCLASS => (DependKind::Normal, DependKind::Internal),
            _ => (DependKind::Auto, DependKind::Auto),
        };
        depend::record(self.rows, own, object, on_object)?;
        depend::record(self.rows, own, place, on_place)
    }

    /// ALTER OPERATOR FAMILY ADD and DROP.
    pub fn alter_opfamily(&self, stmt: &AlterOpFamilyStmt) -> Result<()> {
        let method = self.method(&stmt.access_method)?;
        let family = self.require_opfamily(&method, &stmt.name)?;
        self.require_family_rights("alter an operator family")?;
        if stmt.drop {
            for item in &stmt.items {
                self.drop_member(&method, family, item, stmt)?;
            }
            return Ok(());
        }
        let place = ObjectAddress::new(oids::PG_OPFAMILY, family);
        let (mut operators, mut functions) = (Vec::new(), Vec::new());
        for item in &stmt.items {
            match item {
                OpClassItem::Operator { number, op, operands, order_family } => {
                    let operands = operands.as_ref().map(|o| (o.0.as_ref(), o.1.as_ref()));
                    let m = self.class_operator(&method, *number, op, operands, None)?;
                    let m = self.with_order(&method, m, order_family.as_ref())?;
                    add_member(&mut operators, m, true, self)?;
                }
                OpClassItem::Function { number, class_args, function, signature } => {
                    let s = signature.as_ref();
                    let m = self.class_function(&method, *number, class_args, function, s, None)?;
                    add_member(&mut functions, m, false, self)?;
                }
                OpClassItem::Storage(_) => {
                    bail!(SYNTAX_ERROR, "STORAGE cannot be specified in ALTER OPERATOR FAMILY")
                }
            }
        }
        for (m, operator) in
            operators.iter().map(|m| (m, true)).chain(functions.iter().map(|m| (m, false)))
        {
            if self.member_row(family, m.left, m.right, m.number, operator)?.is_some() {
                bail!(
                    DUPLICATE_OBJECT,
                    "{} {}({},{}) already exists in operator family \"{}\"",
                    if operator { "operator" } else { "function" },
                    m.number,
                    self.format_type(m.left, -1),
                    self.format_type(m.right, -1),
                    stmt.name.parts.join(".")
                );
            }
            match operator {
                true => self.insert_amop(&method, family, m, place)?,
                false => self.insert_amproc(&method, family, m, place)?,
            }
        }
        Ok(())
    }

    fn member_row(
        &self,
        family: Oid,
        left: Oid,
        right: Oid,
        number: i32,
        operator: bool,
    ) -> Result<Option<SysRow>> {
        let key = [
            Datum::U32(family.0),
            Datum::U32(left.0),
            Datum::U32(right.0),
            Datum::I16(number as i16),
        ];
        let index = if operator { indexes::PG_AMOP_FAMILY } else { indexes::PG_AMPROC_FAMILY };
        Ok(self.rows.index_scan(index, &key)?.into_iter().next())
    }

    fn drop_member(
        &self,
        method: &Method<'_>,
        family: Oid,
        item: &OpClassItem,
        stmt: &AlterOpFamilyStmt,
    ) -> Result<()> {
        let resolve =
            |t: &TypeName| -> Result<Oid> { Ok(super::type_name::resolve(&self.view, t)?.oid) };
        let (number, types, operator) = match item {
            OpClassItem::Operator { number, operands, .. } => {
                let most = if method.strategies > 0 { method.strategies } else { 32767 };
                if *number < 1 || *number > most {
                    return Err(refuse(format!(
                        "invalid operator number {number}, must be between 1 and {most}"
                    )));
                }
                let (left, right) = operands.clone().unwrap_or_default();
                let all: Vec<TypeName> = left.into_iter().chain(right).collect();
                (*number, all, true)
            }
            OpClassItem::Function { number, class_args, .. } => {
                if *number < 1 || *number > method.supports {
                    return Err(refuse(format!(
                        "invalid function number {number}, must be between 1 and {}",
                        method.supports
                    )));
                }
                (*number, class_args.clone(), false)
            }
            OpClassItem::Storage(_) => return Ok(()),
        };
        let (left, right) = match types.as_slice() {
            [one] => (resolve(one)?, resolve(one)?),
            [left, right] => (resolve(left)?, resolve(right)?),
            _ => bail!(SYNTAX_ERROR, "one or two argument types must be specified"),
        };
        let Some(row) = self.member_row(family, left, right, number, operator)? else {
            bail!(
                UNDEFINED_OBJECT,
                "{} {number}({},{}) does not exist in operator family \"{}\"",
                if operator { "operator" } else { "function" },
                self.format_type(left, -1),
                self.format_type(right, -1),
                stmt.name.parts.join(".")
            );
        };
        let class = if operator { oids::PG_AMOP } else { oids::PG_AMPROC };
        self.drop_objects(&[ObjectAddress::new(class, row.oid("oid")?)], false)
    }
}

fn check_function(method: &Method<'_>, number: i32, f: &Arc<ProcDesc>) -> Result<()> {
    let count = f.arg_types.len();
    match (method.oid, number) {
        (oids::BTREE_AM, 1) if count != 2 => {
            Err(refuse("ordering comparison functions must have two arguments"))
        }
        (oids::BTREE_AM, 1) if f.return_type != oids::INT4 => {
            Err(refuse("ordering comparison functions must return integer"))
        }
        (oids::BTREE_AM, 2) if f.arg_types != [oids::INTERNAL] => {
            Err(refuse("ordering sort support functions must accept type \"internal\""))
        }
        (oids::BTREE_AM, 2) if f.return_type != oids::VOID => {
            Err(refuse("ordering sort support functions must return void"))
        }
        (oids::BTREE_AM, 3) if count != 5 => {
            Err(refuse("ordering in_range functions must have five arguments"))
        }
        (oids::BTREE_AM, 3) if f.return_type != oids::BOOL => {
            Err(refuse("ordering in_range functions must return boolean"))
        }
        (oids::BTREE_AM, 4) if count != 1 => {
            Err(refuse("ordering equal image functions must have one argument"))
        }
        (oids::BTREE_AM, 4) if f.return_type != oids::BOOL => {
            Err(refuse("ordering equal image functions must return boolean"))
        }
        (oids::HASH_AM, 1) if count != 1 => Err(refuse("hash function 1 must have one argument")),
        (oids::HASH_AM, 1) if f.return_type != oids::INT4 => {
            Err(refuse("hash function 1 must return integer"))
        }
        (oids::HASH_AM, 2) if count != 2 => Err(refuse("hash function 2 must have two arguments")),
        (oids::HASH_AM, 2) if f.return_type != oids::INT8 => {
            Err(refuse("hash function 2 must return bigint"))
        }
        _ => Ok(()),
    }
}

fn add_member(list: &mut Vec<Member>, m: Member, operator: bool, ddl: &Ddl<'_>) -> Result<()> {
    let same = |o: &Member| o.number == m.number && o.left == m.left && o.right == m.right;
    if list.iter().any(same) {
        return Err(refuse(format!(
            "{} number {} for ({},{}) appears more than once",
            if operator { "operator" } else { "function" },
            m.number,
            ddl.format_type(m.left, -1),
            ddl.format_type(m.right, -1)
        )));
    }
    list.push(m);
    Ok(())
}
