//! `ts_headline`: the part of a text that shows best why it matches a query.

use super::Lexer;
use crate::scalar::ts_parse::{Kind, Token, parse};
use base::{Result, bail};
use types::ts::{Lexeme, POSITION_MAX, TsQuery, TsVector};

/// What the caller wants.
pub(crate) struct Wishes {
    max_words: i32,
    min_words: i32,
    short_word: i32,
    all: bool,
    max_fragments: i32,
    start: String,
    stop: String,
    between: String,
}

impl Wishes {
    /// Of a list of options `Name=value, ...`.
    pub fn parse(text: &str) -> Result<Wishes> {
        let mut w = Wishes {
            max_words: 35,
            min_words: 15,
            short_word: 3,
            all: false,
            max_fragments: 0,
            start: "<b>".into(),
            stop: "</b>".into(),
            between: " ... ".into(),
        };
        let mut list = options(text)?;
        list.reverse();
        while let Some((name, value)) = list.pop() {
            let number = || match value.trim().parse::<i32>() {
                Ok(n) => Ok(n),
                Err(_) => {
                    bail!(
                        INVALID_TEXT_REPRESENTATION,
                        "invalid input syntax for type integer: \"{value}\""
                    )
                }
            };
            let lower = name.to_ascii_lowercase();
            let marks = [
                ("startsel", "StartSel"),
                ("stopsel", "StopSel"),
                ("fragmentdelimiter", "FragmentDelimiter"),
            ];
            let long = |m: &(&str, &str)| m.0 == lower && value.len() > 32767;
            if let Some((_, shown)) = marks.into_iter().find(long) {
                bail!(PROGRAM_LIMIT_EXCEEDED, "value for \"{shown}\" is too long");
            }
            match lower.as_str() {
                "maxwords" => w.max_words = number()?,
                "minwords" => w.min_words = number()?,
                "shortword" => w.short_word = number()?,
                "maxfragments" => w.max_fragments = number()?,
                "startsel" => w.start = value,
                "stopsel" => w.stop = value,
                "fragmentdelimiter" => w.between = value,
                "highlightall" => {
                    let value = value.to_ascii_lowercase();
                    w.all = ["1", "on", "true", "t", "y", "yes"].contains(&value.as_str());
                }
                _ => bail!(INVALID_PARAMETER_VALUE, "unrecognized headline parameter: \"{name}\""),
            }
        }
        if !w.all {
            if w.min_words >= w.max_words {
                bail!(INVALID_PARAMETER_VALUE, "MinWords must be less than MaxWords");
            }
            if w.min_words <= 0 {
                bail!(INVALID_PARAMETER_VALUE, "MinWords must be positive");
            }
            if w.short_word < 0 {
                bail!(INVALID_PARAMETER_VALUE, "ShortWord must be >= 0");
            }
            if w.max_fragments < 0 {
                bail!(INVALID_PARAMETER_VALUE, "MaxFragments must be >= 0");
            }
        }
        Ok(w)
    }
}

/// A list `name = value, ...`; values may be in quotes.
pub fn options(text: &str) -> Result<Vec<(String, String)>> {
    let wrong =
        || -> base::Error { base::err!(SYNTAX_ERROR, "invalid parameter list format: \"{text}\"") };
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(body) => {
                let (name, used) = quoted(body, '"').ok_or_else(wrong)?;
                (name, &body[used..])
            }
            None => {
                let end = rest.find(|c: char| c == '=' || c.is_whitespace()).ok_or_else(wrong)?;
                (rest[..end].to_string(), &rest[end..])
            }
        };
        let body = after.trim_start().strip_prefix('=').ok_or_else(wrong)?.trim_start();
        let body = match body.strip_prefix(['E', 'e']) {
            Some(escaped) if escaped.starts_with('\'') => escaped,
            _ => body,
        };
        let (value, after) = match body.chars().next() {
            Some(quote @ ('\'' | '"')) => {
                let (value, used) = quoted(&body[1..], quote).ok_or_else(wrong)?;
                (value, &body[1 + used..])
            }
            Some(_) => {
                let end = body.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(body.len());
                (body[..end].to_string(), &body[end..])
            }
            None => return Err(wrong()),
        };
        out.push((name, value));
        rest = after.trim_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(',').ok_or_else(wrong)?.trim_start();
        }
    }
    Ok(out)
}

