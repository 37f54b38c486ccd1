//! Rules to places, and places to weights.
//!
//! Every primary that a rule is relative to has a list of nodes. A node is stronger or weaker; what
//! follows a node up to the next one that is as strong is its part of the order. Nodes of the root
//! have their weights, tailored ones get theirs when all the rules are read: as many weights as are
//! needed between two of the root.

use super::parse::{Parsed, Step};
use super::root::UNASSIGNED;
use super::root::{ACCENTS, Base, COMMON, COMMON_BOTH, Context, JAMO, TERTIARY_BITS, TRAILING};
use super::{Failure, Level, Position, Result};
use std::collections::BTreeMap;
use unicode_normalization::UnicodeNormalization;

/// The longest expansion that a table can have.
const MAX_ELEMENTS: usize = 31;
/// Below every weight of the root on its level.
const BEFORE: u16 = 0x0100;
/// The last secondary that sort keys use for runs of the common one.
const LAST_COMMON_SECONDARY: u16 = 0x4500;

/// A collation element while the rules are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Element {
    Root(u64),
    /// That of a node; `case` is the two bits of case in their place.
    Node {
        node: usize,
        level: Level,
        case: u16,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    Root(u32),
    Tailored,
}

#[derive(Debug)]
struct Node {
    level: Level,
    weight: Weight,
    /// Weights below the common one follow, and then a node for the common one: on the
    /// secondary and on the tertiary level.
    has_before: [bool; 2],
    next: Option<usize>,
    previous: Option<usize>,
    /// The element of a tailored node, when weights are given out.
    element: u64,
}

/// What rules make of the elements of a locale.
pub(super) struct Tailoring<'a> {
    base: &'a Base<'a>,
    nodes: Vec<Node>,
    /// The node of each primary of the root.
    heads: BTreeMap<u32, usize>,
    map: BTreeMap<char, Vec<Context<Element>>>,
    /// Where the last reset or relation has brought us.
    at: Vec<Element>,
    /// The first primary after those that are variable.
    regular: u32,
}

/// Whether rules move accents that have a table of their own.
pub(super) fn moves_accents(parsed: &Parsed) -> bool {
    parsed.steps.iter().any(|step| match step {
        Step::Relation { text, .. } => text.nfd().next().is_some_and(|c| ACCENTS.contains(&c)),
        Step::Suppress(set) => set.iter().any(|c| ACCENTS.contains(c)),
        _ => false,
    })
}

/// The index of a level below the first among flags and weights.
fn below_primary(level: Level) -> usize {
    usize::from(level == Level::Tertiary)
}

/// The level on which an element of the root differs from nothing; none for nothing.
fn level_of(element: u64) -> Option<Level> {
    match element {
        e if e >> 32 != 0 => Some(Level::Primary),
        e if e >> 16 != 0 => Some(Level::Secondary),
        e if e >> 8 != 0 => Some(Level::Tertiary),
        _ => None,
    }
}

/// The weight of an element of the root on a level.
fn weight_of(element: u64, level: Level) -> u32 {
    match level {
        Level::Primary => (element >> 32) as u32,
        Level::Secondary => element as u32 >> 16,
        _ => u32::from(element as u16 & TERTIARY_BITS),
    }
}

