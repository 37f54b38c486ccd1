//! Option lists.

use super::*;

pub(super) fn option(name: impl Into<String>, value: Option<DefValue>, pos: Pos) -> DefElem {
    DefElem { namespace: None, name: name.into(), value, action: DefAction::Unspecified, pos }
}

pub(super) fn flag(name: &str, value: bool, pos: Pos) -> DefElem {
    option(name, Some(DefValue::Bool(value)), pos)
}

pub(super) fn text_option(name: &str, value: String, pos: Pos) -> DefElem {
    option(name, Some(DefValue::String(value)), pos)
}

/// A number's text as the smallest value that holds it.
pub(super) fn number(text: String) -> DefValue {
    match text.parse() {
        Ok(n) => DefValue::Integer(n),
        Err(_) => DefValue::Float(text),
    }
}

impl Parser<'_> {
    /// def_arg.
    pub(super) fn def_arg(&mut self) -> Result<DefValue> {
        Ok(match self.tok().kind {
            T::Str => DefValue::String(self.sconst()?),
            T::Int | T::Float => number(self.numeric_only()?),
            T::Plus | T::Minus if matches!(self.ahead(1).kind, T::Int | T::Float) => {
                number(self.numeric_only()?)
            }
            T::Keyword => {
                let token = self.tok();
                if token.kw == Kw::Operator && self.ahead(1).kind == T::LParen {
                    return Ok(DefValue::Operator(self.operator_name()?));
                }
                if token.kw == Kw::None {
                    self.bump();
                    return Ok(DefValue::String("none".into()));
                }
                if token.kw.category() == Some(Category::Reserved) {
                    self.bump();
                    return Ok(DefValue::String(self.name_of(token)));
                }
                DefValue::Type(self.func_type()?)
            }
            T::Ident => DefValue::Type(self.func_type()?),
            _ => DefValue::Operator(self.operator_name()?),
        })
    }

    /// definition: `( name [= value], .. )`.
    pub(super) fn definition(&mut self) -> Result<Vec<DefElem>> {
        self.paren_list(|p| {
            let pos = p.pos();
            let name = p.col_label()?;
            let value = if p.accept(T::Eq) { Some(p.def_arg()?) } else { None };
            Ok(option(name, value, pos))
        })
    }

    pub(super) fn opt_definition(&mut self) -> Result<Vec<DefElem>> {
        if self.accept_kw(Kw::With) { self.definition() } else { Ok(Vec::new()) }
    }

    /// reloptions: names may have a namespace.
    pub(super) fn reloptions(&mut self) -> Result<Vec<DefElem>> {
        self.paren_list(|p| {
            let pos = p.pos();
            let mut name = p.col_label()?;
            let mut namespace = None;
            if p.accept(T::Dot) {
                namespace = Some(std::mem::replace(&mut name, p.col_label()?));
            }
            let value = if p.accept(T::Eq) { Some(p.def_arg()?) } else { None };
            Ok(DefElem { namespace, ..option(name, value, pos) })
        })
    }

    /// WITH reloptions, if there.
    pub(super) fn opt_reloptions(&mut self) -> Result<Vec<DefElem>> {
        if self.is_kw(Kw::With) && self.ahead(1).kind == T::LParen {
            self.bump();
            return self.reloptions();
        }
        Ok(Vec::new())
    }

    /// utility_option_list: names without `=`.
    pub(super) fn utility_options(&mut self) -> Result<Vec<DefElem>> {
        self.paren_list(|p| {
            let pos = p.pos();
            let name = if p.is_any(&[Kw::Analyze, Kw::Analyse]) {
                p.bump();
                "analyze".to_owned()
            } else if p.is_kw(Kw::Format) {
                p.bump();
                "format".to_owned()
            } else {
                p.non_reserved_word()?
            };
            let value = match p.tok().kind {
                T::Comma | T::RParen => None,
                T::Int | T::Float | T::Plus | T::Minus => Some(number(p.numeric_only()?)),
                _ => Some(DefValue::String(p.opt_boolean_or_string()?)),
            };
            Ok(option(name, value, pos))
        })
    }

    /// TRUE, FALSE, ON, a word or a string, as a string.
    pub(super) fn opt_boolean_or_string(&mut self) -> Result<String> {
        if self.is(T::Str) {
            return self.sconst();
        }
        if self.is_any(&[Kw::True, Kw::False, Kw::On]) {
            let token = self.bump();
            return Ok(self.name_of(token));
        }
        self.non_reserved_word()
    }

    pub(super) fn word_or_sconst(&mut self) -> Result<String> {
        if self.is(T::Str) { self.sconst() } else { self.non_reserved_word() }
    }

    /// create_generic_options: OPTIONS (name 'value', ..).
    pub(super) fn create_options(&mut self) -> Result<Vec<DefElem>> {
        if !self.accept_kw(Kw::Options) {
            return Ok(Vec::new());
        }
        self.paren_list(|p| {
            let pos = p.pos();
            let name = p.col_label()?;
            Ok(text_option(&name, p.sconst()?, pos))
        })
    }

    /// alter_generic_options: OPTIONS ([ADD | SET | DROP] name ['value'], ..).
    pub(super) fn alter_options(&mut self) -> Result<Vec<DefElem>> {
        self.expect_kw(Kw::Options)?;
        self.paren_list(|p| {
            let pos = p.pos();
            let action = match p.kw() {
                Kw::Set if p.ahead(1).kind != T::Str => DefAction::Set,
                Kw::Add if p.ahead(1).kind != T::Str => DefAction::Add,
                Kw::Drop if p.ahead(1).kind != T::Str => DefAction::Drop,
                _ => DefAction::Unspecified,
            };
            if action != DefAction::Unspecified {
                p.bump();
            }
            let name = p.col_label()?;
            let mut value = None;
            if action != DefAction::Drop {
                value = Some(DefValue::String(p.sconst()?));
            }
            Ok(DefElem { action, ..option(name, value, pos) })
        })
    }

    pub(super) fn opt_tablespace(&mut self) -> Result<Option<String>> {
        if self.accept_kw(Kw::Tablespace) { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    pub(super) fn opt_access_method(&mut self) -> Result<Option<String>> {
        if self.accept_kw(Kw::Using) { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    pub(super) fn opt_include(&mut self) -> Result<Vec<String>> {
        if self.accept_kw(Kw::Include) { self.paren_list(|p| p.col_id()) } else { Ok(Vec::new()) }
    }

    /// WITH DATA (false) / WITH NO DATA (true).
    pub(super) fn opt_no_data(&mut self) -> bool {
        if self.accept_kws(&[Kw::With, Kw::No, Kw::Data]) {
            return true;
        }
        self.accept_kws(&[Kw::With, Kw::Data]);
        false
    }
}
