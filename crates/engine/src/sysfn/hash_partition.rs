//! `satisfies_hash_partition`: whether a key belongs to a partition by hash.

use super::SysSession;
use base::{Oid, Result, bail};
use catalog::partition::Partitioning;
use functions::CallInfo;
use types::array::{ArrayRef, ElemType};
use types::{Datum, oid};

/// A key's values and their types.
struct Given {
    values: Vec<Datum>,
    types: Vec<Oid>,
    /// They came as one array.
    array: bool,
}

impl Given {
    /// The arguments after the table, the modulus and the remainder; none for a NULL array.
    fn of(s: &dyn SysSession, call: &CallInfo, args: &[Datum]) -> Result<Option<Given>> {
        let ty = |i: usize| call.arg_types.get(i).copied().unwrap_or(Oid::INVALID);
        if !call.variadic || args.len() != 4 {
            let types = (3..args.len()).map(ty).collect();
            return Ok(Some(Given { values: args[3..].to_vec(), types, array: false }));
        }
        if args[3].is_null() {
            return Ok(None);
        }
        let lookup = s.env().catalog().types();
        let element = lookup.type_info(ty(3)).and_then(|array| lookup.type_info(array.elem));
        let Some(element) = element else {
            bail!(DATATYPE_MISMATCH, "could not determine input data type");
        };
        let values = ArrayRef::parse(args[3].as_bytes())?.values(&ElemType::new(&element))?;
        let types = vec![element.oid; values.len()];
        Ok(Some(Given { values, types, array: true }))
    }
}

pub(super) fn call(s: &dyn SysSession, call: &CallInfo, args: &[Datum]) -> Result<Datum> {
    let no = Ok(Datum::Bool(false));
    if args.len() < 4 || args[..3].iter().any(Datum::is_null) {
        return no;
    }
    let (table, modulus, remainder) = (Oid(args[0].as_u32()), args[1].as_i32(), args[2].as_i32());
    check_bound(modulus, remainder)?;
    let Some(rel) = s.view().find_relation(table)? else {
        bail!(INTERNAL_ERROR, "could not open relation with OID {table}");
    };
    let Some(key) = rel.partition_key.as_ref().filter(|k| k.strategy == b'h') else {
        bail!(INVALID_PARAMETER_VALUE, "\"{}\" is not a hash partitioned table", rel.name);
    };
    let Some(given) = Given::of(s, call, args)? else { return no };
    let partitioning = Partitioning::load(s.view(), &rel)?;
    let (columns, values) = (key.columns.len(), given.values.len());
    if columns != values {
        bail!(
            INVALID_PARAMETER_VALUE,
            "number of partitioning columns ({columns}) does not match number of partition keys \
             provided ({values})"
        );
    }
    let name = |ty: Oid| {
        let name = s.env().catalog().type_name(ty).unwrap_or_default();
        if given.array { format!("\"{name}\"") } else { name }
    };
    for (i, given) in given.types.iter().enumerate() {
        let wanted = match key.columns[i] {
            n if n > 0 => rel.tuple.attrs[n as usize - 1].type_oid,
            _ => partitioning.keys[i].input_type,
        };
        // Types that are stored alike are hashed alike.
        let same = |a: Oid, b: Oid| {
            a == b || (a == oid::VARCHAR && b == oid::TEXT) || (a == oid::TEXT && b == oid::VARCHAR)
        };
        if !same(wanted, *given) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "column {} of the partition key has type {}, but supplied value is of type {}",
                i + 1,
                name(wanted),
                name(*given)
            );
        }
    }
    let hash = partitioning.hash(&given.values)?;
    Ok(Datum::Bool(hash % modulus as u64 == remainder as u64))
}

fn check_bound(modulus: i32, remainder: i32) -> Result<()> {
    if modulus <= 0 {
        bail!(
            INVALID_PARAMETER_VALUE,
            "modulus for hash partition must be an integer value greater than zero"
        );
    }
    if remainder < 0 {
        bail!(
            INVALID_PARAMETER_VALUE,
            "remainder for hash partition must be an integer value greater than or equal to zero"
        );
    }
    if remainder >= modulus {
        bail!(INVALID_PARAMETER_VALUE, "remainder for hash partition must be less than modulus");
    }
    Ok(())
}
