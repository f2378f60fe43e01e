//! The problems of a configuration: where each is, what it is, and what to do about it.

use std::{fmt, io, path::PathBuf};

/// Where a problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemPlace {
    /// In the file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
    },
    /// In an environment variable.
    Variable(String),
    /// In the file as a whole: something is missing.
    Whole(PathBuf),
}

impl fmt::Display for ProblemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Whole(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A problem of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: ProblemPlace,
    /// What is wrong and why.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    {}", self.place, self.what, self.help)
    }
}

/// Everything that is wrong, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// The number of problems.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there is no problem.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Adds those of `others` that are not known yet, and brings all into the order of the file.
    pub(super) fn add(&mut self, others: Self) {
        for problem in others.0 {
            if !self.0.contains(&problem) {
                self.0.push(problem);
            }
        }
        self.sort();
    }

    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|problem| match &problem.place {
            ProblemPlace::File { line, column, .. } => (0, *line, *column),
            ProblemPlace::Variable(_) => (1, 0, 0),
            ProblemPlace::Whole(_) => (2, 0, 0),
        });
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No file was named, and none is where one is expected.
    #[error(
        "no configuration file: looked for {}\n    name one with --config, or let `dgt2mqtt init` write one",
        list(searched)
    )]
    NotFound {
        /// The files that were tried.
        searched: Vec<PathBuf>,
    },
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}\n    check that it exists (`dgt2mqtt init` writes one), that this user may read it and that it is UTF-8 text", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The file or the environment has problems.
    #[error("{0}")]
    Invalid(Problems),
    /// The gateways of a hall, or the groups of an event, are each good and not together.
    #[error("{}: {}", path.display(), conflicts.join("\n"))]
    Between {
        /// The file.
        path: PathBuf,
        /// What is wrong between which of them, and what to do.
        conflicts: Vec<String>,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// The word of `known` that a person probably meant by `word`.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let normal = word.to_lowercase().replace('-', "_");
    known
        .iter()
        .map(|candidate| (edit_distance(&normal, &candidate.replace('-', "_")), *candidate))
        // A third of the letters may be wrong; more is a guess that misleads.
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count().max(normal.chars().count()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be inserted, deleted, replaced or swapped with their neighbour to turn
/// `a` into `b` (optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters_and_swaps() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("laws", "laws"), 0);
        assert_eq!(edit_distance("lwas", "laws"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    #[test]
    fn nearest_suggests_only_what_is_near() {
        let known = ["time_control", "laws", "supervision"];
        assert_eq!(nearest("time-control", &known), Some("time_control"));
        assert_eq!(nearest("timecontrol", &known), Some("time_control"));
        assert_eq!(nearest("Laws", &known), Some("laws"));
        assert_eq!(nearest("colour", &known), None);
    }
}
