//! Units of numbers: reading `64MB`, showing 65536 kB as `64MB`.

/// The unit of a setting's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Just a number.
    None,
    /// Bytes.
    B,
    /// 1024 bytes.
    KB,
    /// 1024 kB.
    MB,
    /// Pages of 8 kB.
    Blocks,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Minutes.
    Min,
}

/// Memory units and their bytes.
const MEMORY: [(&str, f64); 5] =
    [("B", 1.0), ("kB", 1024.0), ("MB", 1048576.0), ("GB", 1073741824.0), ("TB", 1099511627776.0)];

/// Time units and their microseconds.
const TIME: [(&str, f64); 6] =
    [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("min", 60e6), ("h", 3600e6), ("d", 86400e6)];

impl Unit {
    /// The unit `pg_settings` calls so.
    pub fn from_name(name: &str) -> Unit {
        match name {
            "B" => Unit::B,
            "kB" => Unit::KB,
            "MB" => Unit::MB,
            "8kB" => Unit::Blocks,
            "ms" => Unit::Ms,
            "s" => Unit::S,
            "min" => Unit::Min,
            _ => Unit::None,
        }
    }

    /// Its name in `pg_settings`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::B => "B",
            Unit::KB => "kB",
            Unit::MB => "MB",
            Unit::Blocks => "8kB",
            Unit::Ms => "ms",
            Unit::S => "s",
            Unit::Min => "min",
        }
    }

    /// Its size in bytes or microseconds and the list it belongs to.
    fn base(self) -> Option<(f64, &'static [(&'static str, f64)])> {
        Some(match self {
            Unit::None => return None,
            Unit::B => (1.0, &MEMORY[..]),
            Unit::KB => (1024.0, &MEMORY[..]),
            Unit::MB => (1048576.0, &MEMORY[..]),
            Unit::Blocks => (8192.0, &MEMORY[..]),
            Unit::Ms => (1e3, &TIME[..]),
            Unit::S => (1e6, &TIME[..]),
            Unit::Min => (60e6, &TIME[..]),
        })
    }

    /// A number given in the unit `name`, in this unit.
    pub(super) fn convert(self, number: f64, name: &str) -> Option<f64> {
        let (size, list) = self.base()?;
        let (_, factor) = list.iter().find(|(n, _)| *n == name)?;
        // A conversion to a smaller unit multiplies by an exact factor, to a larger one divides.
        Some(if *factor >= size { number * (factor / size) } else { number / (size / factor) })
    }

    /// The hint for a unit that is not known.
    pub(super) fn hint(self) -> Option<&'static str> {
        Some(match self.base()?.1.len() {
            5 => "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
            _ => {
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", \
                 and \"d\"."
            }
        })
    }

    /// The number in the largest unit that shows it whole.
    pub(super) fn show(self, number: f64) -> String {
        let Some((size, list)) = self.base() else { return plain(number) };
        if number <= 0.0 {
            return plain(number);
        }
        let total = number * size;
        for (name, factor) in list.iter().rev() {
            let n = total / factor;
            if n >= 1.0 && (n - n.round()).abs() <= n * 1e-12 {
                return format!("{}{name}", plain(n.round()));
            }
        }
        let (name, factor) = list[0];
        format!("{}{name}", plain(total / factor))
    }
}

/// A number as C's `%g` shows it, for the numbers settings have.
pub(super) fn plain(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{number:.0}");
    }
    if number.abs() >= 1e15 {
        let text = format!("{number:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{mantissa}e+{exponent}"),
            None => text,
        };
    }
    format!("{number}")
}