impl<'a> Tailoring<'a> {
    /// Takes the steps of rules.
    pub(super) fn of(base: &'a Base<'a>, parsed: &Parsed) -> Result<Tailoring<'a>> {
        let group = usize::from(parsed.settings.max_variable.unwrap_or(1));
        let last = base.special.last_primaries.get(group).unwrap_or_default();
        let mut t = Tailoring {
            base,
            nodes: Vec::new(),
            heads: BTreeMap::new(),
            map: BTreeMap::new(),
            at: Vec::new(),
            regular: u32::from(last) << 16,
        };
        if moves_accents(parsed) {
            // Their table is given up, so all of them need a place here.
            for c in base.accents() {
                t.contexts_of(c);
            }
        }
        for step in &parsed.steps {
            match step {
                Step::Reset(before, text) => {
                    t.at = t.elements(&text.nfd().collect::<Vec<_>>());
                    if t.at.len() > MAX_ELEMENTS {
                        return Err(Failure::Argument);
                    }
                    t.reset_before(*before)?;
                }
                Step::ResetAt(before, position) => {
                    let element = t.position(*position)?;
                    t.at = vec![element];
                    t.reset_before(*before)?;
                }
                Step::Relation { level, prefix, text, extension } => {
                    t.relation(*level, prefix, text, extension)?;
                }
                Step::Suppress(set) => {
                    for c in set {
                        t.contexts_of(*c).retain(|x| x.prefix.is_empty() && x.suffix.is_empty());
                    }
                }
            }
        }
        t.give_weights()?;
        Ok(t)
    }

    /// Characters with what they are in all their places, by their final elements.
    pub(super) fn finished(&self) -> Vec<(char, Vec<Context<u64>>)> {
        let finish = |x: &Context<Element>| Context {
            prefix: x.prefix.clone(),
            suffix: x.suffix.clone(),
            elements: x.elements.iter().map(|e| self.finish(*e)).filter(|e| *e != 0).collect(),
            digit: x.digit,
        };
        self.map.iter().map(|(c, all)| (*c, all.iter().map(finish).collect())).collect()
    }

    fn finish(&self, element: Element) -> u64 {
        match element {
            Element::Root(e) => e,
            Element::Node { node, case, .. } => self.nodes[node].element | u64::from(case),
        }
    }

    fn contexts_of(&mut self, c: char) -> &mut Vec<Context<Element>> {
        let base = self.base;
        self.map.entry(c).or_insert_with(|| {
            let of_root = |x: Context<u64>| Context {
                prefix: x.prefix,
                suffix: x.suffix,
                elements: x.elements.into_iter().map(Element::Root).collect(),
                digit: x.digit,
            };
            base.of(c).into_iter().map(of_root).collect()
        })
    }

    /// The elements of a decomposed text, as the rules have made them so far.
    fn elements(&self, text: &[char]) -> Vec<Element> {
        let mut out = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let c = text[at];
            let (before, after) = (&text[..at], &text[at + 1..]);
            at += 1;
            at += match self.map.get(&c) {
                Some(all) => take(all, before, after, |e| out.push(*e)),
                None => take(&self.base.of(c), before, after, |e| out.push(Element::Root(*e))),
            };
        }
        out
    }

    fn level_of(&self, element: Element) -> Option<Level> {
        match element {
            Element::Root(e) => level_of(e),
            Element::Node { level, .. } => Some(level),
        }
    }

    /// Moves the place of a reset to just before it.
    fn reset_before(&mut self, before: Option<Level>) -> Result<()> {
        let Some(level) = before else { return Ok(()) };
        let mut index = self.node_of_place(level)?;
        while self.nodes[index].level > level {
            index = self.previous(index);
        }
        let node = &self.nodes[index];
        let mut own = Some(level);
        if node.level == level && node.weight == Weight::Tailored {
            index = self.previous(index);
        } else if level == Level::Primary {
            index = self.before_primary(index)?;
        } else {
            index = self.before_weak(index, level)?;
            own = self.at.last().and_then(|e| self.level_of(*e));
        }
        if let Some(last) = self.at.last_mut() {
            *last = Element::Node { node: index, level: own.unwrap_or(level), case: 0 };
        }
        Ok(())
    }

    /// The last node of the primary before that of a node.
    fn before_primary(&mut self, index: usize) -> Result<usize> {
        let Weight::Root(primary) = self.nodes[index].weight else {
            return Err(Failure::Unsupported);
        };
        if primary <= self.base.first_primary() || primary == TRAILING {
            return Err(Failure::Unsupported);
        }
        let before = self.base.primary_before(primary);
        let mut last = self.head(before);
        while let Some(next) = self.nodes[last].next {
            last = next;
        }
        Ok(last)
    }

    /// The node before one on the secondary or the tertiary level.
    fn before_weak(&mut self, index: usize, level: Level) -> Result<usize> {
        let mut index = self.common(index, Level::Secondary);
        if level == Level::Tertiary {
            index = self.common(index, Level::Tertiary);
        }
        if self.nodes[index].level != level {
            let weight = self.weight_before(index, level);
            return Ok(self.weak(index, weight, level));
        }
        if self.nodes[index].weight == Weight::Root(0) {
            return Err(Failure::Unsupported);
        }
        let weight = self.weight_before(index, level);
        let previous = self.previous(index);
        let mut at = previous;
        let has = loop {
            let node = &self.nodes[at];
            match node.weight {
                _ if node.level < level => break COMMON,
                Weight::Root(w) if node.level == level => break w as u16,
                _ => at = self.previous(at),
            }
        };
        if has == weight {
            return Ok(previous);
        }
        Ok(self.insert(previous, level, Weight::Root(u32::from(weight))))
    }

    /// The weight of the root before that of a node.
    fn weight_before(&self, mut index: usize, level: Level) -> u16 {
        let mut weights = [COMMON, COMMON];
        for (slot, strongest) in [(1, Level::Tertiary), (0, Level::Secondary)] {
            let node = &self.nodes[index];
            if node.level == strongest
                && let Weight::Root(w) = node.weight
            {
                weights[slot] = w as u16;
            }
            while self.nodes[index].level >= strongest {
                index = self.previous(index);
            }
            if slot == 1 && self.nodes[index].weight == Weight::Tailored {
                return BEFORE;
            }
        }
        let Weight::Root(primary) = self.nodes[index].weight else { return BEFORE };
        let (all, weight) = match level {
            Level::Secondary => (self.base.secondaries(primary), weights[0]),
            _ => (self.base.tertiaries(primary, weights[0]), weights[1]),
        };
        let lowest = match level {
            Level::Secondary if primary == 0 => 0,
            Level::Tertiary if primary == 0 && weights[0] == 0 => 0,
            _ => BEFORE,
        };
        all.into_iter().take_while(|w| *w < weight).last().unwrap_or(lowest)
    }

    fn relation(
        &mut self,
        level: Option<Level>,
        prefix: &str,
        text: &str,
        extension: &str,
    ) -> Result<()> {
        let text: Vec<char> = text.nfd().collect();
        let prefix: Vec<char> = prefix.nfd().collect();
        let jamo = |c: Option<&char>| c.is_some_and(|c| JAMO.contains(c));
        if text.len() > 1 && (jamo(text.first()) || jamo(text.last())) {
            return Err(Failure::Unsupported);
        }
        if text.iter().chain(&prefix).any(|c| JAMO.contains(c)) {
            return Err(Failure::NotYet("Hangul"));
        }
        if prefix.len() > 2 {
            return Err(Failure::NotYet("a prefix of more than two characters"));
        }
        if let Some(level) = level {
            let index = self.node_of_place(level)?;
            let last = self.at.last().copied().unwrap_or(Element::Root(0));
            let strength = self.level_of(last);
            let nothing = match level {
                Level::Primary => strength != Some(Level::Primary),
                Level::Quaternary => last == Element::Root(0),
                _ => false,
            };
            if nothing {
                return Err(Failure::Unsupported);
            }
            let node = self.insert_after(index, level);
            let level = strength.map_or(level, |s| s.min(level));
            if let Some(last) = self.at.last_mut() {
                *last = Element::Node { node, level, case: 0 };
            }
        }
        self.set_case(&text);
        let mut elements = self.at.clone();
        if !extension.is_empty() {
            elements.extend(self.elements(&extension.nfd().collect::<Vec<_>>()));
            if elements.len() > MAX_ELEMENTS {
                return Err(Failure::Argument);
            }
        }
        let Some((first, suffix)) = text.split_first() else { return Ok(()) };
        let mut own = Context { prefix, suffix: suffix.to_vec(), elements, digit: None };
        let all = self.contexts_of(*first);
        if own.prefix.is_empty() && own.suffix.is_empty() {
            own.digit = all.last().and_then(|plain| plain.digit);
        }
        all.retain(|x| x.prefix != own.prefix || x.suffix != own.suffix);
        all.push(own);
        all.sort_by_key(|x| x.prefix.is_empty() && x.suffix.is_empty());
        Ok(())
    }

    /// Gives the elements of a tailored text the case that it has in the root.
    fn set_case(&mut self, text: &[char]) {
        let of_primary = |t: &Self, e: &Element| t.level_of(*e) == Some(Level::Primary);
        let count = self.at.iter().filter(|e| of_primary(self, e)).count();
        let mut found: Vec<u16> = Vec::new();
        for c in text {
            let primaries = self.base.plain_of_root(*c).into_iter().filter(|e| e >> 32 != 0);
            found.extend(primaries.map(|e| e as u16 & 0xc000));
        }
        if found.len() > count && count > 0 {
            let rest = found.split_off(count - 1);
            let same = rest.iter().all(|c| *c == rest[0]);
            found.push(if same { rest[0] } else { 0x4000 });
        }
        let mut cases = found.into_iter();
        let levels: Vec<Option<Level>> = self.at.iter().map(|e| self.level_of(*e)).collect();
        for (element, level) in self.at.iter_mut().zip(levels) {
            let bits = match level {
                Some(Level::Primary) => cases.next().unwrap_or(0),
                Some(Level::Tertiary) => 0x8000,
                _ => 0,
            };
            match element {
                Element::Root(e) => *e = *e & !0xc000 | u64::from(bits),
                Element::Node { case, .. } => *case = bits,
            }
        }
    }
}

