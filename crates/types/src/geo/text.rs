//! Text forms of geometric values.

use super::{Circle, Line, Lseg, Path, Point, Polygon, Rect, near_zero};
use crate::io::{f64_text_with, parse_f64};
use base::{Error, Result, err};

struct Scan<'a> {
    text: &'a str,
    at: usize,
    name: &'static str,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, name: &'static str) -> Scan<'a> {
        Scan { text, at: 0, name }
    }

    #[cold]
    fn bad(&self) -> Error {
        let (name, text) = (self.name, self.text);
        err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {name}: \"{text}\"")
    }

    fn blanks(&mut self) {
        let b = self.text.as_bytes();
        while b.get(self.at).is_some_and(|c| matches!(c, b' ' | b'\t'..=b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.at += found as usize;
        found
    }

    fn want(&mut self, c: u8) -> Result<()> {
        if self.eat(c) { Ok(()) } else { Err(self.bad()) }
    }

    fn end(&mut self) -> Result<()> {
        self.blanks();
        if self.at == self.text.len() { Ok(()) } else { Err(self.bad()) }
    }

    /// A number, with blanks around it.
    fn number(&mut self) -> Result<f64> {
        self.blanks();
        let rest = &self.text[self.at..];
        let stop = |c: char| c.is_ascii_whitespace() || ",()[]<>{}".contains(c);
        let word = &rest[..rest.find(stop).unwrap_or(rest.len())];
        let x = parse_f64(word).map_err(|e| {
            if e.code() == base::SqlState::NUMERIC_VALUE_OUT_OF_RANGE { e } else { self.bad() }
        })?;
        self.at += word.len();
        self.blanks();
        Ok(x)
    }

    /// `x,y` or `(x,y)`.
    fn pair(&mut self) -> Result<Point> {
        self.blanks();
        let wrapped = self.eat(b'(');
        let x = self.number()?;
        self.want(b',')?;
        let y = self.number()?;
        if wrapped {
            self.want(b')')?;
            self.blanks();
        }
        Ok(Point { x, y })
    }

    /// `n` pairs, perhaps in brackets (which make an open path) or in parentheses.
    fn pairs(&mut self, n: usize, brackets: bool) -> Result<(Vec<Point>, bool)> {
        self.blanks();
        let open = self.peek() == Some(b'[');
        let mut depth = 0;
        if open {
            if !brackets {
                return Err(self.bad());
            }
            self.at += 1;
            depth = 1;
        } else if self.peek() == Some(b'(') {
            // The parenthesis is around all of it if another one follows, or there is no other.
            let rest = &self.text[self.at + 1..];
            let nested = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
            if nested.starts_with('(') || !rest.contains('(') {
                self.at += 1;
                depth = 1;
            }
        }
        let mut points = Vec::with_capacity(n.min(1 << 16));
        for _ in 0..n {
            points.push(self.pair()?);
            self.eat(b',');
        }
        if depth > 0 {
            // A bracket may be closed by a parenthesis.
            if !(open && self.eat(b']')) {
                self.want(b')')?;
            }
            self.blanks();
        }
        Ok((points, open))
    }

    /// How many pairs there seem to be.
    fn count(&self) -> Result<usize> {
        let commas = self.text.bytes().filter(|c| *c == b',').count();
        if commas % 2 == 0 { Err(self.bad()) } else { Ok(commas.div_ceil(2)) }
    }
}

/// Reads a point.
pub fn point_in(text: &str) -> Result<Point> {
    let mut s = Scan::new(text, "point");
    let p = s.pair()?;
    s.end()?;
    Ok(p)
}

fn two(text: &str, name: &'static str, brackets: bool) -> Result<[Point; 2]> {
    let mut s = Scan::new(text, name);
    let (points, _) = s.pairs(2, brackets)?;
    s.end()?;
    Ok([points[0], points[1]])
}

/// Reads a line segment.
pub fn lseg_in(text: &str) -> Result<Lseg> {
    Ok(Lseg { p: two(text, "lseg", true)? })
}

/// Reads a box.
pub fn box_in(text: &str) -> Result<Rect> {
    let [p, q] = two(text, "box", false)?;
    Ok(Rect::new(p, q))
}

/// Reads a line.
pub fn line_in(text: &str) -> Result<Line> {
    let mut s = Scan::new(text, "line");
    s.blanks();
    let line = if s.eat(b'{') {
        let a = s.number()?;
        s.want(b',')?;
        let b = s.number()?;
        s.want(b',')?;
        let c = s.number()?;
        s.want(b'}')?;
        s.end()?;
        if near_zero(a) && near_zero(b) {
            return Err(err!(
                INVALID_TEXT_REPRESENTATION,
                "invalid line specification: A and B cannot both be zero"
            ));
        }
        Line { a, b, c }
    } else {
        let [p, q] = two(text, "line", true)?;
        if p.same(q) {
            return Err(err!(
                INVALID_TEXT_REPRESENTATION,
                "invalid line specification: must be two distinct points"
            ));
        }
        Line::with_slope(p, p.slope(q))
    };
    Ok(line)
}

/// Reads a path.
pub fn path_in(text: &str) -> Result<Path> {
    let mut s = Scan::new(text, "path");
    let n = s.count()?;
    let (points, open) = s.pairs(n, true)?;
    s.end()?;
    Ok(Path { closed: !open, points })
}

/// Reads a polygon.
pub fn polygon_in(text: &str) -> Result<Polygon> {
    let mut s = Scan::new(text, "polygon");
    let n = s.count()?;
    let (points, _) = s.pairs(n, false)?;
    s.end()?;
    Ok(Polygon { points })
}

/// Reads a circle.
pub fn circle_in(text: &str) -> Result<Circle> {
    let mut s = Scan::new(text, "circle");
    s.blanks();
    let mut close = None;
    if s.eat(b'<') {
        close = Some(b'>');
    } else if s.peek() == Some(b'(') {
        let rest = text[s.at + 1..].trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        if rest.starts_with('(') {
            s.at += 1;
            close = Some(b')');
        }
    }
    let center = s.pair()?;
    s.eat(b',');
    let radius = s.number()?;
    if radius < 0.0 {
        return Err(s.bad());
    }
    if let Some(close) = close {
        s.want(close)?;
    }
    s.end()?;
    Ok(Circle { center, radius })
}

fn pair(p: Point, digits: i32) -> String {
    format!("({},{})", f64_text_with(p.x, digits), f64_text_with(p.y, digits))
}

fn list(points: &[Point], digits: i32) -> String {
    points.iter().map(|p| pair(*p, digits)).collect::<Vec<_>>().join(",")
}

/// A point's text; `digits` is `extra_float_digits`.
pub fn point_text(p: &Point, digits: i32) -> String {
    pair(*p, digits)
}

/// A line segment's text.
pub fn lseg_text(l: &Lseg, digits: i32) -> String {
    format!("[{}]", list(&l.p, digits))
}

/// A line's text.
pub fn line_text(l: &Line, digits: i32) -> String {
    let n = |x| f64_text_with(x, digits);
    format!("{{{},{},{}}}", n(l.a), n(l.b), n(l.c))
}

/// A box's text.
pub fn box_text(b: &Rect, digits: i32) -> String {
    list(&[b.high, b.low], digits)
}

/// A path's text.
pub fn path_text(p: &Path, digits: i32) -> String {
    let inner = list(&p.points, digits);
    if p.closed { format!("({inner})") } else { format!("[{inner}]") }
}

/// A polygon's text.
pub fn polygon_text(p: &Polygon, digits: i32) -> String {
    format!("({})", list(&p.points, digits))
}

/// A circle's text.
pub fn circle_text(c: &Circle, digits: i32) -> String {
    format!("<{},{}>", pair(c.center, digits), f64_text_with(c.radius, digits))
}
