//! Settings that change the form of values.

/// The first word of `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateStyle {
    /// `2024-01-31`
    #[default]
    Iso,
    /// `31/01/2024`
    Sql,
    /// `Wed Jan 31 2024`
    Postgres,
    /// `31.01.2024`
    German,
}

/// The second word of `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    /// Year, month, day.
    Ymd,
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    #[default]
    Mdy,
}

/// `IntervalStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IntervalStyle {
    /// `1 day 02:03:04`
    #[default]
    Postgres,
    /// `@ 1 day 2 hours 3 mins 4 secs`
    PostgresVerbose,
    /// `1 2:03:04`
    SqlStandard,
    /// `P1DT2H3M4S`
    Iso8601,
}

/// `bytea_output`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ByteaOutput {
    /// `\xdeadbeef`
    #[default]
    Hex,
    /// Octal escapes.
    Escape,
}

/// The settings that reading and writing values looks at.
#[derive(Clone, Debug)]
pub struct Format {
    /// `DateStyle`, first word.
    pub date_style: DateStyle,
    /// `DateStyle`, second word.
    pub date_order: DateOrder,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `extra_float_digits`.
    pub extra_float_digits: i32,
    /// `bytea_output`.
    pub bytea_output: ByteaOutput,
    /// `xmloption` is `document`.
    pub xml_document: bool,
    /// `xmlbinary` is `base64`.
    pub xml_base64: bool,
    /// `array_nulls`: NULL in an array's text, without quotes, is no value.
    pub array_nulls: bool,
    /// `client_encoding`: what text in binary form is converted from and to.
    pub client_encoding: crate::encoding::Encoding,
    /// `TimeZone`.
    pub timezone: std::sync::Arc<crate::datetime::TimeZone>,
}

impl PartialEq for Format {
    /// Time zones are the same if they were looked up as one.
    fn eq(&self, other: &Format) -> bool {
        self.date_style == other.date_style
            && self.date_order == other.date_order
            && self.interval_style == other.interval_style
            && self.extra_float_digits == other.extra_float_digits
            && self.bytea_output == other.bytea_output
            && self.xml_document == other.xml_document
            && self.xml_base64 == other.xml_base64
            && self.array_nulls == other.array_nulls
            && std::sync::Arc::ptr_eq(&self.timezone, &other.timezone)
    }
}

impl Default for Format {
    fn default() -> Format {
        Format {
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            xml_document: false,
            xml_base64: true,
            array_nulls: true,
            client_encoding: crate::encoding::Encoding::UTF8,
            timezone: crate::datetime::TimeZone::utc(),
        }
    }
}
