//! Several sessions, step by step: which waits, which goes on, what each sees.
//!
//! ```text
//! setup
//! CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0);
//!
//! steps
//! a: BEGIN
//! a: UPDATE t SET n = n + 1 WHERE id = 1
//! b: UPDATE t SET n = n + 10 WHERE id = 1
//! a: COMMIT
//! a: SELECT n FROM t
//!
//! output
//! ...
//!
//! teardown
//! DROP TABLE t;
//! ```
//!
//! The output is a transcript: each step, `<waiting>` if its session waits for another one, and
//! answers of waiting steps when they come.

use crate::{Client, QueryResult};
use base::Result;
use std::time::Duration;

/// After how long a step is asked about that has not answered.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often it is, before it counts as waiting whatever the server says.
const MOST_ASKED: usize = 40;

/// A spec's parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    pub setup: String,
    pub steps: Vec<(String, String)>,
    pub output: String,
    pub teardown: String,
}

/// Reads a spec.
pub fn parse(text: &str) -> Spec {
    let mut spec = Spec::default();
    let mut part = "";
    for line in text.lines() {
        match line.trim_end() {
            "setup" | "steps" | "output" | "teardown" => {
                part = match line.trim_end() {
                    "setup" => "setup",
                    "steps" => "steps",
                    "output" => "output",
                    _ => "teardown",
                };
            }
            l if l.starts_with('#') && part != "output" => {}
            l => match part {
                "setup" => spec.setup.push_str(&format!("{l}\n")),
                "teardown" => spec.teardown.push_str(&format!("{l}\n")),
                "output" => spec.output.push_str(&format!("{l}\n")),
                "steps" => {
                    if let Some((session, sql)) = l.split_once(": ") {
                        spec.steps.push((session.to_string(), sql.to_string()));
                    }
                }
                _ => {}
            },
        }
    }
    spec
}

fn show(r: &QueryResult) -> String {
    let mut out = String::new();
    for row in &r.rows {
        let values: Vec<&str> = row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
        out.push_str(&format!("  {}\n", values.join("|")));
    }
    if let Some(e) = &r.error {
        out.push_str(&format!("  ERROR {}: {}\n", e.code(), e.message()));
    } else if r.rows.is_empty() {
        for t in &r.tags {
            out.push_str(&format!("  {t}\n"));
        }
    }
    out
}

struct Waiting {
    session: usize,
    sql: String,
    partial: QueryResult,
}

/// The result of what was sent; None once its session waits for another one. A step that only
/// takes long on a busy machine does not.
fn receive(
    client: &mut Client,
    control: &mut Client,
    partial: &mut QueryResult,
) -> Result<Option<QueryResult>> {
    for _ in 0..MOST_ASKED {
        if let Some(result) = client.receive(Some(PATIENCE), partial)? {
            return Ok(Some(result));
        }
        let waits = control.query(&format!(
            "SELECT 1 FROM pg_stat_activity WHERE pid = {} \
             AND wait_event_type IN ('Lock', 'IPC', 'Timeout', 'Client')",
            client.key.0
        ))?;
        if !waits.rows.is_empty() {
            // The answer may have come just now.
            return client.receive(Some(Duration::from_millis(1)), partial);
        }
    }
    Ok(None)
}

/// Runs a spec against a server; gives the transcript.
pub fn run(connect: &dyn Fn() -> Result<Client>, spec: &Spec) -> Result<String> {
    let mut control = connect()?;
    control.execute(&spec.setup)?;
    let mut names: Vec<String> = Vec::new();
    let mut clients: Vec<Client> = Vec::new();
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut out = String::new();
    for (name, sql) in &spec.steps {
        let session = match names.iter().position(|n| n == name) {
            Some(i) => i,
            None => {
                names.push(name.clone());
                clients.push(connect()?);
                names.len() - 1
            }
        };
        if let Some(i) = waiting.iter().position(|w| w.session == session) {
            // A session does one thing at a time: its earlier step must end first.
            let mut w = waiting.remove(i);
            let r = clients[session].receive(None, &mut w.partial)?.unwrap_or_default();
            out.push_str(&format!("{name}: {} <done>\n{}", w.sql, show(&r)));
        }
        clients[session].send(sql)?;
        let mut partial = QueryResult::default();
        match receive(&mut clients[session], &mut control, &mut partial)? {
            Some(r) => out.push_str(&format!("{name}: {sql}\n{}", show(&r))),
            None => {
                out.push_str(&format!("{name}: {sql} <waiting>\n"));
                waiting.push(Waiting { session, sql: sql.clone(), partial });
            }
        }
        // What waited may have been let go by this step.
        let mut i = 0;
        while i < waiting.len() {
            if waiting[i].session == session {
                i += 1;
                continue;
            }
            let w = &mut waiting[i];
            match receive(&mut clients[w.session], &mut control, &mut w.partial)? {
                Some(r) => {
                    out.push_str(&format!("{}: {} <done>\n{}", names[w.session], w.sql, show(&r)));
                    waiting.remove(i);
                    i = 0;
                }
                None => i += 1,
            }
        }
    }
    for mut w in waiting {
        let r = clients[w.session].receive(None, &mut w.partial)?.unwrap_or_default();
        out.push_str(&format!("{}: {} <done>\n{}", names[w.session], w.sql, show(&r)));
    }
    drop(clients);
    if !spec.teardown.trim().is_empty() {
        control.execute(&spec.teardown)?;
    }
    Ok(out)
}

/// The spec's text with another output.
pub fn with_output(text: &str, output: &str) -> String {
    let mut out = String::new();
    let mut skipping = false;
    let mut written = false;
    for line in text.lines() {
        match line.trim_end() {
            "output" => {
                skipping = true;
                written = true;
                out.push_str(&format!("output\n{output}\n"));
            }
            "setup" | "steps" | "teardown" => {
                skipping = false;
                if line.trim_end() == "teardown" && !written {
                    written = true;
                    out.push_str(&format!("output\n{output}\n"));
                }
                out.push_str(&format!("{line}\n"));
            }
            l if !skipping => out.push_str(&format!("{l}\n")),
            _ => {}
        }
    }
    if !written {
        out.push_str(&format!("\noutput\n{output}"));
    }
    out
}