/// What is before the closing quote, and how much of the text was used.
fn quoted(body: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = body.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' if quote == '\'' => match chars.next() {
                Some((_, escaped)) => out.push(escaped),
                None => return None,
            },
            c if c == quote => match chars.peek() {
                Some((_, again)) if *again == quote => {
                    chars.next();
                    out.push(c);
                }
                _ => return Some((out, i + c.len_utf8())),
            },
            c => out.push(c),
        }
    }
    None
}

/// A token of the text.
struct Word<'a> {
    text: &'a str,
    kind: Kind,
    /// Its place, if it is a word of the query.
    place: Option<u16>,
    shown: bool,
    /// It is of the query: shown between marks.
    marked: bool,
}

impl Word<'_> {
    fn is_part(&self) -> bool {
        matches!(self.kind, Kind::Url | Kind::NumHword | Kind::AsciiHword | Kind::Hword)
    }

    /// Neither counted nor shown as a word.
    fn is_no_word(&self) -> bool {
        matches!(self.kind, Kind::Blank | Kind::Tag) || self.is_part()
    }

    /// A headline had better not end here.
    fn is_bad_end(&self, short: i32) -> bool {
        let number = matches!(
            self.kind,
            Kind::SFloat | Kind::Version | Kind::Float | Kind::Int | Kind::UInt
        );
        let unfit = self.is_no_word() || number || self.text.len() as i32 <= short;
        unfit && self.place.is_none()
    }
}

/// A text with the words of a query found in it.
struct Text<'a> {
    words: Vec<Word<'a>>,
    /// The words of the query and their places.
    found: Vec<(usize, Lexeme)>,
    query: TsQuery,
}

/// The query without weights, which texts do not have.
fn bare(q: &TsQuery) -> TsQuery {
    let both = |a: &TsQuery, b: &TsQuery| (Box::new(bare(a)), Box::new(bare(b)));
    match q {
        TsQuery::Word { word, prefix, .. } => {
            TsQuery::Word { word: word.clone(), weights: 0, prefix: *prefix }
        }
        TsQuery::Not(a) => TsQuery::Not(Box::new(bare(a))),
        TsQuery::And(a, b) => {
            let (a, b) = both(a, b);
            TsQuery::And(a, b)
        }
        TsQuery::Or(a, b) => {
            let (a, b) = both(a, b);
            TsQuery::Or(a, b)
        }
        TsQuery::Phrase(n, a, b) => {
            let (a, b) = both(a, b);
            TsQuery::Phrase(*n, a, b)
        }
    }
}

fn is_of(query: &TsQuery, lexeme: &str) -> bool {
    match query {
        TsQuery::Word { word, prefix: true, .. } => lexeme.starts_with(word.as_str()),
        TsQuery::Word { word, .. } => word == lexeme,
        TsQuery::Not(a) => is_of(a, lexeme),
        TsQuery::And(a, b) | TsQuery::Or(a, b) | TsQuery::Phrase(_, a, b) => {
            is_of(a, lexeme) || is_of(b, lexeme)
        }
    }
}

/// The headline of a text.
pub(crate) fn headline(
    lexer: &mut Lexer,
    text: &str,
    query: Option<&TsQuery>,
    wishes: &Wishes,
) -> Result<String> {
    let tokens = parse(text)?;
    let placed = lexer.token_lexemes(&tokens, &mut 0)?;
    fn word<'t>(t: &Token<'t>) -> Word<'t> {
        Word { text: t.text, kind: t.kind, place: None, shown: false, marked: false }
    }
    let mut words: Vec<Word> = tokens.iter().map(word).collect();
    let mut found = Vec::new();
    if let Some(query) = query {
        for p in placed {
            if is_of(query, &p.norm.word) {
                let place = p.place.min(POSITION_MAX as u32) as u16;
                words[p.token].place = Some(place);
                let positions = vec![(place, 0)];
                found.push((p.token, Lexeme { word: p.norm.word, positions }));
            }
        }
    }
    let query = query.map(bare);
    match query {
        None => {
            let mut t = Text {
                words,
                found,
                query: TsQuery::Word { word: String::new(), weights: 0, prefix: false },
            };
            if wishes.all {
                t.show(0, t.words.len())
            } else {
                t.beginning(wishes)
            }
            Ok(t.print(wishes))
        }
        Some(query) => {
            let mut t = Text { words, found, query };
            if wishes.all {
                t.show(0, t.words.len());
            } else if wishes.max_fragments > 0 {
                t.fragments(wishes);
            } else {
                t.best_part(wishes);
            }
            Ok(t.print(wishes))
        }
    }
}

