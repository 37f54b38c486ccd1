//! `pg_test_timing`: how long it takes to look at the clock.

use crate::options::{Given, flag, with_value};

const NAME: &str = "pg_test_timing";
const USAGE: &str = "Usage: pg_test_timing [-d DURATION]\n";

/// The program.
pub fn main(args: &[String]) -> i32 {
    let flags = [with_value('d', "duration"), flag('V', "version"), flag('?', "help")];
    let given = match Given::begin(NAME, USAGE, args, &flags, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    if let Some(extra) = given.operands.first() {
        return misused(&format!("too many command-line arguments (first is \"{extra}\")"));
    }
    let seconds = match given.get("duration").map(str::parse::<u32>) {
        None => 3,
        Some(Ok(n)) if n > 0 => n,
        Some(Ok(_)) => {
            eprintln!("{NAME}: --duration must be in range 1..{}", u32::MAX);
            return 1;
        }
        Some(Err(_)) => return misused("invalid argument for option --duration"),
    };
    let plural = if seconds == 1 { "second" } else { "seconds" };
    println!("Testing timing overhead for {seconds} {plural}.");
    let (loops, total, histogram) = measure(u64::from(seconds) * 1_000_000_000);
    println!("Per loop time including overhead: {:.2} ns", total as f64 / loops as f64);
    print!("{}", table(loops, &histogram));
    0
}

/// This program says it in fewer words than the others.
fn misused(text: &str) -> i32 {
    eprintln!("{NAME}: {text}\nTry \"{NAME} --help\" for more information.");
    1
}

/// Looks at the clock again and again: how often, how long in all, and how many steps were below
/// each power of two microseconds.
fn measure(span: u64) -> (u64, u64, [u64; 32]) {
    let mut histogram = [0u64; 32];
    let start = os::clock::monotonic_nanos();
    let (mut loops, mut now) = (0, start);
    while now - start < span {
        let next = os::clock::monotonic_nanos();
        let mut micros = (next - now) / 1000;
        let mut bits = 0;
        while micros > 0 {
            micros >>= 1;
            bits += 1;
        }
        histogram[bits.min(31)] += 1;
        now = next;
        loops += 1;
    }
    (loops, now - start, histogram)
}

fn table(loops: u64, histogram: &[u64; 32]) -> String {
    let mut out = String::from("Histogram of timing durations:\n");
    out.push_str(&format!("{:>6}   {:>10} {:>10}\n", "< us", "% of total", "count"));
    let last = histogram.iter().rposition(|n| *n > 0).unwrap_or(0);
    for (i, count) in histogram[..=last].iter().enumerate() {
        let share = *count as f64 * 100.0 / loops as f64;
        out.push_str(&format!("{:>6}    {share:9.5} {count:>10}\n", 1u64 << i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut histogram = [0; 32];
        (histogram[0], histogram[2]) = (3, 1);
        let text = table(4, &histogram);
        assert_eq!(text.lines().count(), 5);
        assert_eq!(text.lines().nth(2), Some("     1     75.00000          3"));
        assert_eq!(text.lines().last(), Some("     4     25.00000          1"));
    }
}
