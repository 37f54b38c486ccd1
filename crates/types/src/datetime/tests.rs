use super::*;
use crate::io::Format;

fn ts(text: &str) -> String {
    let format = Format::default();
    let d = match decode_date_time(text, &format, 0) {
        Ok(d) => d,
        Err(e) => return e.into_error(text, "timestamp").message().to_string(),
    };
    let mut out = Vec::new();
    match d.local() {
        Ok(local) => write_timestamp(local, None, &format, &mut out),
        Err(e) => return e.into_error(text, "timestamp").message().to_string(),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn timestamps_in_many_forms() {
    let first = "1997-02-10 17:32:01";
    for text in [
        "Mon Feb 10 17:32:01 1997",
        "1997-02-10 17:32:01",
        "19970210 173201",
        "1997/02/10 17:32:01-08",
        "Feb-10-1997 17:32:01 -0800",
        "10 Feb 1997 17:32:01",
        "1997.041 17:32:01",
        "20000210T173201".replace("2000", "1997").as_str(),
        "J2450490 17:32:01",
        "February 10, 1997 5:32:01 pm",
    ] {
        assert_eq!(ts(text), first, "{text}");
    }
    assert_eq!(ts("0001-01-01 00:00:00 BC"), "0001-01-01 00:00:00 BC");
    assert_eq!(ts("2024-02-30"), "date/time field value out of range: \"2024-02-30\"");
    assert_eq!(ts("hello"), "invalid input syntax for type timestamp: \"hello\"");
    assert_eq!(ts("1997-02-10 17:32:01.4999999"), "1997-02-10 17:32:01.5");
}

#[test]
fn zones_know_their_changes() {
    let zone = TimeZone::by_name("america/new_york").unwrap();
    assert_eq!(zone.name, "America/New_York");
    let local = |text: &str| {
        let d = decode_date_time(text, &Format::default(), 0).unwrap();
        zone.offset_of_local(d.local().unwrap())
    };
    assert_eq!(local("2024-01-15 12:00"), -5 * 3600);
    assert_eq!(local("2024-07-15 12:00"), -4 * 3600);
    assert_eq!(local("2024-03-10 02:30"), -5 * 3600);
    assert_eq!(local("2024-11-03 01:30"), -5 * 3600);
    assert_eq!(local("2090-07-15 12:00"), -4 * 3600);
    assert_eq!(TimeZone::by_name("<+03>-3").unwrap().at(0).offset, 3 * 3600);
}

#[test]
fn intervals() {
    use crate::io::IntervalStyle::*;
    let show = |text: &str, style| {
        let mut out = Vec::new();
        match decode_interval(text, -1, style) {
            Ok(i) => write_interval(&i, style, &mut out),
            Err(e) => return e.message().to_string(),
        }
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        show("1 year 2 mons 3 days 04:05:06.7", Postgres),
        "1 year 2 mons 3 days 04:05:06.7"
    );
    assert_eq!(show("@ 1 minute ago", Postgres), "-00:01:00");
    assert_eq!(show("1.5 weeks", Postgres), "10 days 12:00:00");
    assert_eq!(show("P1Y2M3DT4H5M6S", Iso8601), "P1Y2M3DT4H5M6S");
    assert_eq!(show("-1 days +02:03", Postgres), "-1 days +02:03:00");
    assert_eq!(show("1 2:03:04", SqlStandard), "1 2:03:04");
    assert_eq!(show("1-2", Postgres), "1 year 2 mons");
    assert_eq!(
        show("4 ago ago", Postgres),
        "invalid input syntax for type interval: \"4 ago ago\""
    );
    assert_eq!(show("-3 hours -4 secs", PostgresVerbose), "@ 3 hours 4 secs ago");
}
