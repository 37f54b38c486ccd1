use super::*;

fn round(text: &str) -> String {
    match parse(text) {
        Ok(value) => {
            let stored = encode(&value);
            assert_eq!(decode(&stored), value);
            let mut out = Vec::new();
            write(&decode(&stored), &mut out);
            String::from_utf8(out).unwrap()
        }
        Err(e) => {
            let f = e.fields();
            format!(
                "{} | {}",
                f.detail.as_deref().unwrap_or(""),
                f.context.as_deref().unwrap_or("")
            )
        }
    }
}

#[test]
fn values() {
    assert_eq!(round(r#" {"b":1.10,"aa":[1,2,{}],"b":2e2} "#), r#"{"b": 200, "aa": [1, 2, {}]}"#);
    assert_eq!(round(r#""\u00e9\ud83d\ude04\n""#), "\"é😄\\n\"");
    assert_eq!(round("[]"), "[]");
    assert_eq!(round("1.0"), "1.0");
}

#[test]
fn errors() {
    assert_eq!(
        round("{\"abc\"}"),
        "Expected \":\", but found \"}\". | JSON data, line 1: {\"abc\"}"
    );
    assert_eq!(round(""), "The input string ended unexpectedly. | JSON data, line 1: ");
    assert_eq!(round("[1,2,"), "The input string ended unexpectedly. | JSON data, line 1: [1,2,");
    assert_eq!(round("01"), "Token \"01\" is invalid. | JSON data, line 1: 01");
    assert_eq!(round("[1,x]"), "Token \"x\" is invalid. | JSON data, line 1: [1,x...");
    assert!(round(&"[".repeat(100_000)).starts_with(" |"));
}

#[test]
fn lookup_in_place() {
    let stored = encode(&parse(r#"{"k":[10,"x"],"long key":null}"#).unwrap());
    let value = JsonbRef(&stored);
    assert_eq!(value.get("k").unwrap().item(1).unwrap().as_str(), Some("x"));
    assert!(value.get("nope").is_none());
    assert_eq!(value.get("long key").unwrap().kind(), 0);
}
