//! The grammar.
use crate::ParseOptions;
use crate::ast::*;
use base::Result;

pub(crate) struct Parser<'a> {
    src: &'a str,
}
impl<'a> Parser<'a> {
    pub fn new(src: &'a str, _o: ParseOptions) -> Result<Self> {
        Ok(Parser { src })
    }
    pub fn statements(&mut self) -> Result<Vec<RawStmt>> {
        let t = crate::lexer::tokenize(self.src, true);
        let _ = (t.list, t.decoded, t.error);
        Err(base::Error::unsupported("parsing"))
    }
    pub fn whole<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        f(self)
    }
    pub fn expr(&mut self) -> Result<Expr> {
        Err(base::Error::unsupported("parsing"))
    }
    pub fn type_name(&mut self) -> Result<TypeName> {
        Err(base::Error::unsupported("parsing"))
    }
    pub fn any_name(&mut self) -> Result<Name> {
        Err(base::Error::unsupported("parsing"))
    }
}
