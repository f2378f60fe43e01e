//! Questions to the person at the terminal. If nobody sits there, the answer is the one that would be offered.

use std::{
    fmt::Display,
    io::{self, BufRead, Write},
    str::FromStr,
};

use anyhow::{Context, bail};

/// Whoever answers the questions.
pub(super) enum Dialog<'a> {
    /// A person, whose lines are read here. The questions go to standard error.
    With(&'a mut dyn BufRead),
    /// Nobody.
    None,
}

impl Dialog<'_> {
    /// Asks for yes or no. An empty line means `offered`, and so does a terminal at which nobody sits.
    pub(super) fn agrees(&mut self, question: &str, offered: bool) -> anyhow::Result<bool> {
        let Self::With(input) = self else {
            return Ok(offered);
        };
        let choice = if offered { "[Y/n]" } else { "[y/N]" };
        loop {
            match line(*input, &format!("{question} {choice} "))?
                .to_lowercase()
                .as_str()
            {
                "" => return Ok(offered),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => eprintln!("Please answer y or n."),
            }
        }
    }

    /// Asks for a value. An empty line means `offered`. After a wrong answer it gives the reason and asks again.
    pub(super) fn value<T: FromStr + Display>(&mut self, question: &str, offered: T) -> anyhow::Result<T>
    where
        T::Err: Display,
    {
        let Self::With(input) = self else {
            return Ok(offered);
        };
        loop {
            let answer = line(*input, &format!("{question} [{offered}]: "))?;
            if answer.is_empty() {
                return Ok(offered);
            }
            match answer.parse() {
                Ok(value) => return Ok(value),
                Err(wrong) => eprintln!("{wrong}"),
            }
        }
    }

    /// Asks a person for a value for which nothing can be offered.
    pub(super) fn required<T: FromStr>(&mut self, question: &str) -> anyhow::Result<T>
    where
        T::Err: Display,
    {
        let Self::With(input) = self else {
            bail!("nobody is there to answer: {question}");
        };
        loop {
            match line(*input, &format!("{question}: "))?.parse() {
                Ok(value) => return Ok(value),
                Err(wrong) => eprintln!("{wrong}"),
            }
        }
    }

    /// Asks for one of some words. An empty line means the first.
    pub(super) fn one_of(&mut self, question: &str, words: &[&'static str]) -> anyhow::Result<&'static str> {
        let offered = words.first().context("a choice of nothing")?;
        let Self::With(input) = self else {
            return Ok(offered);
        };
        loop {
            let answer = line(
                *input,
                &format!("{question}, {} [{offered}]: ", words.join(" or ")),
            )?;
            if answer.is_empty() {
                return Ok(offered);
            }
            match words.iter().find(|word| **word == answer) {
                Some(word) => return Ok(word),
                None => eprintln!("Please answer one of: {}.", words.join(", ")),
            }
        }
    }
}

/// Asks, and reads a line without the spaces around it.
fn line(input: &mut dyn BufRead, question: &str) -> anyhow::Result<String> {
    let mut out = io::stderr().lock();
    write!(out, "{question}")
        .and_then(|()| out.flush())
        .context("cannot ask")?;
    let mut answer = String::new();
    let read = input.read_line(&mut answer).context("cannot read the answer")?;
    if read == 0 {
        bail!("the answers ended, and nothing was written");
    }
    Ok(answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_is_asked_again() {
        let mut lines: &[u8] = b"perhaps\nno\n\nseven\n7\n\nbullet\nblitz\nport\nx\n9\n";
        let mut dialog = Dialog::With(&mut lines);
        assert!(!dialog.agrees("Go on?", true).expect("an answer"));
        assert!(dialog.agrees("Go on?", true).expect("an answer"));
        assert_eq!(dialog.value("How many?", 5_u8).expect("an answer"), 7);
        assert_eq!(dialog.value("How many?", 5_u8).expect("an answer"), 5);
        let control = dialog.one_of("Which?", &["rapid", "blitz"]).expect("an answer");
        assert_eq!(control, "blitz");
        assert_eq!(dialog.required::<u8>("How many?").expect("an answer"), 9);
        assert!(dialog.agrees("More?", true).is_err(), "the lines have ended");
    }

    #[test]
    fn nobody_is_asked_where_nobody_sits() {
        let mut dialog = Dialog::None;
        assert!(!dialog.agrees("Replace?", false).expect("an answer"));
        assert_eq!(dialog.value("How many?", 5_u8).expect("an answer"), 5);
        assert_eq!(dialog.one_of("Which?", &["a", "b"]).expect("an answer"), "a");
        assert!(dialog.required::<u8>("How many?").is_err());
    }
}
