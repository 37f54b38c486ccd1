//! Characters and their elements to the tables that the crate reads.
//!
//! A trie gives each character 32 bits: its element in a short form, or where its elements or its
//! places are. Places are a default and a trie of UTF-16 units, one for prefixes (read backwards)
//! and one for what follows.

use super::order::Tailoring;
use super::root::{Base, COMMON_BOTH, Context, FALLBACK};
use super::{Failure, Result};
use icu_collator::provider::CollationData;
use icu_collections::codepointtrie::{CodePointTrie, CodePointTrieHeader, TrieType};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use unicode_normalization::char::canonical_combining_class;
use zerovec::ZeroVec;

/// What the trie gives for what is no character.
const ERROR: u32 = 0xfffd_0505;
/// How many places a list can have for short forms to point to.
const MAX_INDEX: usize = 1 << 19;

/// The lists that short forms point to.
#[derive(Default)]
struct Lists {
    ces: Vec<u64>,
    ce32s: Vec<u32>,
    contexts: Vec<u16>,
}

impl Tailoring<'_> {
    /// The table of this tailoring, with that of the locale under it.
    pub(super) fn table(&self, base: &Base<'_>) -> Result<CollationData<'static>> {
        let mut lists = Lists::default();
        if let Some(own) = base.tailored {
            lists.ces = own.ces.iter().collect();
            lists.ce32s = own.ce32s.iter().collect();
            lists.contexts = own.contexts.iter().collect();
        }
        let mut tailored = BTreeMap::new();
        for (c, all) in self.finished() {
            tailored.insert(c as u32, lists.character(&all)?);
        }
        let value = |c: u32| match (tailored.get(&c), base.tailored) {
            (Some(own), _) => *own,
            (None, Some(base)) => base.trie.get32(c),
            (None, None) => FALLBACK,
        };
        let nothing =
            |all: Range<u32>| base.tailored.is_none() && tailored.range(all).next().is_none();
        Ok(CollationData {
            trie: trie(value, nothing)?,
            ces: ZeroVec::alloc_from_slice(&lists.ces),
            ce32s: ZeroVec::alloc_from_slice(&lists.ce32s),
            contexts: ZeroVec::alloc_from_slice(&lists.contexts),
        })
    }
}

impl Lists {
    /// The short form of elements.
    fn elements(&mut self, elements: &[u64]) -> Result<u32> {
        if elements.is_empty() {
            return Ok(0);
        }
        if let [e] = elements {
            let (primary, low) = ((e >> 32) as u32, *e as u32);
            if primary & 0xffff == 0 && low & 0x00ff_00ff == 0 && low >> 8 & 0xff < FALLBACK {
                return Ok(primary | low >> 16 & 0xff00 | low >> 8 & 0xff);
            }
            if primary & 0xff == 0 && u64::from(low) == COMMON_BOTH {
                return Ok(primary | 0xc1);
            }
            if primary == 0 && low & 0xff == 0 {
                return Ok(low | 0xc2);
            }
        }
        let at = self.ces.len();
        if elements.len() > 31 || at + elements.len() >= MAX_INDEX {
            return Err(Failure::NoRoom);
        }
        self.ces.extend(elements);
        Ok((at as u32) << 13 | (elements.len() as u32) << 8 | 0xc6)
    }

    /// The short form of what a character is in one place.
    fn place(&mut self, context: &Context<u64>) -> Result<u32> {
        let plain = self.elements(&context.elements)?;
        let Some(digit) = context.digit else { return Ok(plain) };
        self.ce32s.push(plain);
        Ok((self.ce32s.len() as u32 - 1) << 13 | u32::from(digit) << 8 | 0xca)
    }