/// Nodes.
impl Tailoring<'_> {
    fn previous(&self, index: usize) -> usize {
        self.nodes[index].previous.unwrap_or(index)
    }

    fn insert(&mut self, after: usize, level: Level, weight: Weight) -> usize {
        let index = self.nodes.len();
        let next = self.nodes[after].next.replace(index);
        if let Some(next) = next {
            self.nodes[next].previous = Some(index);
        }
        self.nodes.push(Node {
            level,
            weight,
            has_before: [false; 2],
            next,
            previous: Some(after),
            element: 0,
        });
        index
    }

    /// The node of a primary of the root.
    fn head(&mut self, primary: u32) -> usize {
        let new = self.nodes.len();
        let index = *self.heads.entry(primary).or_insert(new);
        if index == new {
            self.nodes.push(Node {
                level: Level::Primary,
                weight: Weight::Root(primary),
                has_before: [false; 2],
                next: None,
                previous: None,
                element: 0,
            });
        }
        index
    }

    /// The node of the place where we are, after which one of a level would come; elements that
    /// are too weak for it are given up.
    fn node_of_place(&mut self, level: Level) -> Result<usize> {
        while self.at.last().is_some_and(|e| self.level_of(*e).is_none_or(|own| own > level)) {
            self.at.pop();
        }
        match self.at.last().copied() {
            None => {
                self.at.push(Element::Root(0));
                Ok(self.node_of_root(0, level))
            }
            Some(Element::Node { node, .. }) => Ok(node),
            Some(Element::Root(e)) if e >> 56 == u64::from(UNASSIGNED >> 24) => {
                Err(Failure::Unsupported)
            }
            Some(Element::Root(e)) => Ok(self.node_of_root(e, level)),
        }
    }

    fn node_of_root(&mut self, element: u64, level: Level) -> usize {
        let mut index = self.head(weight_of(element, Level::Primary));
        for weak in [Level::Secondary, Level::Tertiary] {
            if level >= weak {
                index = self.weak(index, weight_of(element, weak) as u16, weak);
            }
        }
        index
    }

    /// The node of a weight of the root below a node, made if it is not there.
    fn weak(&mut self, mut index: usize, weight: u16, level: Level) -> usize {
        if weight == COMMON {
            return self.common(index, level);
        }
        let slot = below_primary(level);
        if weight != 0 && weight < COMMON && !self.nodes[index].has_before[slot] {
            self.nodes[index].has_before[slot] = true;
            let own = self.insert(index, level, Weight::Root(u32::from(weight)));
            let common = self.insert(own, level, Weight::Root(u32::from(COMMON)));
            if level == Level::Secondary {
                let tertiary = std::mem::take(&mut self.nodes[index].has_before[1]);
                self.nodes[common].has_before[1] = tertiary;
            }
            return own;
        }
        while let Some(next) = self.nodes[index].next {
            let node = &self.nodes[next];
            if node.level < level {
                break;
            }
            if node.level == level
                && let Weight::Root(w) = node.weight
            {
                if w == u32::from(weight) {
                    return next;
                }
                if w > u32::from(weight) {
                    break;
                }
            }
            index = next;
        }
        self.insert(index, level, Weight::Root(u32::from(weight)))
    }

    /// The node of the common weight below a node; it is the node itself where that is implied.
    fn common(&self, index: usize, level: Level) -> usize {
        let node = &self.nodes[index];
        if node.level >= level || !node.has_before[below_primary(level)] {
            return index;
        }
        let mut at = index;
        while let Some(next) = self.nodes[at].next {
            at = next;
            let node = &self.nodes[at];
            if node.level == level
                && matches!(node.weight, Weight::Root(w) if w >= u32::from(COMMON))
            {
                break;
            }
        }
        at
    }

    /// A new tailored node, behind all that is weaker after its place.
    fn insert_after(&mut self, mut index: usize, level: Level) -> usize {
        if level >= Level::Secondary {
            index = self.common(index, Level::Secondary);
        }
        if level >= Level::Tertiary {
            index = self.common(index, Level::Tertiary);
        }
        while let Some(next) = self.nodes[index].next.filter(|n| self.nodes[*n].level > level) {
            index = next;
        }
        self.insert(index, level, Weight::Tailored)
    }
}

