//! `dgt2mqtt rule`: takes one case a line on standard input and gives one ruling a line on standard output.

use std::io::{BufRead, Write};

use anyhow::Context as _;
use serde_json::{Map, Value};

use crate::laws::{Case, Options, decide};

/// Answers each line with a ruling, or with an error that names field and line. A bad line does not stop the others.
/// The answer repeats the case's `id`. The `options` of a case settle contested points for it alone.
///
/// # Errors
/// When input cannot be read or output cannot be written.
pub fn run(input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
    let options = Options::default();
    for (number, line) in (1_u64..).zip(input.split(b'\n')) {
        let line = line.with_context(|| format!("reading line {number}"))?;
        let line = without_mark(number, &line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = answer(line, number, &options);
        serde_json::to_writer(&mut output, &answer).context("writing a ruling")?;
        output.write_all(b"\n").context("writing a ruling")?;
        output.flush().context("writing a ruling")?;
    }
    Ok(())
}

/// A line without the byte order mark that some editors put before the first.
pub(super) fn without_mark(number: u64, line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes())
        .filter(|_| number == 1)
        .unwrap_or(line)
}

fn answer(line: &[u8], number: u64, options: &Options) -> Value {
    let mut answer = Map::new();
    let refuse = |answer: &mut Map<String, Value>, field: &str, problem: String| {
        answer.insert("error".to_owned(), problem.into());
        answer.insert(
            "field".to_owned(),
            if field.is_empty() {
                Value::Null
            } else {
                field.into()
            },
        );
        answer.insert("line".to_owned(), number.into());
    };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            refuse(&mut answer, "", format!("not JSON: {error}"));
            return Value::Object(answer);
        }
    };
    if let Some(id) = value.get("id") {
        answer.insert("id".to_owned(), id.clone());
    }
    let read = Case::from_json(&value).and_then(|case| Ok((case, options.with_case(&value)?)));
    match read {
        Err(error) => refuse(&mut answer, &error.field, error.problem),
        Ok((case, options)) => match serde_json::to_value(decide(&case, &options)) {
            Ok(Value::Object(ruling)) => answer.extend(ruling),
            other => refuse(
                &mut answer,
                "",
                format!("the ruling cannot be written: {other:?}"),
            ),
        },
    }
    Value::Object(answer)
}
