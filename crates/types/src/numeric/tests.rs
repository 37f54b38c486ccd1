use super::*;

fn n(text: &str) -> Numeric {
    parse(text).unwrap()
}

fn stored(text: &str) -> Blob {
    n(text).encode().unwrap()
}

#[test]
fn text_survives() {
    for text in [
        "0",
        "1",
        "-1",
        "10000",
        "0.0001",
        "1.10",
        "123456789012345678901234567890.123456789",
        "0.00",
        "NaN",
        "Infinity",
        "-Infinity",
        "99999999",
        "0.000000000000000000001",
        "1000000000",
    ] {
        assert_eq!(n(text).to_string(), text);
        let blob = stored(text);
        assert_eq!(Numeric::decode(&blob).to_string(), text);
        if let Some(small) = small::Small::decode(&blob) {
            assert_eq!(small.encode(), blob, "{text}");
        }
    }
    assert_eq!(n(" 1e3 ").to_string(), "1000");
    assert_eq!(n("1.5e-3").to_string(), "0.0015");
    assert_eq!(n("0x_ff").to_string(), "255");
    assert!(parse("1 2").is_err());
    assert!(parse("1e").is_err());
    assert!(parse("").is_err());
}

#[test]
fn arithmetic() {
    assert_eq!(n("1.10").add(&n("2.205")).to_string(), "3.305");
    assert_eq!(n("1").sub(&n("1.000")).to_string(), "0.000");
    assert_eq!(n("99999").mul(&n("99999.99")).to_string(), "9999899000.01");
    assert_eq!(n("1").div(&n("3")).unwrap().to_string(), "0.33333333333333333333");
    assert_eq!(n("10").div(&n("4")).unwrap().to_string(), "2.5000000000000000");
    assert_eq!(
        n("12345678901234567890").div(&n("987654321")).unwrap().to_string(),
        "12499999887.34374999"
    );
    assert_eq!(n("7.5").rem(&n("-2")).unwrap().to_string(), "1.5");
    assert_eq!(n("-2.5").round(0).to_string(), "-3");
    assert_eq!(n("9999.9999").round(2).to_string(), "10000.00");
    assert_eq!(n("155").round(-1).to_string(), "160");
    assert_eq!(n("-1.5").floor().to_string(), "-2");
    assert_eq!(n("-1.5").ceil().to_string(), "-1");
}

#[test]
fn functions() {
    assert_eq!(n("2").sqrt().unwrap().to_string(), "1.414213562373095");
    assert_eq!(n("1").exp().unwrap().to_string(), "2.7182818284590452");
    assert_eq!(n("2").ln().unwrap().to_string(), "0.6931471805599453");
    assert_eq!(n("2").power(&n("10")).unwrap().to_string(), "1024.0000000000000");
    assert_eq!(n("2").power(&n("0.5")).unwrap().to_string(), "1.4142135623730950");
    assert_eq!(n("1000").log(&n("10")).unwrap().to_string(), "3.0000000000000000");
}

#[test]
fn sums() {
    let mut sum = NumericSum::default();
    for text in ["1.5", "2.25", "1e40", "-1e40", "3"] {
        sum.add(&stored(text));
    }
    assert_eq!(sum.total().to_string(), "6.75");
    assert_eq!(sum.average().unwrap().to_string(), "1.3500000000000000");
    let back = NumericSum::from_bytes(&sum.to_bytes()).unwrap();
    assert_eq!(back.total().to_string(), "6.75");
}
