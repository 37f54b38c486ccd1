use super::*;

fn named(name: &str) -> Encoding {
    Encoding::from_name(name).unwrap()
}

#[test]
fn names_are_read_leniently() {
    assert_eq!(named("utf-8"), Encoding::UTF8);
    assert_eq!(named("Windows-1252").name(), "WIN1252");
    assert_eq!(named("ISO 8859-15").name(), "LATIN9");
    assert_eq!(Encoding::from_name("cp1252"), None);
    assert!(ALIASES.is_sorted());
    for e in Encoding::all() {
        assert_eq!(Encoding::from_name(e.name()), Some(e));
    }
}

#[test]
fn what_is_read_can_be_written() {
    let texts = [
        ("LATIN9", "prix: 5 €"),
        ("WIN1251", "Привет"),
        ("SJIS", "ﾃｽﾄ 表示"),
        ("EUC_JP", "日本語、漢字"),
        ("EUC_JIS_2004", "か゚𠂉"),
        ("BIG5", "繁體中文"),
        ("GBK", "简体中文"),
        ("GB18030", "简体 \u{80} ﷺ 🐘"),
        ("UHC", "한국어 뷁"),
        ("EUC_TW", "臺灣"),
    ];
    for (name, text) in texts {
        let e = named(name);
        let encoded = e.encode(text.as_bytes()).unwrap().into_owned();
        assert_eq!(e.decode(&encoded).unwrap().as_ref(), text.as_bytes(), "{name}");
        assert_eq!(e.verify(&encoded).unwrap(), encoded_chars(name, text));
    }
}

/// The pair of か゚ is one code.
fn encoded_chars(name: &str, text: &str) -> usize {
    text.chars().count() - usize::from(name == "EUC_JIS_2004")
}

#[test]
fn every_byte_string_has_an_answer() {
    let mut seed = 1u64;
    for e in Encoding::all() {
        for _ in 0..2000 {
            let mut bytes = [0; 9];
            for b in &mut bytes {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *b = (seed >> 56) as u8 | if seed >> 40 & 3 == 0 { 0x80 } else { 0 };
            }
            if let Ok(text) = e.decode(&bytes) {
                assert!(e == Encoding::SQL_ASCII || std::str::from_utf8(&text).is_ok());
            }
            let _ = convert(&bytes, e, Encoding::LATIN1);
        }
    }
}

#[test]
fn bad_bytes_are_shown_as_far_as_the_character_goes() {
    let message = |e: Result<Cow<'_, [u8]>>| e.unwrap_err().message().to_string();
    assert_eq!(
        message(named("EUC_JP").decode(b"\x8f\xa1\x01\xa1")),
        "invalid byte sequence for encoding \"EUC_JP\": 0x8f 0xa1 0x01"
    );
    assert_eq!(
        message(Encoding::LATIN1.encode("€".as_bytes())),
        "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in \
         encoding \"LATIN1\""
    );
}

#[test]
fn character_sets_are_shared_without_unicode() {
    let hex = |bytes: &[u8], from: &str, to: &str| {
        let converted = convert(bytes, named(from), named(to)).unwrap();
        converted.iter().map(|b| format!("{b:02x}")).collect::<String>()
    };
    assert_eq!(hex(b"a\x81\x40\xed\x40\xb1", "SJIS", "EUC_JP"), "61a1a18fd4e38eb1");
    assert_eq!(hex(b"\xa1\xa1\x8f\xd4\xe3\x8e\xb1", "EUC_JP", "SJIS"), "8140fa5cb1");
    assert_eq!(hex(b"\xf0\x40", "SHIFT_JIS_2004", "EUC_JIS_2004"), "8fa1a1");
    assert_eq!(hex(b"\x8e\xa3\xa1\xa1", "EUC_TW", "MULE_INTERNAL"), "9df6a1a1");
    assert_eq!(hex(b"\x8b\xc1", "MULE_INTERNAL", "WIN1251"), "e0");
    assert_eq!(
        convert(b"\x8b\xc1", Encoding::MULE_INTERNAL, Encoding::LATIN1).unwrap_err().message(),
        "character with byte sequence 0x8b 0xc1 in encoding \"MULE_INTERNAL\" has no equivalent in \
         encoding \"LATIN1\""
    );
}
