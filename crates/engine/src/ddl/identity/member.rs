//! Objects that are called by more than a name: by their arguments, or what they are a part of.

use super::Identity;
use crate::ddl::Ddl;
use crate::ddl::name::quote;
use base::{Error, Oid, Result};
use catalog::depend::ObjectAddress;
use catalog::{SysRow, oids};

/// What a letter of `pg_default_acl` stands for.
pub(super) fn default_acl_objects(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'r' => "tables",
        b'S' => "sequences",
        b'f' => "functions",
        b'T' => "types",
        b'n' => "schemas",
        b'L' => "large objects",
        _ => return None,
    })
}

impl Ddl<'_> {
    /// Called by more than a name in a schema.
    pub(super) fn identify_member(&self, class: Oid, row: &SysRow) -> Result<Option<Identity>> {
        Ok(Some(match class {
            oids::PG_PROC => self.identify_routine(row)?,
            oids::PG_OPERATOR => self.identify_operator(row)?,
            oids::PG_CAST => {
                let source = self.qualified_type(row.oid("castsource")?)?;
                let target = self.qualified_type(row.oid("casttarget")?)?;
                Identity {
                    text: format!("({source} AS {target})"),
                    names: vec![source],
                    args: vec![target],
                    ..Default::default()
                }
            }
            oids::PG_CONSTRAINT => self.identify_constraint(row)?,
            oids::PG_ATTRDEF => {
                let column = ObjectAddress::column(row.oid("adrelid")?, row.i16("adnum")?);
                let Some(column) = self.identify(column)? else { return Ok(None) };
                Identity {
                    text: format!("for {}", column.text),
                    names: column.names,
                    ..Default::default()
                }
            }
            oids::PG_OPCLASS => self.of_method(row, "opcname", "opcnamespace", "opcmethod")?,
            oids::PG_OPFAMILY => self.of_method(row, "opfname", "opfnamespace", "opfmethod")?,
            oids::PG_AMOP => self.of_family(row, "operator", "amop", "amopstrategy")?,
            oids::PG_AMPROC => self.of_family(row, "function", "amproc", "amprocnum")?,
            oids::PG_REWRITE => self.of_relation(row, "rulename", "ev_class")?,
            oids::PG_TRIGGER => self.of_relation(row, "tgname", "tgrelid")?,
            oids::PG_POLICY => self.of_relation(row, "polname", "polrelid")?,
            oids::PG_NAMESPACE => {
                let name = self.schema_name(row.oid("oid")?)?;
                Identity {
                    name: Some(quote(&row.text("nspname")?)),
                    text: quote(&name),
                    names: vec![name],
                    ..Default::default()
                }
            }
            _ => return self.identify_grant(class, row),
        }))
    }

    /// What has to do with roles, publications and languages.
    fn identify_grant(&self, class: Oid, row: &SysRow) -> Result<Option<Identity>> {
        let name = |class: Oid, oid: Oid, column: &str| -> Result<String> {
            let found = self.find_row(class, oid)?;
            found.map_or_else(|| Ok(String::new()), |r| Ok(r.text(column)?.to_string()))
        };
        let publication = |column: &str| -> Result<String> {
            name(oids::PG_PUBLICATION, row.oid(column)?, "pubname")
        };
        Ok(Some(match class {
            oids::PG_AUTH_MEMBERS => {
                let address = ObjectAddress::new(class, row.oid("oid")?);
                Identity { text: self.describe(address)?, ..Default::default() }
            }
            oids::PG_PARAMETER_ACL => {
                let parameter = row.text("parname")?.to_string();
                Identity { text: quote(&parameter), names: vec![parameter], ..Default::default() }
            }
            oids::PG_USER_MAPPING => {
                let user = match row.oid("umuser")? {
                    Oid(0) => "public".to_string(),
                    role => self.view.role(role)?.name.to_string(),
                };
                let server = name(oids::PG_FOREIGN_SERVER, row.oid("umserver")?, "srvname")?;
                Identity {
                    text: format!("{} on server {server}", quote(&user)),
                    names: vec![user],
                    args: vec![server],
                    ..Default::default()
                }
            }
            oids::PG_DEFAULT_ACL => self.identify_default_acl(row)?,
            oids::PG_PUBLICATION_REL => {
                let relation = ObjectAddress::relation(row.oid("prrelid")?);
                let Some(relation) = self.identify(relation)? else { return Ok(None) };
                let publication = publication("prpubid")?;
                Identity {
                    text: format!("{} in publication {}", relation.text, publication),
                    names: relation.names,
                    args: vec![publication],
                    ..Default::default()
                }
            }
            oids::PG_PUBLICATION_NAMESPACE => {
                let schema = self.view.namespace(row.oid("pnnspid")?)?.name.to_string();
                let publication = publication("pnpubid")?;
                Identity {
                    text: format!("{schema} in publication {publication}"),
                    names: vec![schema],
                    args: vec![publication],
                    ..Default::default()
                }
            }
            oids::PG_TRANSFORM => {
                let language = name(oids::PG_LANGUAGE, row.oid("trflang")?, "lanname")?;
                let of = self.qualified_type(row.oid("trftype")?)?;
                Identity {
                    text: format!("for {of} language {language}"),
                    names: vec![of],
                    args: vec![language],
                    ..Default::default()
                }
            }
            _ => return Err(Error::internal(format!("no identity for class {class}"))),
        }))
    }

    fn identify_routine(&self, row: &SysRow) -> Result<Identity> {
        let args = self.qualified_types(&row.oids("proargtypes")?)?;
        let namespace = row.oid("pronamespace")?;
        let base = self.simple_identity(Some(namespace), &row.text("proname")?)?;
        let text = format!("{}({})", base.text, args.join(","));
        Ok(Identity { name: None, text, args, ..base })
    }

    fn identify_operator(&self, row: &SysRow) -> Result<Identity> {
        let (left, right) = (row.oid("oprleft")?, row.oid("oprright")?);
        let types: Vec<Oid> = [left, right].into_iter().filter(|t| t.is_valid()).collect();
        let args = self.qualified_types(&types)?;
        let namespace = row.oid("oprnamespace")?;
        let name = row.text("oprname")?.to_string();
        let schema = self.schema_name(namespace)?;
        let shown = match left.is_valid() {
            true => args.join(","),
            false => format!("NONE,{}", args.join(",")),
        };
        Ok(Identity {
            schema: Some(quote(&self.view.namespace(namespace)?.name)),
            name: None,
            text: format!("{}.{name}({shown})", quote(&schema)),
            names: vec![schema, name],
            args,
        })
    }

    fn identify_constraint(&self, row: &SysRow) -> Result<Identity> {
        let name = row.text("conname")?.to_string();
        let relation = row.oid("conrelid")?;
        let namespace = self.view.namespace(row.oid("connamespace")?)?;
        let schema = Some(quote(&namespace.name));
        if relation.is_valid() {
            let of = self.of_relation(row, "conname", "conrelid")?;
            return Ok(Identity { schema, ..of });
        }
        let domain = self.qualified_type(row.oid("contypid")?)?;
        Ok(Identity {
            schema,
            name: None,
            text: format!("{} on {domain}", quote(&name)),
            names: vec![domain],
            args: vec![name],
        })
    }

    /// What is called by a name among those of a relation.
    fn of_relation(&self, row: &SysRow, name: &str, relation: &str) -> Result<Identity> {
        let rel = self.view.relation(row.oid(relation)?)?;
        let of = self.simple_identity(Some(rel.namespace), &rel.name)?;
        let name = row.text(name)?.to_string();
        let mut names = of.names;
        names.push(name.clone());
        let text = format!("{} on {}", quote(&name), of.text);
        Ok(Identity { text, names, ..Default::default() })
    }

    /// What is called by a name among those of an access method.
    fn of_method(
        &self,
        row: &SysRow,
        name: &str,
        namespace: &str,
        method: &str,
    ) -> Result<Identity> {
        let base = self.simple_identity(Some(row.oid(namespace)?), &row.text(name)?)?;
        let method = self.row_of(oids::PG_AM, row.oid(method)?)?.text("amname")?.to_string();
        let text = format!("{} USING {}", base.text, quote(&method));
        let mut names = vec![method];
        names.extend(base.names.iter().cloned());
        Ok(Identity { text, names, ..base })
    }

    /// A member of an operator family.
    fn of_family(&self, row: &SysRow, noun: &str, prefix: &str, number: &str) -> Result<Identity> {
        let column = |what: &str| row.oid(&format!("{prefix}{what}"));
        let family = self.row_of(oids::PG_OPFAMILY, column("family")?)?;
        let family = self.of_method(&family, "opfname", "opfnamespace", "opfmethod")?;
        let args = self.qualified_types(&[column("lefttype")?, column("righttype")?])?;
        let number = row.i16(number)?;
        let mut names = family.names;
        names.push(number.to_string());
        Ok(Identity {
            text: format!("{noun} {number} ({}) of {}", args.join(", "), family.text),
            names,
            args,
            ..Default::default()
        })
    }

    fn identify_default_acl(&self, row: &SysRow) -> Result<Identity> {
        let role = self.view.role(row.oid("defaclrole")?)?.name.to_string();
        let letter = row.char("defaclobjtype")?;
        let objects = default_acl_objects(letter).unwrap_or("objects");
        let mut text = format!("for role {}", quote(&role));
        let mut names = vec![role];
        let namespace = row.oid("defaclnamespace")?;
        if namespace.is_valid() {
            let schema = self.schema_name(namespace)?;
            text.push_str(&format!(" in schema {}", quote(&schema)));
            names.push(schema);
        }
        text.push_str(&format!(" on {objects}"));
        let args = vec![char::from(letter).to_string()];
        Ok(Identity { text, names, args, ..Default::default() })
    }
}
