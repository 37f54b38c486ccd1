//! Whether text is JSON, quickly: no tokens, no values, no message. What is refused here is read
//! again by who can say what is wrong.

/// Nesting that a word of bits holds.
const DEPTH_MAX: u32 = 64;

/// True if the text is JSON. False may also mean that it is nested too deeply to tell.
pub(super) fn is_json(text: &str) -> bool {
    let mut s = Scan { b: text.as_bytes(), at: 0 };
    s.document().is_some()
}

struct Scan<'a> {
    b: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// The next byte that is no blank.
    #[inline]
    fn skip(&mut self) -> Option<u8> {
        loop {
            match *self.b.get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                c => return Some(c),
            }
        }
    }

    fn document(&mut self) -> Option<()> {
        // Which of the open containers are objects, the innermost lowest.
        let (mut objects, mut depth) = (0u64, 0u32);
        loop {
            let opened = match self.skip()? {
                b'{' => {
                    self.at += 1;
                    let empty = self.skip()? == b'}';
                    if !empty {
                        self.key()?;
                    }
                    Some((true, empty))
                }
                b'[' => {
                    self.at += 1;
                    Some((false, self.skip()? == b']'))
                }
                b'"' => {
                    self.string()?;
                    None
                }
                b'-' | b'0'..=b'9' => {
                    self.number()?;
                    None
                }
                _ => {
                    self.word()?;
                    None
                }
            };
            match opened {
                Some((_, true)) => self.at += 1,
                Some((object, false)) => {
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return None;
                    }
                    objects = objects << 1 | u64::from(object);
                    continue;
                }
                None => {}
            }
            // A value is complete.
            loop {
                if depth == 0 {
                    return self.skip().is_none().then_some(());
                }
                let c = self.skip()?;
                self.at += 1;
                match (c, objects & 1 == 1) {
                    (b',', true) => {
                        if self.skip()? != b'"' {
                            return None;
                        }
                        self.key()?;
                        break;
                    }
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => {
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// A key with its colon.
    #[inline]
    fn key(&mut self) -> Option<()> {
        if self.b.get(self.at) != Some(&b'"') {
            return None;
        }
        self.string()?;
        let colon = self.skip()? == b':';
        self.at += 1;
        colon.then_some(())
    }

    #[inline]
    fn string(&mut self) -> Option<()> {
        let mut at = self.at + 1;
        loop {
            at += plain(&self.b[at..]);
            match *self.b.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    return Some(());
                }
                b'\\' => match *self.b.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'u' => {
                        let digits = self.b.get(at + 2..at + 6)?;
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        at += 6;
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn digits(&mut self) -> usize {
        let rest = &self.b[self.at.min(self.b.len())..];
        let n = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        self.at += n;
        n
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.b[self.at] == b'-');
        if self.b.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else if self.digits() == 0 {
            return None;
        }
        if self.b.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return None;
            }
        }
        if matches!(self.b.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.b.get(self.at), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return None;
            }
        }
        self.ended()
    }

    fn word(&mut self) -> Option<()> {
        let rest = &self.b[self.at..];
        let word = [&b"true"[..], b"false", b"null"].into_iter().find(|w| rest.starts_with(w))?;
        self.at += word.len();
        self.ended()
    }

    /// Nothing that would make a longer word follows.
    fn ended(&self) -> Option<()> {
        let more = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_' || *c >= 0x80;
        (!self.b.get(self.at).is_some_and(more)).then_some(())
    }
}

/// How many bytes there are before a quote, a backslash or a control character.
#[inline]
fn plain(b: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    // High bits of the bytes that are zero (and perhaps of ones above them).
    let zeros = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
    let mut at = 0;
    while let Some(Ok(word)) = b.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let x = u64::from_le_bytes(word);
        let control = x.wrapping_sub(ONES * 0x20) & !x & HIGHS;
        let found =
            control | zeros(x ^ (ONES * u64::from(b'"'))) | zeros(x ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = b[at..].iter().position(|c| *c < 0x20 || *c == b'"' || *c == b'\\');
    at + rest.unwrap_or(b.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_tokens() {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"\\u12aF\"",
            "\"\\x\"",
            "\"ä\t\"",
            "1",
            "-0.5e+7",
            "01",
            "1.",
            "true",
            "nulls",
            " ",
            "\n",
            "\"long enough to take a word \\\\ or two\"",
        ];
        let mut seed = 7u64;
        let mut next = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        for _ in 0..20_000 {
            let text: String = (0..1 + next(9)).map(|_| pieces[next(pieces.len())]).collect();
            assert_eq!(
                is_json(&text),
                super::super::parse::validate_slowly(&text).is_ok(),
                "{text}"
            );
        }
        for text in ["{\"a\":[1,{\"b\":null}],\"c\":\"x\"}", "[[],{}, [1,2] ]", " 5 ", "\"\""] {
            assert!(is_json(text), "{text}");
        }
    }
}
