//! The collection of rulings, under its own rules of comparison. Skips where it is not at hand.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use dgt2mqtt::laws::{Case, Options, Ruling, decide};
use serde_json::Value;

const CORPUS: &str = "rulings-dev.jsonl";

fn corpus() -> Option<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let folder = env::var_os("DGT2MQTT_CORPUS").map_or(here, PathBuf::from);
    fs::read_to_string(folder.join("rulings-dev.jsonl")).ok()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// An expected article is met by itself or by any sub-article.
fn cited(ruling: &Ruling, expected: &str) -> bool {
    ruling
        .articles
        .iter()
        .any(|a| a == expected || a.strip_prefix(expected).is_some_and(|rest| rest.starts_with('.')))
}

fn differences(ruling: &Ruling, expect: &Value) -> Vec<String> {
    let also_ok = &expect["also_ok"];
    let got = serde_json::to_value(ruling).expect("a ruling is plain data");
    let mut wrong = Vec::new();
    let mut compare = |key: &str, got: &Value, expected: &Value| {
        let others = also_ok[key].as_array().into_iter().flatten().any(|v| v == got);
        if got != expected && !others {
            wrong.push(format!("{key}: {got}, expected {expected}"));
        }
    };
    let (penalty, expected) = (&got["penalty"], &expect["penalty"]);
    compare("kind", &penalty["kind"], &expected["kind"]);
    if penalty["kind"] == expected["kind"] {
        compare("seconds", &penalty["seconds"], &expected["seconds"]);
        compare("to", &penalty["to"], &expected["to"]);
    }
    compare("position", &got["position"], &expect["position"]);
    let any = strings(&also_ok["articles_any"]);
    if any.is_empty() {
        let missing = strings(&expect["articles"])
            .into_iter()
            .filter(|a| !cited(ruling, a));
        wrong.extend(missing.map(|a| format!("article {a} not cited in {:?}", ruling.articles)));
    } else if !any.iter().any(|a| cited(ruling, a)) {
        wrong.push(format!("none of {any:?} cited in {:?}", ruling.articles));
    }
    wrong
}

#[test]
fn the_collection_of_rulings_is_right() {
    let Some(corpus) = corpus() else {
        skipped!("{CORPUS} is not here (DGT2MQTT_CORPUS may name its folder)");
        return;
    };
    let mut wrong = Vec::new();
    let mut cases = 0;
    for line in corpus.lines().filter(|l| !l.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).expect("a line of JSON");
        let case = Case::from_json(&value).unwrap_or_else(|e| panic!("{}: {e}", value["id"]));
        let ruling = decide(&case, &Options::default());
        cases += 1;
        wrong.extend(
            differences(&ruling, &value["expect"])
                .iter()
                .map(|d| format!("{}: {d}", value["id"])),
        );
    }
    assert!(cases > 0, "the collection is empty");
    assert!(
        wrong.is_empty(),
        "{} of {cases} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