/// Named positions.
impl Tailoring<'_> {
    fn position(&mut self, position: Position) -> Result<Element> {
        let base = self.base;
        let of_primary = |p: u32| u64::from(p) << 32 | COMMON_BOTH;
        let secondary =
            |found: Option<&u16>| found.map_or(0, |s| u64::from(*s) << 16 | u64::from(COMMON));
        let tertiary = |found: Option<&u16>| found.map_or(0, |t| u64::from(*t) | 0x8000);
        let known = |all: Vec<u16>| all.into_iter().filter(|w| *w != 0).collect::<Vec<_>>();
        Ok(match position {
            Position::TertiaryIgnorable => Element::Root(0),
            Position::FirstSecondaryIgnorable => {
                let first = tertiary(known(base.tertiaries(0, 0)).first());
                self.first_ignorable(first, Level::Tertiary)
            }
            Position::LastSecondaryIgnorable => {
                self.last(tertiary(known(base.tertiaries(0, 0)).last()), Level::Tertiary)
            }
            Position::FirstPrimaryIgnorable => {
                let first = secondary(known(base.secondaries(0)).first());
                self.first_ignorable(first, Level::Secondary)
            }
            Position::LastPrimaryIgnorable => {
                self.last(secondary(known(base.secondaries(0)).last()), Level::Secondary)
            }
            Position::FirstVariable => self.first(base.first_primary()),
            Position::LastVariable => {
                self.last(of_primary(base.primary_before(self.regular)), Level::Primary)
            }
            Position::FirstRegular => self.first(base.primary_from(self.regular)),
            Position::LastRegular => {
                // All that has a script of its own is before the ideographs.
                self.last(of_primary(base.first_ideograph()), Level::Primary)
            }
            Position::FirstImplicit => {
                let element = base.of('\u{4e00}').pop().and_then(|x| x.elements.first().copied());
                Element::Root(element.unwrap_or(0))
            }
            Position::FirstTrailing => self.first(TRAILING),
            Position::LastImplicit => return Err(Failure::Unsupported),
            Position::LastTrailing => return Err(Failure::Argument),
        })
    }

    /// The first of a group: what was tailored before all of the root's, if anything.
    fn first(&mut self, primary: u32) -> Element {
        let level = Level::Primary;
        let mut element = Element::Root(u64::from(primary) << 32 | COMMON_BOTH);
        let mut index = self.head(primary);
        if self.nodes[index].has_before == [false; 2] {
            // The first primary of a group marks it; no text has it.
            if let Some(next) = self.nodes[index].next {
                index = next;
                element = Element::Node { node: index, level, case: 0 };
            } else {
                let next = self.base.primary_after(primary);
                index = self.head(next);
                element = Element::Root(u64::from(next) << 32 | COMMON_BOTH);
            }
        }
        self.first_before(index, level).unwrap_or(element)
    }

    /// What was tailored before a node on a weaker level.
    fn first_before(&self, index: usize, level: Level) -> Option<Element> {
        let mut at = index;
        for slot in 0..2 {
            if self.nodes[at].has_before[slot] {
                let behind = self.nodes[at].next.and_then(|n| self.nodes[n].next);
                at = behind.unwrap_or(at);
            }
        }
        (at != index).then_some(Element::Node { node: at, level, case: 0 })
    }

    fn first_ignorable(&mut self, root: u64, level: Level) -> Element {
        let nothing = self.node_of_root(0, level);
        let next = self.nodes[nothing].next;
        if let Some(next) = next
            && self.nodes[next].weight == Weight::Tailored
            && self.nodes[next].level == level
        {
            return Element::Node { node: next, level, case: 0 };
        }
        let index = self.node_of_root(root, level);
        self.first_before(index, level).unwrap_or(Element::Root(root))
    }

    /// The last that was tailored after an element of the root.
    fn last(&mut self, root: u64, level: Level) -> Element {
        let mut index = self.node_of_root(root, level);
        while let Some(next) = self.nodes[index].next.filter(|n| self.nodes[*n].level >= level) {
            index = next;
        }
        match self.nodes[index].weight {
            Weight::Tailored => Element::Node { node: index, level, case: 0 },
            Weight::Root(_) => Element::Root(root),
        }
    }
}

