use super::*;

#[test]
fn rows_load_and_are_found() {
    assert_eq!(proc(Oid(141)).unwrap().proname, "int4mul");
    assert_eq!(type_(Oid(23)).unwrap().typname, "int4");
    assert_eq!(type_by_name("text").unwrap().oid, Oid(25));
    assert!(procs_by_name("length").len() > 3);
    assert!(operators_by_name("=").len() > 50);
    assert_eq!(attributes_of(Oid(1259)).iter().filter(|a| a.attnum > 0).count(), 34);
    for name in TABLES {
        let table = table(name).unwrap();
        let width = table.columns().len();
        assert!(table.rows().all(|r| r.len() == width), "{name}");
    }
}

#[test]
fn start_up_is_quick() {
    let rows = procs().len() + types().len() + operators().len() + attributes().len();
    assert!(rows > 7000);
}

#[test]
fn every_reference_has_its_row() {
    for o in operators() {
        assert!(o.oprcode == Oid(0) || proc(o.oprcode).is_some(), "operator {}", o.oid);
    }
    for c in casts() {
        assert!(c.castfunc == Oid(0) || proc(c.castfunc).is_some(), "cast {}", c.oid);
    }
    for t in types() {
        assert!(t.typinput == Oid(0) || proc(t.typinput).is_some(), "type {}", t.oid);
    }
}