    /// The short form of a character with all its places.
    fn character(&mut self, all: &[Context<u64>]) -> Result<u32> {
        let mut by_prefix: BTreeMap<Vec<char>, Vec<&Context<u64>>> = BTreeMap::new();
        for context in all {
            let backwards: Vec<char> = context.prefix.iter().rev().copied().collect();
            by_prefix.entry(backwards).or_default().push(context);
        }
        let plain = by_prefix.remove(&vec![]).unwrap_or_default();
        let default = self.suffixes(&plain, 0)?;
        if by_prefix.is_empty() {
            return Ok(default);
        }
        let mut forms: Vec<(Vec<char>, u32)> = Vec::new();
        for (prefix, all) in by_prefix {
            // What has no place of its own after this prefix is as after a shorter one.
            let shorter = forms.iter().rev().find(|(p, _)| prefix.starts_with(p));
            let form = self.suffixes(&all, shorter.map_or(default, |(_, form)| *form))?;
            forms.push((prefix, form));
        }
        self.list(default, &forms, 0xc8)
    }

    /// The short form of places that differ by what follows; `default` is for where there is no
    /// plain one.
    fn suffixes(&mut self, all: &[&Context<u64>], default: u32) -> Result<u32> {
        let (plain, more): (Vec<&Context<u64>>, Vec<&Context<u64>>) =
            all.iter().partition(|x| x.suffix.is_empty());
        let default = match plain.first() {
            Some(plain) => self.place(plain)?,
            None => default,
        };
        if more.is_empty() {
            return Ok(default);
        }
        let accent = |c: Option<&char>| c.is_some_and(|c| canonical_combining_class(*c) != 0);
        let mut flags = 0;
        if more.iter().all(|x| accent(x.suffix.first())) {
            flags |= 0x200;
        }
        if more.iter().any(|x| accent(x.suffix.last())) {
            flags |= 0x400;
        }
        if more.iter().any(|x| x.suffix.iter().any(|c| !accent(Some(c)))) {
            flags |= 0x800;
        }
        let mut forms = Vec::new();
        for context in more {
            forms.push((context.suffix.clone(), self.place(context)?));
        }
        self.list(default, &forms, 0xc9 | flags)
    }

    fn list(&mut self, default: u32, forms: &[(Vec<char>, u32)], kind: u32) -> Result<u32> {
        let at = self.contexts.len();
        if at >= MAX_INDEX {
            return Err(Failure::NoRoom);
        }
        self.contexts.extend([(default >> 16) as u16, default as u16]);
        let mut units: Vec<(Vec<u16>, u32)> = forms
            .iter()
            .map(|(text, form)| (text.iter().collect::<String>().encode_utf16().collect(), *form))
            .collect();
        units.sort();
        node(&mut self.contexts, &units, 0);
        Ok((at as u32) << 13 | kind)
    }
}

/// Writes the node of a trie of UTF-16 units that the texts from `depth` on make.
fn node(out: &mut Vec<u16>, texts: &[(Vec<u16>, u32)], depth: usize) {
    let (own, texts) = match texts.split_first() {
        Some(((text, form), rest)) if text.len() == depth => (Some(*form), rest),
        _ => (None, texts),
    };
    let halves = |form: u32| [(form >> 16) as u16, form as u16];
    let mut branches: Vec<&[(Vec<u16>, u32)]> =
        texts.chunk_by(|a, b| a.0[depth] == b.0[depth]).collect();
    let kind = match (branches.len(), own) {
        (0, Some(form)) => {
            out.push(0xffff);
            out.extend(halves(form));
            return;
        }
        (0, None) => return,
        // One unit to match, then the next node.
        (1, _) => 0x30,
        (n, _) if n <= 0x30 => n as u16 - 1,
        _ => 0,
    };
    match own {
        Some(form) => {
            out.push(0x7fc0 | kind);
            out.extend(halves(form));
        }
        None => out.push(kind),
    }
    if let [only] = branches[..] {
        out.push(only[0].0[depth]);
        return node(out, only, depth + 1);
    }
    if kind == 0 {
        out.push(branches.len() as u16 - 1);
    }
    branch(out, &mut branches, depth);
}

