//! Checks of single values: numbers, texts, and the files that they name. What is wrong with a value is noted in the
//! document.

use std::{
    fs::File,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    str::FromStr,
};

use toml::Spanned;

use super::{Secret, read::Document, value::ValueError};
use crate::files::plain;

/// Where distributions keep the certificates of public authorities.
const SYSTEM_AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The list of public certificate authorities of this system, if it has one.
#[must_use]
pub fn system_authorities() -> Option<PathBuf> {
    SYSTEM_AUTHORITIES
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
}

/// Reads a value, or notes what is wrong with it.
pub(super) fn parse<T: FromStr<Err = ValueError>>(
    text: Spanned<String>,
    document: &mut Document<'_>,
) -> Option<T> {
    let span = text.span();
    match text.into_inner().parse() {
        Ok(value) => Some(value),
        Err(ValueError { what, help }) => {
            document.problem(span, what, help);
            None
        }
    }
}

/// A number within bounds, or its default.
pub(super) fn within(
    number: Option<&Spanned<u32>>,
    default: u32,
    bounds: RangeInclusive<u32>,
    unit: &str,
    document: &mut Document<'_>,
) -> u32 {
    let Some(number) = number else {
        return default;
    };
    let value = *number.get_ref();
    if bounds.contains(&value) {
        return value;
    }
    document.problem(
        number.span(),
        format!("{value} is out of bounds"),
        format!(
            "possible are {} to {} {unit}; left out, it is {default}",
            bounds.start(),
            bounds.end()
        ),
    );
    default
}

/// The path of a file that can be opened.
pub(super) fn readable(file: &Spanned<PathBuf>, document: &mut Document<'_>) -> Option<PathBuf> {
    let path = document.resolve(file.get_ref());
    match File::open(&path).and_then(|file| file.metadata()) {
        Ok(kind) if kind.is_file() => Some(path),
        Ok(_) => {
            document.problem(
                file.span(),
                format!("{} is no file", path.display()),
                "name a PEM file",
            );
            None
        }
        Err(error) => {
            unreadable(file, &path, &error, document);
            None
        }
    }
}

/// The certificate authorities of a file, or those of this system.
pub(super) fn authorities(file: Option<&Spanned<PathBuf>>, document: &mut Document<'_>) -> Option<PathBuf> {
    if let Some(file) = file {
        return readable(file, document);
    }
    let system = system_authorities();
    if system.is_none() {
        document.missing(
            None,
            "this machine has no list of certificate authorities",
            "name one in `ca_file`, or install the package ca-certificates",
        );
    }
    system
}

/// A secret from a file that holds nothing else.
pub(super) fn secret_file(file: &Spanned<PathBuf>, document: &mut Document<'_>) -> Option<Secret> {
    let path = document.resolve(file.get_ref());
    match plain::text(&path) {
        Ok(text) if text.trim_end_matches(['\r', '\n']).is_empty() => {
            document.problem(
                file.span(),
                format!("{} is empty", path.display()),
                "write the secret into it, and nothing else",
            );
            None
        }
        // Editors end the last line, and secrets have no line ends.
        Ok(text) => Some(Secret::new(text.trim_end_matches(['\r', '\n']))),
        Err(error) => {
            unreadable(file, &path, &error, document);
            None
        }
    }
}

fn unreadable(file: &Spanned<PathBuf>, path: &Path, error: &std::io::Error, document: &mut Document<'_>) {
    document.problem(
        file.span(),
        format!("cannot read {}: {error}", path.display()),
        "check the name, and that the user of the daemon may read the file and enter its folders",
    );
}
