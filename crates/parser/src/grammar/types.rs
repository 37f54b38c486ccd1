//! Names of types.

use super::expr::{mk, plain_type};
use super::*;

/// Bits of an interval's fields, as PostgreSQL numbers them.
mod mask {
    pub const MONTH: i32 = 1 << 1;
    pub const YEAR: i32 = 1 << 2;
    pub const DAY: i32 = 1 << 3;
    pub const HOUR: i32 = 1 << 10;
    pub const MINUTE: i32 = 1 << 11;
    pub const SECOND: i32 = 1 << 12;
    pub const FULL: i32 = 0x7FFF;
}

pub(super) fn system_type(name: &str, pos: Pos) -> TypeName {
    plain_type(vec!["pg_catalog".into(), name.into()], pos)
}

pub(super) fn int_expr(n: i32, pos: Pos) -> Expr {
    mk(ExprKind::Literal(Literal::Integer(n)), pos)
}

impl Parser<'_> {
    /// Typename.
    pub fn type_name(&mut self) -> Result<TypeName> {
        let pos = self.pos();
        let setof = self.accept_kw(Kw::Setof);
        let mut found = self.simple_type(false)?;
        found.setof = setof;
        if setof {
            found.pos = pos;
        }
        self.array_bounds(&mut found)?;
        Ok(found)
    }

    fn array_bounds(&mut self, found: &mut TypeName) -> Result<()> {
        if self.accept_kw(Kw::Array) {
            let mut bound = -1;
            if self.accept(T::LBracket) {
                bound = self.iconst()?;
                self.expect(T::RBracket)?;
            }
            found.array_bounds.push(bound);
            return Ok(());
        }
        while self.accept(T::LBracket) {
            let bound = if self.is(T::RBracket) { -1 } else { self.iconst()? };
            self.expect(T::RBracket)?;
            found.array_bounds.push(bound);
        }
        Ok(())
    }

    /// func_type: also `name%TYPE`.
    pub(super) fn func_type(&mut self) -> Result<TypeName> {
        let start = self.at;
        let pos = self.pos();
        let setof = self.accept_kw(Kw::Setof);
        let first = [Category::Unreserved, Category::TypeFunc];
        if self.token_in(self.tok(), &first) && self.ahead(1).kind == T::Dot {
            let mut names = vec![self.type_function_name()?];
            while self.accept(T::Dot) {
                names.push(self.col_label()?);
            }
            if self.is(T::Percent) && self.kw_ahead(1) == Kw::Type {
                self.at += 2;
                return Ok(TypeName { setof, pct_type: true, ..plain_type(names, pos) });
            }
            self.at = start;
        }
        let mut found = self.type_name()?;
        found.setof |= setof;
        Ok(found)
    }

    /// SimpleTypename; as the type of a literal (`literal`) CHAR and BIT have no length of 1.
    pub(super) fn simple_type(&mut self, literal: bool) -> Result<TypeName> {
        let pos = self.pos();
        let simple = match self.kw() {
            Kw::Int | Kw::Integer => "int4",
            Kw::Smallint => "int2",
            Kw::Bigint => "int8",
            Kw::Real => "float4",
            Kw::Boolean => "bool",
            Kw::Json if self.ahead(1).kind != T::LParen => "json",
            Kw::Float => return self.float_type(),
            Kw::Double if self.kw_ahead(1) == Kw::Precision => {
                self.bump();
                "float8"
            }
            Kw::Decimal | Kw::Dec | Kw::Numeric => {
                self.bump();
                let typmods = self.type_modifiers()?;
                return Ok(TypeName { typmods, ..system_type("numeric", pos) });
            }
            Kw::Bit => return self.bit_type(literal),
            Kw::Character | Kw::Char | Kw::Varchar | Kw::National | Kw::Nchar => {
                return self.character_type(literal);
            }
            Kw::Time | Kw::Timestamp => return self.datetime_type(),
            Kw::Interval => {
                let mut found = self.interval_head()?;
                if found.typmods.is_empty() {
                    found.typmods = self.interval_fields()?;
                }
                return Ok(found);
            }
            _ => return self.generic_type(),
        };
        self.bump();
        Ok(system_type(simple, pos))
    }

    fn generic_type(&mut self) -> Result<TypeName> {
        let pos = self.pos();
        let mut names = vec![self.type_function_name()?];
        while self.accept(T::Dot) {
            names.push(self.col_label()?);
        }
        if self.is(T::Percent) && self.kw_ahead(1) == Kw::Type && names.len() > 1 {
            self.at += 2;
            return Ok(TypeName { pct_type: true, ..plain_type(names, pos) });
        }
        let typmods = self.type_modifiers()?;
        Ok(TypeName { typmods, ..plain_type(names, pos) })
    }

    fn type_modifiers(&mut self) -> Result<Vec<Expr>> {
        if self.is(T::LParen) { self.paren_list(|p| p.expr()) } else { Ok(Vec::new()) }
    }

    fn float_type(&mut self) -> Result<TypeName> {
        let pos = self.pos();
        self.bump();
        if !self.accept(T::LParen) {
            return Ok(system_type("float8", pos));
        }
        let at = self.pos();
        let bits = self.iconst()?;
        self.expect(T::RParen)?;
        let problem = match bits {
            ..=0 => "precision for type float must be at least 1 bit",
            1..=24 => return Ok(system_type("float4", pos)),
            25..=53 => return Ok(system_type("float8", pos)),
            _ => "precision for type float must be less than 54 bits",
        };
        Err(base::err!(INVALID_PARAMETER_VALUE, "{problem}").at(at))
    }

    fn bit_type(&mut self, literal: bool) -> Result<TypeName> {
        let pos = self.pos();
        self.bump();
        let varying = self.accept_kw(Kw::Varying);
        let mut typmods = self.type_modifiers()?;
        if typmods.is_empty() && !varying && !literal {
            typmods.push(int_expr(1, NO_POS));
        }
        Ok(TypeName { typmods, ..system_type(if varying { "varbit" } else { "bit" }, pos) })
    }

    fn character_type(&mut self, literal: bool) -> Result<TypeName> {
        let pos = self.pos();
        let varying = match self.bump().kw {
            Kw::Varchar => true,
            Kw::National => {
                if !self.accept_kw(Kw::Character) {
                    self.expect_kw(Kw::Char)?;
                }
                self.accept_kw(Kw::Varying)
            }
            _ => self.accept_kw(Kw::Varying),
        };
        let mut typmods = Vec::new();
        if self.accept(T::LParen) {
            let at = self.pos();
            typmods.push(int_expr(self.iconst()?, at));
            self.expect(T::RParen)?;
        } else if !varying && !literal {
            typmods.push(int_expr(1, NO_POS));
        }
        Ok(TypeName { typmods, ..system_type(if varying { "varchar" } else { "bpchar" }, pos) })
    }

    fn datetime_type(&mut self) -> Result<TypeName> {
        let pos = self.pos();
        let stamp = self.bump().kw == Kw::Timestamp;
        let mut typmods = Vec::new();
        if self.accept(T::LParen) {
            let at = self.pos();
            typmods.push(int_expr(self.iconst()?, at));
            self.expect(T::RParen)?;
        }
        let zone = self.accept_kws(&[Kw::With, Kw::Time, Kw::Zone]);
        if !zone {
            self.accept_kws(&[Kw::Without, Kw::Time, Kw::Zone]);
        }
        let name = match (stamp, zone) {
            (true, true) => "timestamptz",
            (true, false) => "timestamp",
            (false, true) => "timetz",
            (false, false) => "time",
        };
        Ok(TypeName { typmods, ..system_type(name, pos) })
    }

    /// INTERVAL [(precision)].
    pub(super) fn interval_head(&mut self) -> Result<TypeName> {
        let pos = self.pos();
        self.expect_kw(Kw::Interval)?;
        let mut found = system_type("interval", pos);
        if self.accept(T::LParen) {
            let at = self.pos();
            let precision = self.iconst()?;
            self.expect(T::RParen)?;
            found.typmods = vec![int_expr(mask::FULL, NO_POS), int_expr(precision, at)];
        }
        Ok(found)
    }

    /// opt_interval: YEAR TO MONTH and so on, as a mask and perhaps a precision.
    pub(super) fn interval_fields(&mut self) -> Result<Vec<Expr>> {
        let pos = self.pos();
        use mask::*;
        let bits = match self.kw() {
            Kw::Year => {
                self.bump();
                if self.accept_kws(&[Kw::To, Kw::Month]) { YEAR | MONTH } else { YEAR }
            }
            Kw::Month => {
                self.bump();
                MONTH
            }
            Kw::Day => {
                self.bump();
                match (self.kw(), self.kw_ahead(1)) {
                    (Kw::To, Kw::Hour) => self.skip_two(DAY | HOUR),
                    (Kw::To, Kw::Minute) => self.skip_two(DAY | HOUR | MINUTE),
                    (Kw::To, Kw::Second) => {
                        self.bump();
                        return self.interval_second(DAY | HOUR | MINUTE | SECOND, pos);
                    }
                    _ => DAY,
                }
            }
            Kw::Hour => {
                self.bump();
                match (self.kw(), self.kw_ahead(1)) {
                    (Kw::To, Kw::Minute) => self.skip_two(HOUR | MINUTE),
                    (Kw::To, Kw::Second) => {
                        self.bump();
                        return self.interval_second(HOUR | MINUTE | SECOND, pos);
                    }
                    _ => HOUR,
                }
            }
            Kw::Minute => {
                self.bump();
                if self.is_kws(&[Kw::To, Kw::Second]) {
                    self.bump();
                    return self.interval_second(MINUTE | SECOND, pos);
                }
                MINUTE
            }
            Kw::Second => return self.interval_second(SECOND, pos),
            _ => return Ok(Vec::new()),
        };
        Ok(vec![int_expr(bits, pos)])
    }

    fn skip_two(&mut self, bits: i32) -> i32 {
        self.at += 2;
        bits
    }

    fn interval_second(&mut self, bits: i32, pos: Pos) -> Result<Vec<Expr>> {
        self.expect_kw(Kw::Second)?;
        let mut list = vec![int_expr(bits, pos)];
        if self.accept(T::LParen) {
            let at = self.pos();
            list.push(int_expr(self.iconst()?, at));
            self.expect(T::RParen)?;
        }
        Ok(list)
    }
}
