//! Options of the method `radius`.

/// One server that is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct RadiusServer {
    /// Its name or address.
    pub host: String,
    /// The secret that it shares with us.
    pub secret: String,
    /// What we call ourselves.
    pub identifier: String,
    /// Its port.
    pub port: u16,
}

/// The options as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radius {
    servers: Option<String>,
    secrets: Option<String>,
    identifiers: Option<String>,
    ports: Option<String>,
}

impl Radius {
    /// Takes an option; false if it is none of these.
    pub fn option(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let (slot, what) = match name {
            "radiusservers" => (&mut self.servers, "server"),
            "radiussecrets" => (&mut self.secrets, "secret"),
            "radiusidentifiers" => (&mut self.identifiers, "identifiers"),
            "radiusports" => (&mut self.ports, "port"),
            _ => return Ok(false),
        };
        let list = split_names(value)
            .ok_or_else(|| format!("could not parse RADIUS {what} list \"{value}\""))?;
        if name == "radiusports"
            && let Some(wrong) = list.iter().find(|p| port(p).is_none())
        {
            return Err(format!("invalid RADIUS port number: \"{wrong}\""));
        }
        *slot = Some(value.to_string());
        Ok(true)
    }

    /// What has to be true of all options together.
    pub fn check(&self) -> Result<(), String> {
        let list = |text: &Option<String>| {
            split_names(text.as_deref().unwrap_or_default()).unwrap_or_default()
        };
        let servers = list(&self.servers).len();
        for (values, name) in [(&self.servers, "radiusservers"), (&self.secrets, "radiussecrets")] {
            if list(values).is_empty() {
                return Err(format!(
                    "authentication method \"radius\" requires argument \"{name}\" to be set"
                ));
            }
        }
        for (values, what) in
            [(&self.secrets, "secrets"), (&self.ports, "ports"), (&self.identifiers, "identifiers")]
        {
            let count = list(values).len();
            if count > 1 && count != servers {
                return Err(format!(
                    "the number of RADIUS {what} ({count}) must be 1 or the same as the number \
                     of RADIUS servers ({servers})"
                ));
            }
        }
        Ok(())
    }

    /// The servers, in the order in which they are asked.
    pub fn servers(&self) -> Vec<RadiusServer> {
        const PORT: u16 = 1812;
        let list = |text: &Option<String>| {
            split_names(text.as_deref().unwrap_or_default()).unwrap_or_default()
        };
        let (secrets, names) = (list(&self.secrets), list(&self.identifiers));
        let ports = list(&self.ports);
        // One value is for all of them.
        let nth = |values: &[String], i: usize| match values {
            [one] => Some(one.clone()),
            many => many.get(i).cloned(),
        };
        let server = |(i, host): (usize, String)| RadiusServer {
            host,
            secret: nth(&secrets, i).unwrap_or_default(),
            identifier: nth(&names, i).unwrap_or_else(|| "postgresql".to_string()),
            port: nth(&ports, i).and_then(|p| port(&p)).unwrap_or(PORT),
        };
        list(&self.servers).into_iter().enumerate().map(server).collect()
    }

    /// As `pg_hba_file_rules` shows them.
    pub fn shown(&self) -> Vec<String> {
        let all = [
            ("radiusservers", &self.servers),
            ("radiussecrets", &self.secrets),
            ("radiusidentifiers", &self.identifiers),
            ("radiusports", &self.ports),
        ];
        let one =
            |(name, value): (&str, &Option<String>)| value.as_ref().map(|v| format!("{name}={v}"));
        all.into_iter().filter_map(one).collect()
    }
}

/// A list with commas, whose items may be in double quotes; None if it is not one.
fn split_names(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        let name = if rest.starts_with('"') { name } else { name.trim_end() };
        if name.is_empty() {
            return None;
        }
        names.push(name.to_string());
        match after.trim_start().strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return after.trim().is_empty().then_some(names),
        }
    }
}

fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|p| *p != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<Radius, String> {
        let mut radius = Radius::default();
        for (name, value) in options {
            assert!(radius.option(name, value)?);
        }
        radius.check().map(|()| radius)
    }

    #[test]
    fn one_value_is_for_all_servers() {
        let radius =
            read(&[("radiusservers", "a,b"), ("radiussecrets", "x"), ("radiusports", "1,2")]);
        let servers = radius.unwrap().servers();
        let shown: Vec<_> =
            servers.iter().map(|s| (s.host.as_str(), s.secret.as_str(), s.port)).collect();
        assert_eq!(shown, [("a", "x", 1), ("b", "x", 2)]);
        assert_eq!(servers[0].identifier, "postgresql");
    }

    #[test]
    fn errors_in_postgres_words() {
        let (servers, secrets) = (("radiusservers", "a,b"), ("radiussecrets", "x,y,z"));
        for (options, message) in [
            (
                &[][..],
                "authentication method \"radius\" requires argument \"radiusservers\" to be set",
            ),
            (
                &[servers],
                "authentication method \"radius\" requires argument \"radiussecrets\" to be set",
            ),
            (
                &[servers, secrets],
                "the number of RADIUS secrets (3) must be 1 or the same as the number of RADIUS \
                 servers (2)",
            ),
            (&[("radiusports", "abc")], "invalid RADIUS port number: \"abc\""),
        ] {
            assert_eq!(read(options).unwrap_err(), message);
        }
    }
}
