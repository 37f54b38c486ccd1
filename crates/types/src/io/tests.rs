use super::*;

#[test]
fn integers() {
    assert_eq!(parse_i32(" 0x7f_ff ").unwrap(), 0x7fff);
    assert_eq!(parse_i64("-9223372036854775808").unwrap(), i64::MIN);
    assert!(parse_i64("9223372036854775808").is_err());
    assert_eq!(
        parse_i32("3 4").unwrap_err().message(),
        "invalid input syntax for type integer: \"3 4\""
    );
    assert_eq!(parse_oid("-1040").unwrap(), 4294966256);
}
