//! Dictionary files that come with the server: the Snowball project's stop words.
//!
//! A file of the same name in the installation's `tsearch_data` takes precedence.

/// A file of `tsearch_data` that is built in.
pub fn builtin_file(name: &str) -> Option<&'static str> {
    macro_rules! files {
        ($($name:literal),* $(,)?) => {
            match name {
                $($name => Some(include_str!(concat!("../../data/tsearch_data/", $name))),)*
                _ => None,
            }
        };
    }
    files!(
        "danish.stop",
        "dutch.stop",
        "english.stop",
        "finnish.stop",
        "french.stop",
        "german.stop",
        "hungarian.stop",
        "italian.stop",
        "nepali.stop",
        "norwegian.stop",
        "portuguese.stop",
        "russian.stop",
        "spanish.stop",
        "swedish.stop",
        "turkish.stop",
    )
}