/// A part of a text that has what a match needs, and how it counts.
struct Cover {
    from: usize,
    to: usize,
    words: i32,
    hits: i32,
    gone: bool,
}

impl Text<'_> {
    fn vector(&self, from: usize, to: usize) -> TsVector {
        let inside = |(token, _): &&(usize, Lexeme)| (from..=to).contains(token);
        TsVector::new(self.found.iter().filter(inside).map(|f| f.1.clone()).collect())
    }

    /// All shortest parts of the text that match, by where they begin.
    fn covers(&self) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let whole = self.vector(0, self.words.len());
        let Some(parts) = self.query.locations(&whole).filter(|l| !l.is_empty()) else {
            return out;
        };
        // Tokens with places, which rise.
        let placed: Vec<(usize, i32)> = (self.words.iter().enumerate())
            .filter_map(|(i, w)| Some((i, i32::from(w.place?))))
            .collect();
        let mut from = 0i32;
        loop {
            // The first end of all parts from here on, then the last begin of each before it.
            let mut end = -1;
            for (places, _) in &parts {
                match places.get(places.partition_point(|p| (*p as i32) < from)) {
                    Some(p) => end = end.max(*p as i32),
                    None => return out,
                }
            }
            let mut begin = i32::MAX - 1;
            for (places, width) in &parts {
                let start = |p: &u16| *p as i32 - *width as i32;
                let before = places.partition_point(|p| start(p) <= end);
                begin = begin.min(before.checked_sub(1).map_or(-1, |i| start(&places[i])));
            }
            begin = begin.max(from);
            if begin <= end {
                let first = placed.get(placed.partition_point(|p| p.1 < begin));
                let upto = placed.partition_point(|p| p.1 <= end);
                if let (Some(&(first, _)), Some(&(last, _))) = (first, placed[..upto].last())
                    && first <= last
                    && self.query.matches(&self.vector(first, last))
                {
                    out.push((first, last));
                }
            }
            from = begin + 1;
        }
    }

    fn counts(&self, i: usize) -> i32 {
        i32::from(!self.words[i].is_no_word())
    }

    fn hits(&self, i: usize) -> i32 {
        i32::from(self.words[i].place.is_some())
    }

    fn bad_end(&self, i: usize, w: &Wishes) -> bool {
        self.words[i].is_bad_end(w.short_word)
    }

    /// One headline around the best cover.
    fn best_part(&mut self, w: &Wishes) {
        let total = self.words.len();
        let mut best: Option<(bool, i32, usize, usize)> = None;
        for (p, q) in self.covers() {
            let (mut len, mut hits, mut begin, mut end) = (0, 0, p, p);
            let mut i = p;
            while i <= q && len < w.max_words {
                len += self.counts(i);
                hits += self.hits(i);
                end = i;
                i += 1;
            }
            if len < w.max_words {
                // There is room behind the cover; it is used up to a good place to end.
                i -= 1;
                while i < total && len < w.max_words {
                    if i != q {
                        len += self.counts(i);
                        hits += self.hits(i);
                    }
                    end = i;
                    if !self.bad_end(i, w) && len >= w.min_words {
                        break;
                    }
                    i += 1;
                }
                if len < w.min_words && i >= total {
                    begin = 0;
                    for i in (0..p).rev() {
                        len += self.counts(i);
                        hits += self.hits(i);
                        if len >= w.max_words || (!self.bad_end(i, w) && len >= w.min_words) {
                            begin = i;
                            break;
                        }
                    }
                }
            } else {
                // The cover is too long: it is cut at a good place.
                let mut i = i.min(q + 1) - 1;
                while len > w.min_words && i > p {
                    if !self.bad_end(i, w) {
                        break;
                    }
                    len -= self.counts(i);
                    hits -= self.hits(i);
                    i -= 1;
                    end = i;
                }
            }
            let whole = begin <= p && end >= q;
            let better = match best {
                None => true,
                Some((whole_before, hits_before, _, end_before)) => {
                    (whole, hits) > (whole_before, hits_before)
                        || (whole, hits) == (whole_before, hits_before)
                            && !self.bad_end(end, w)
                            && self.bad_end(end_before, w)
                }
            };
            if better {
                best = Some((whole, hits, begin, end));
            }
        }
        match best {
            Some((_, _, begin, end)) => self.show(begin, end + 1),
            None => self.beginning(w),
        }
    }

    /// The first words of the text, if nothing was found.
    fn beginning(&mut self, w: &Wishes) {
        let (mut len, mut i) = (0, 0);
        while i < self.words.len() && len < w.min_words {
            len += self.counts(i);
            i += 1;
        }
        self.show(0, i);
    }

    /// The pieces of a cover that have as many words as wanted and begin and end with a hit.
    fn pieces(&self, (p, q): (usize, usize), w: &Wishes, out: &mut Vec<Cover>) {
        let mut from = p;
        while from <= q {
            while from < q && self.words[from].place.is_none() {
                from += 1;
            }
            let (mut len, mut hits, mut i) = (0, 0, from);
            while i <= q && len < w.max_words {
                len += self.counts(i);
                hits += self.hits(i);
                i += 1;
            }
            let mut to = q;
            if q > i {
                to = i;
                while to > from && self.words[to].place.is_none() {
                    len -= self.counts(to);
                    to -= 1;
                }
            }
            out.push(Cover { from, to, words: len, hits, gone: false });
            from = to + 1;
        }
    }

    /// Several pieces, the best ones.
    fn fragments(&mut self, w: &Wishes) {
        let mut covers = Vec::new();
        for cover in self.covers() {
            self.pieces(cover, w, &mut covers);
        }
        let mut any = false;
        for _ in 0..w.max_fragments {
            let mut best: Option<usize> = None;
            for (i, c) in covers.iter().enumerate().filter(|(_, c)| !c.gone) {
                let beats = |b: usize| (c.hits, -c.words) > (covers[b].hits, -covers[b].words);
                if best.map_or(c.hits > 0, beats) {
                    best = Some(i);
                }
            }
            let Some(best) = best else { break };
            covers[best].gone = true;
            let (from, to) = self.stretch(&covers[best], w);
            self.show(from, to + 1);
            any = true;
            for c in covers.iter_mut() {
                if c.from <= to && c.to >= from {
                    c.gone = true;
                }
            }
        }
        if !any {
            self.beginning(w);
        }
    }

    /// A piece with as much of what is around it as there is room for.
    fn stretch(&self, c: &Cover, w: &Wishes) -> (usize, usize) {
        let (mut from, mut to, mut len) = (c.from, c.to, c.words);
        if len >= w.max_words {
            return (from, to);
        }
        let most = (w.max_words - len) / 2;
        let (mut stretched, mut mark) = (0, from);
        for i in (0..c.from).rev() {
            if stretched >= most || self.words[i].shown {
                break;
            }
            len += self.counts(i);
            stretched += self.counts(i);
            mark = i;
        }
        while mark < c.from && self.bad_end(mark, w) {
            len -= self.counts(mark);
            mark += 1;
        }
        from = from.min(mark);
        let mut mark = to;
        for i in c.to + 1..self.words.len() {
            if len >= w.max_words || self.words[i].shown {
                break;
            }
            len += self.counts(i);
            mark = i;
        }
        while mark > c.to && self.bad_end(mark, w) {
            mark -= 1;
        }
        to = to.max(mark);
        (from, to)
    }

    fn show(&mut self, from: usize, to: usize) {
        for word in &mut self.words[from..to] {
            word.shown = true;
            word.marked = word.place.is_some();
        }
    }

    fn print(&self, w: &Wishes) -> String {
        let mut out = String::new();
        let (mut inside, mut count) = (false, 0);
        for word in &self.words {
            if !word.shown {
                inside = false;
                continue;
            }
            if !inside {
                inside = true;
                count += 1;
                if count > 1 {
                    out.push_str(&w.between);
                }
            }
            if word.kind == Kind::Tag && !w.all {
                out.push(' ');
            } else if !word.is_part() {
                if word.marked {
                    out.push_str(&w.start);
                    out.push_str(word.text);
                    out.push_str(&w.stop);
                } else {
                    out.push_str(word.text);
                }
            }
        }
        out
    }
}
