//! The portals of a session, by name.

use super::prepared::Portal;
use std::collections::HashMap;

/// Portals by name. The unnamed one, which most statements of most clients go through, has a place
/// of its own that costs no look-up.
#[derive(Default)]
pub(crate) struct Portals {
    unnamed: Option<Portal>,
    named: HashMap<String, Portal, foldhash::fast::RandomState>,
}

impl Portals {
    /// The portal of this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Portal> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(name) }
    }

    /// True if there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Adds a portal, in place of one that has its name.
    #[inline]
    pub fn insert(&mut self, portal: Portal) {
        if portal.name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(portal.name.clone(), portal);
        }
    }

    /// Takes one away.
    #[inline]
    pub fn remove(&mut self, name: &str) -> Option<Portal> {
        if name.is_empty() { self.unnamed.take() } else { self.named.remove(name) }
    }

    /// Keeps those that are wanted.
    #[inline]
    pub fn retain(&mut self, wanted: impl Fn(&Portal) -> bool) {
        if self.unnamed.as_ref().is_some_and(|p| !wanted(p)) {
            self.unnamed = None;
        }
        if !self.named.is_empty() {
            self.named.retain(|_, p| wanted(p));
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Portal> {
        self.unnamed.iter().chain(self.named.values())
    }

    /// All of them, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Portal> {
        self.unnamed.iter_mut().chain(self.named.values_mut())
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.unnamed.is_none() && self.named.is_empty()
    }
}