/// Writes the branches of a node: halves, down to five, and then one after the other.
fn branch(out: &mut Vec<u16>, branches: &mut [&[(Vec<u16>, u32)]], depth: usize) {
    if branches.len() > 5 {
        let (low, high) = branches.split_at_mut(branches.len() / 2);
        out.push(high[0][0].0[depth]);
        let jump = out.len();
        out.extend([0xffff, 0, 0]);
        branch(out, high, depth);
        point(out, jump);
        return branch(out, low, depth);
    }
    let Some((last, first)) = branches.split_last() else { return };
    let mut jumps = Vec::new();
    for texts in first {
        out.push(texts[0].0[depth]);
        if let [(text, form)] = texts
            && text.len() == depth + 1
        {
            out.extend([0xffff, (form >> 16) as u16, *form as u16]);
        } else {
            jumps.push((out.len(), *texts));
            out.extend([0x7fff, 0, 0]);
        }
    }
    out.push(last[0].0[depth]);
    node(out, last, depth + 1);
    for (jump, texts) in jumps {
        point(out, jump);
        node(out, texts, depth + 1);
    }
}

/// Makes a jump lead to the end of what is written.
fn point(out: &mut [u16], jump: usize) {
    let distance = (out.len() - jump - 3) as u32;
    out[jump + 1] = (distance >> 16) as u16;
    out[jump + 2] = distance as u16;
}

/// A trie of a value for each character: blocks that are the same are there once. `nothing` tells
/// of blocks where all is as in the root.
fn trie(
    value: impl Fn(u32) -> u32,
    nothing: impl Fn(Range<u32>) -> bool,
) -> Result<CodePointTrie<'static, u32>> {
    const BMP_BLOCK: u32 = 64;
    const BLOCK: u32 = 16;
    /// How many blocks a block of the index is for, on each of its levels.
    const FAN: usize = 32;
    let mut data: Vec<u32> = Vec::new();
    let mut blocks: HashMap<Vec<u32>, usize> = HashMap::new();
    let mut place = |data: &mut Vec<u32>, start: u32, length: u32| -> Result<u16> {
        let block: Vec<u32> = match nothing(start..start + length) {
            true => vec![FALLBACK; length as usize],
            false => (start..start + length).map(&value).collect(),
        };
        let at = *blocks.entry(block).or_insert_with_key(|block| {
            data.extend(block);
            data.len() - block.len()
        });
        u16::try_from(at).map_err(|_| Failure::NotYet("this many characters of their own"))
    };
    let mut index: Vec<u16> = Vec::new();
    for start in (0..0x1_0000).step_by(BMP_BLOCK as usize) {
        index.push(place(&mut data, start, BMP_BLOCK)?);
    }
    // Beyond the first plane: an entry for 16384 characters, to entries for 512, to those for 16.
    let first = index.len();
    index.resize(first + (0x11_0000 - 0x1_0000) / (FAN * FAN * BLOCK as usize), 0);
    let mut same: HashMap<Vec<u16>, usize> = HashMap::new();
    let mut put = |index: &mut Vec<u16>, entries: Vec<u16>| -> Result<u16> {
        let at = *same.entry(entries).or_insert_with_key(|entries| {
            index.extend(entries);
            index.len() - entries.len()
        });
        u16::try_from(at).ok().filter(|at| *at < 0x8000).ok_or(Failure::NoRoom)
    };
    let mut start = 0x1_0000;
    let mut slot = first;
    while start < 0x11_0000 {
        let mut second = Vec::new();
        for _ in 0..FAN {
            let mut third = Vec::new();
            for _ in 0..FAN {
                third.push(place(&mut data, start, BLOCK)?);
                start += BLOCK;
            }
            second.push(put(&mut index, third)?);
        }
        index[slot] = put(&mut index, second)?;
        slot += 1;
    }
    // The value of what is beyond the last character, and that of what is none.
    data.extend([FALLBACK, ERROR]);
    let header = CodePointTrieHeader {
        high_start: 0x11_0000,
        shifted12_high_start: 0x110,
        index3_null_offset: 0x7fff,
        data_null_offset: 0xf_ffff,
        null_value: FALLBACK,
        trie_type: TrieType::Fast,
    };
    let (index, data) = (ZeroVec::alloc_from_slice(&index), ZeroVec::alloc_from_slice(&data));
    CodePointTrie::try_new(header, index, data).map_err(|_| Failure::NoRoom)
}