/// The values of the bytes of a weight.
struct Bytes([(u32, u32); 4]);

impl Bytes {
    const SECONDARY: Bytes = Bytes([(3, 0xff), (2, 0xff), (0, 0), (0, 0)]);
    const TERTIARY: Bytes = Bytes([(3, 0x3f), (2, 0x3f), (0, 0), (0, 0)]);

    /// The place among all weights of full length of the first that is at least this one.
    fn place(&self, weight: u32) -> u64 {
        let (mut place, mut past) = (0u64, false);
        for (n, (low, high)) in self.0.iter().enumerate() {
            let byte = weight >> (24 - 8 * n) & 0xff;
            let count = u64::from(high - low + 1);
            place *= count;
            if !past {
                place += u64::from(byte.saturating_sub(*low)).min(count);
                past = byte < *low || byte > *high;
            }
        }
        place
    }

    fn weight(&self, mut place: u64) -> u32 {
        let mut weight = 0;
        for (n, (low, high)) in self.0.iter().enumerate().rev() {
            let count = u64::from(high - low + 1);
            weight |= (*low + (place % count) as u32) << (24 - 8 * n);
            place /= count;
        }
        weight
    }

    /// Weights between two, apart from each other. No weight begins with the lower one if there
    /// is room for that, so that sort keys stay in order too.
    fn between(&self, lower: u32, upper: u32, count: usize) -> Result<Vec<u32>> {
        let count = count as u64;
        let end = self.place(upper);
        let step = 1u32 << (lower.trailing_zeros() & !7).min(24);
        let beside = self.place(lower.saturating_add(step));
        let behind = self.place(lower) + u64::from(self.weight(self.place(lower)) == lower);
        let start = [beside, behind]
            .into_iter()
            .find(|start| *start + count <= end)
            .ok_or(Failure::NoRoom)?;
        let gap = (end - start) / count;
        Ok((0..count).map(|n| self.weight(start + gap / 2 + n * gap)).collect())
    }
}

