use super::*;
use crate::{CallInfo, CallState, StaticEnv, builtin};
use types::{ColumnBuilder, PhysType};

fn run(oid: u32, values: &[Datum], phys: PhysType) -> String {
    let env = StaticEnv::new(0);
    let call = CallInfo::of(Oid(oid));
    let mut state = CallState::default();
    let mut cx = FnCtx { env: &env, call: &call, state: &mut state };
    let mut agg = aggregate(Oid(oid)).unwrap()(&call).unwrap();
    agg.resize(1);
    let mut builder = ColumnBuilder::new(phys);
    values.iter().for_each(|v| builder.push_ref(v));
    let column = builder.finish();
    agg.update(&mut cx, None, &[Arg::Column(&column)], Rows::all(values.len())).unwrap();
    let partial = agg.partial(&mut cx, 0).unwrap();
    agg.resize(2);
    agg.merge(&mut cx, 1, &partial).unwrap();
    let result = agg.finish(&mut cx, 1).unwrap();
    let ret = builtin::proc(Oid(oid)).unwrap().prorettype;
    let mut out = Vec::new();
    types::io::output(ret, &result, &crate::FnEnv::io(&env), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn aggregates_of_integers() {
    let values = [Datum::I32(1), Datum::Null, Datum::I32(2), Datum::I32(4)];
    assert_eq!(run(2108, &values, PhysType::I32), "7");
    assert_eq!(run(2101, &values, PhysType::I32), "2.3333333333333333");
    assert_eq!(run(2116, &values, PhysType::I32), "4");
    assert_eq!(run(2132, &values, PhysType::I32), "1");
    assert_eq!(run(2147, &values, PhysType::I32), "3");
    assert_eq!(run(2803, &values, PhysType::I32), "3");
    assert_eq!(run(2155, &values, PhysType::I32), "1.5275252316519467");
    assert_eq!(run(2719, &values, PhysType::I32), "1.5555555555555556");
}

#[test]
fn every_aggregate_has_a_state() {
    let missing: Vec<u32> = builtin::aggregates()
        .iter()
        .map(|a| a.aggfnoid.0)
        .filter(|o| aggregate(Oid(*o)).is_none())
        .collect();
    assert_eq!(missing, []);
}
