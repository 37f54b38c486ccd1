use super::*;
use crate::blob::Blob;
use crate::oid;

fn desc() -> TupleDesc {
    TupleDesc::new(vec![
        Attr::new("a", oid::BOOL, 1, true, 1),
        Attr::new("b", oid::TEXT, -1, false, 4),
        Attr::new("c", oid::INT8, 8, true, 8),
        Attr::new("d", oid::NAME, 64, false, 1),
        Attr::new("e", oid::TEXT, -1, false, 4),
        Attr::new("f", oid::INT4, 4, true, 4),
    ])
}

#[test]
fn values_survive_the_bytes() {
    let long = "x".repeat(300);
    for values in [
        vec![
            Datum::Bool(true),
            Datum::text("short"),
            Datum::I64(-5),
            Datum::text("relname"),
            Datum::text(&long),
            Datum::I32(7),
        ],
        vec![
            Datum::Null,
            Datum::Null,
            Datum::I64(i64::MIN),
            Datum::Null,
            Datum::text(""),
            Datum::I32(-7),
        ],
    ] {
        let formed = form_tuple(&desc(), &values).unwrap();
        assert_eq!(formed.data.len(), data_size(&desc(), &values));
        let mut out = vec![Datum::Null; 6];
        deform(&desc(), &formed.data, formed.nulls.as_deref(), 6, &mut out, &NoDetoast).unwrap();
        assert_eq!(out, values);
        let mut builders =
            vec![ColumnBuilder::new(PhysType::I64), ColumnBuilder::new(PhysType::I32)];
        deform_into(
            &desc(),
            &formed.data,
            formed.nulls.as_deref(),
            6,
            &[2, 5],
            &mut builders,
            &NoDetoast,
        )
        .unwrap();
        assert_eq!(builders[0].take().get(0), values[2]);
        assert_eq!(builders[1].take().get(0), values[5]);
    }
}

use crate::batch::ColumnBuilder;

#[test]
fn cut_rows_are_errors() {
    let values = vec![
        Datum::Bool(true),
        Datum::text("short"),
        Datum::I64(-5),
        Datum::text("relname"),
        Datum::text(&"y".repeat(200)),
        Datum::I32(7),
    ];
    let formed = form_tuple(&desc(), &values).unwrap();
    for cut in 0..formed.data.len() {
        let mut out = vec![Datum::Null; 6];
        assert!(deform(&desc(), &formed.data[..cut], None, 6, &mut out, &NoDetoast).is_err());
    }
}

#[test]
fn compression_round_trip() {
    let input = "the quick brown fox jumps over the lazy dog; ".repeat(50).into_bytes();
    let packed = pglz_compress(&input).unwrap();
    assert!(packed.len() < input.len() / 4);
    let raw = compressed(&packed, input.len(), Compression::Pglz);
    assert_eq!(detoast(&raw, &NoDetoast).unwrap(), Blob::new(&input));
    assert!(pglz_decompress(&packed[..10], input.len()).is_err());
}