/// Where giving out weights has come to.
#[derive(Default)]
struct Given {
    weights: [u32; 3],
    tailored: [bool; 3],
    /// What is left of the weights that were made for a run, the next one last.
    left: [Vec<u32>; 3],
    quaternary: u64,
}

/// Weights.
impl Tailoring<'_> {
    fn give_weights(&mut self) -> Result<()> {
        for (primary, head) in self.heads.clone() {
            let common = if primary == 0 { 0 } else { u32::from(COMMON) };
            let mut given = Given { weights: [primary, common, common], ..Given::default() };
            let mut at = self.nodes[head].next;
            while let Some(index) = at {
                self.give(index, &mut given)?;
                at = self.nodes[index].next;
            }
        }
        Ok(())
    }

    fn give(&mut self, index: usize, given: &mut Given) -> Result<()> {
        let (level, weight) = (self.nodes[index].level, self.nodes[index].weight);
        if level == Level::Quaternary {
            given.quaternary += 1;
            if given.quaternary > 3 {
                return Err(Failure::NoRoom);
            }
        } else {
            let own = level as usize;
            match weight {
                Weight::Root(w) => {
                    given.weights[own] = w;
                    given.tailored[own] = false;
                }
                Weight::Tailored => {
                    if !given.tailored[own] {
                        given.left[own] = self.weights_from(index, level, given)?;
                        given.tailored[own] = true;
                    }
                    given.weights[own] = given.left[own].pop().ok_or(Failure::NoRoom)?;
                }
            }
            for weaker in own + 1..3 {
                let nothing = weaker == 2 && given.weights[1] == 0;
                given.weights[weaker] = if nothing { 0 } else { u32::from(COMMON) };
                given.tailored[weaker] = false;
            }
            given.quaternary = 0;
        }
        if weight == Weight::Tailored {
            let [p, s, t] = given.weights.map(u64::from);
            self.nodes[index].element = p << 32 | s << 16 | t | given.quaternary << 6;
        }
        Ok(())
    }

    /// Weights for the tailored nodes of a level from a node on, the first one last.
    fn weights_from(&self, index: usize, level: Level, given: &Given) -> Result<Vec<u32>> {
        let mut count = 0;
        let mut at = Some(index);
        while let Some(n) = at {
            let node = &self.nodes[n];
            if node.level < level || node.level == level && node.weight != Weight::Tailored {
                break;
            }
            count += usize::from(node.level == level);
            at = node.next;
        }
        let [p, s, t] = given.weights;
        let of_root = !given.tailored[..level as usize].iter().any(|t| *t);
        let mut out = match level {
            Level::Primary => {
                let compressible = self.base.is_compressible((p >> 24) as u8);
                let second = if compressible { (4, 0xfe) } else { (2, 0xff) };
                let bytes = Bytes([(3, 0xff), second, (2, 0xff), (2, 0xff)]);
                bytes.between(p, self.base.primary_after(p), count)?
            }
            Level::Secondary => {
                let limit = u32::from(self.base.secondary_limit());
                let after = || self.base.secondaries(p).into_iter().map(u32::from);
                let (lower, upper) = match s {
                    0 => (limit - 0x100, after().find(|w| *w > 0).unwrap_or(limit + 0x100)),
                    _ if of_root && p == 0 => (s, after().find(|w| *w > s).unwrap_or(0xffff)),
                    _ if of_root => (s, after().find(|w| *w > s).unwrap_or(limit)),
                    _ if s == u32::from(BEFORE) => (s, u32::from(COMMON)),
                    _ => (s, limit),
                };
                let common = lower == u32::from(COMMON);
                let lower = if common { u32::from(LAST_COMMON_SECONDARY) } else { lower };
                wide(&Bytes::SECONDARY, lower, upper, count)?
            }
            _ => {
                let limit = u32::from(self.base.tertiary_limit());
                let after = || self.base.tertiaries(p, s as u16).into_iter().map(u32::from);
                let (lower, upper) = match t {
                    0 => (limit - 0x100, after().find(|w| *w > 0).unwrap_or(limit + 0x100)),
                    _ if of_root && s == 0 => (t, after().find(|w| *w > t).unwrap_or(0x4000)),
                    _ if of_root => (t, after().find(|w| *w > t).unwrap_or(limit)),
                    _ if t == u32::from(BEFORE) => (t, u32::from(COMMON)),
                    _ => (t, limit),
                };
                wide(&Bytes::TERTIARY, lower, upper, count)?
            }
        };
        out.reverse();
        Ok(out)
    }
}

/// Weights of 16 bits between two.
fn wide(bytes: &Bytes, lower: u32, upper: u32, count: usize) -> Result<Vec<u32>> {
    let all = bytes.between(lower << 16, upper << 16, count)?;
    Ok(all.into_iter().map(|w| w >> 16).collect())
}

/// Takes what a character is in its place, the longest there is; how many characters after it
/// belong to it.
fn take<T>(all: &[Context<T>], before: &[char], after: &[char], push: impl FnMut(&T)) -> usize {
    let best = all
        .iter()
        .filter(|x| before.ends_with(&x.prefix) && after.starts_with(&x.suffix))
        .max_by_key(|x| (x.prefix.len(), x.suffix.len()));
    let Some(best) = best else { return 0 };
    best.elements.iter().for_each(push);
    best.suffix.len()
}
