//! The pass phrase of an encrypted private key: asked for by `ssl_passphrase_command` or at the
//! terminal, and used.

use base::{Error, Result, Severity, SqlState, err};
use engine::settings::Defaults;
use os::process::Ended;
use pkcs8::pkcs5::pbes2;
use rustls::pki_types::PrivateKeyDer;

/// When a key is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The server starts: there may be somebody at the terminal.
    Start,
    /// It runs, and reads its configuration again.
    Reload,
}

const PROMPT: &str = "Enter PEM pass phrase:";
/// Bytes of a pass phrase that count.
const LONGEST: usize = 1023;

/// True if the file holds an encrypted key.
pub fn is_encrypted(pem: &[u8]) -> bool {
    let text = String::from_utf8_lossy(pem);
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENC")
}

/// Asks for the pass phrase; none if there is nobody to ask.
pub fn ask(d: &Defaults, at: When) -> Result<Option<Vec<u8>>> {
    let command = d.show("ssl_passphrase_command");
    let again = d.show("ssl_passphrase_command_supports_reload") == "on";
    match at {
        _ if !command.is_empty() && (at == When::Start || again) => of_command(&command).map(Some),
        When::Start => Ok(os::process::read_password(PROMPT).map(String::into_bytes)),
        When::Reload => Ok(None),
    }
}

/// The first line that the command writes. `%p` in it is the prompt.
fn of_command(command: &str) -> Result<Vec<u8>> {
    let failed = |e: Error| e.severity(Severity::Fatal);
    let full = expand(command).map_err(failed)?;
    let (ended, mut out) = os::process::shell_output(&full).map_err(|e| {
        failed(Error::new(SqlState::IO_ERROR, format!("could not execute command \"{full}\": {e}")))
    })?;
    let why = match ended {
        Ended::Code(0) => {
            let line = out.iter().position(|b| *b == b'\n').unwrap_or(out.len());
            out.truncate(line.min(LONGEST));
            while out.last() == Some(&b'\r') {
                out.pop();
            }
            return Ok(out);
        }
        Ended::Code(code) => format!("child process exited with exit code {code}"),
        Ended::Signal(n, meaning) => {
            format!("child process was terminated by signal {n}: {meaning}")
        }
    };
    Err(failed(err!(INTERNAL_ERROR, "command \"{full}\" failed").detail(why)))
}

/// `%p` is the prompt and `%%` a percent sign; anything else is wrong.
fn expand(command: &str) -> Result<String> {
    let wrong = |detail: String| {
        let name = "ssl_passphrase_command";
        err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{name}\": \"{command}\"")
            .detail(detail)
    };
    let mut out = String::new();
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('%') => out.push('%'),
                Some('p') => out.push_str(PROMPT),
                Some(other) => {
                    let text = format!("String contains unexpected placeholder \"%{other}\".");
                    return Err(wrong(text));
                }
                None => {
                    let text = "String ends unexpectedly after escape character \"%\".";
                    return Err(wrong(text.into()));
                }
            },
            c => out.push(c),
        }
    }
    Ok(out)
}

/// The key, or in OpenSSL's words why there is none. Keys are encrypted as PKCS#8 has it: by what
/// a pass phrase is stretched to (PBKDF2, scrypt), with AES or triple DES.
pub fn decrypt(
    pem: &[u8],
    phrase: &[u8],
) -> std::result::Result<PrivateKeyDer<'static>, &'static str> {
    use pkcs8::der::Decode;
    let begin = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
    let text = String::from_utf8_lossy(pem);
    let Some(at) = text.find(begin) else {
        return Err("unsupported: keys are to be encrypted in the PKCS#8 format");
    };
    let end = text[at..].find("-----END ENCRYPTED PRIVATE KEY-----").ok_or("bad end line")?;
    let body = text[at..at + end].to_string() + "-----END ENCRYPTED PRIVATE KEY-----\n";
    let (_, der) = pkcs8::der::pem::decode_vec(body.as_bytes()).map_err(|_| "bad base64 decode")?;
    let info = pkcs8::EncryptedPrivateKeyInfoRef::from_der(&der).map_err(|_| "wrong tag")?;
    let _: &pbes2::Parameters = info.encryption_algorithm.pbes2().ok_or("unsupported")?;
    let key = info.decrypt(phrase).map_err(|_| "bad decrypt")?;
    PrivateKeyDer::try_from(key.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_placeholders() {
        assert_eq!(expand("echo '%p' 100%%").unwrap(), format!("echo '{PROMPT}' 100%"));
        let why =
            |text: &str| expand(text).unwrap_err().fields().detail.clone().unwrap_or_default();
        assert_eq!(why("x %r"), "String contains unexpected placeholder \"%r\".");
        assert_eq!(why("x %"), "String ends unexpectedly after escape character \"%\".");
    }

    #[test]
    fn the_first_line_counts() {
        assert_eq!(of_command("printf 'secret \\r\\nmore\\n'").unwrap(), b"secret ");
        let e = of_command("exit 3").unwrap_err();
        assert_eq!(e.message(), "command \"exit 3\" failed");
        assert_eq!(e.fields().detail.as_deref(), Some("child process exited with exit code 3"));
    }
}
