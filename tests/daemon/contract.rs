//! Every command that `docs/contract.md` and the README show is sent to a daemon, which understands it, and is what the schema
//! says.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use dgt2mqtt::{
    cli::schema::schemas,
    mqtt::command::{BOARD_VERBS, GATEWAY_VERBS},
};
use serde_json::Value;

use crate::{
    broker::{self, Mosquitto, Subscriber},
    hall::{Daemon, fixture, playing},
};

/// What a command is refused with that is not understood.
const NOT_UNDERSTOOD: [&str; 6] = [
    "bad_json",
    "bad_fields",
    "bad_ref",
    "unknown_verb",
    "unknown_board",
    "ref_reused",
];

/// Holds each line of standard input, verb and payload, against the schema of its verb.
const VALIDATOR: &str = r##"
import sys, json
import jsonschema
schema = json.load(open(sys.argv[1]))
for line in sys.stdin:
    verb, payload = json.loads(line)
    one = {"$schema": schema["$schema"], "$ref": "#/$defs/" + verb, "$defs": schema["$defs"]}
    try:
        jsonschema.validate(payload, one)
        print("valid")
    except jsonschema.ValidationError as error:
        print(f"{verb} {payload}: {error.message}")
"##;

/// Verb and payload of each example, in their order.
fn examples(text: &str) -> Vec<(String, Value)> {
    let (mut verb, mut examples, mut block) = (String::new(), Vec::new(), None);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("###") {
            verb = title.trim_matches(['#', ' ', '`']).to_owned();
        } else if line == "```json" {
            block = Some(String::new());
        } else if line == "```" {
            if let Some(json) = block.take() {
                examples.push((verb.clone(), serde_json::from_str(&json).unwrap()));
            }
        } else if let Some(block) = &mut block {
            block.push_str(line);
        }
    }
    examples
}

/// What the schema says of each: none, with a message, where no program can be had that validates.
fn validated(lines: &[(String, Value)]) -> Option<Vec<String>> {
    let has_it = Command::new("python3")
        .args(["-c", "import jsonschema"])
        .stderr(Stdio::null())
        .status();
    if !has_it.is_ok_and(|status| status.success()) {
        skipped!("jsonschema is not installed (pip install jsonschema)");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("command.json");
    fs::write(&schema, serde_json::to_string(&schemas()["command"]).unwrap()).unwrap();
    let input = folder.path().join("lines");
    let text: Vec<String> = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap())
        .collect();
    fs::write(&input, text.join("\n")).unwrap();
    let run = Command::new("python3")
        .args(["-c", VALIDATOR])
        .arg(&schema)
        .stdin(fs::File::open(&input).unwrap())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let said = String::from_utf8(run.stdout).unwrap();
    Some(said.lines().map(str::to_owned).collect())
}

/// Verb and payload of each command that is sent by `mosquitto_pub`.
fn sent(text: &str) -> impl Iterator<Item = (String, Value)> {
    text.lines().filter_map(|line| {
        let (_, rest) = line.strip_prefix("mosquitto_pub ")?.split_once("/cmd/")?;
        let (verb, payload) = rest.split_once(" -m ").expect("a payload");
        let payload = serde_json::from_str(payload.trim_matches('\'')).unwrap();
        Some((verb.to_owned(), payload))
    })
}

fn documented() -> Vec<(String, Value)> {
    let read = |name| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let mut all = examples(&read("docs/contract.md"));
    let of_readme: Vec<_> = sent(&read("README.md")).collect();
    assert!(of_readme.len() >= 2, "the README shows no command: {of_readme:?}");
    all.extend(of_readme);
    all
}

#[test]
fn the_schema_takes_every_example_and_nothing_else() {
    let examples = documented();
    let verbs: Vec<&str> = examples.iter().map(|(verb, _)| verb.as_str()).collect();
    for verb in BOARD_VERBS.iter().chain(&GATEWAY_VERBS) {
        assert!(verbs.contains(verb), "docs/contract.md has no example of {verb}");
    }
    let Some(said) = validated(&examples) else { return };
    assert_eq!(said.len(), examples.len());
    assert!(said.iter().all(|said| said == "valid"), "{said:#?}");

    let wrong = [
        ("result", serde_json::json!({ "result": "2-0" })),
        ("result", serde_json::json!({ "result": "1-0", "verb": "result" })),
        ("dismiss", serde_json::json!({})),
        (
            "report",
            serde_json::json!({ "kind": "two_hands", "by_whom": "white" }),
        ),
        ("correct", serde_json::json!({ "insert": ["e4"] })),
        ("new_game", serde_json::json!({ "ref": [1] })),
    ];
    let wrong = wrong.map(|(verb, payload)| (verb.to_owned(), payload));
    let said = validated(&wrong).unwrap();
    assert!(said.iter().all(|said| said != "valid"), "{said:#?}");
}

#[tokio::test]
async fn a_daemon_understands_every_example() {
    let folder = tempfile::tempdir().unwrap();
    let mosquitto = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(mosquitto.port, "#").await;
    let path = fixture("illegal-stands-rapid");
    let (_simulator, config) = playing(folder.path(), mosquitto.port, "1", &path, &["--speed", "4"]);
    let daemon = Daemon::start(&config);
    subscriber.played("1", 5).await;
    for (verb, payload) in documented() {
        let place = if GATEWAY_VERBS.contains(&verb.as_str()) {
            "gw"
        } else {
            "gw/board/1"
        };
        let topic = format!("dgt2mqtt/{place}/cmd/{verb}");
        subscriber.publish(&topic, false, payload.to_string(), None).await;
        let reply = format!("dgt2mqtt/{place}/reply/{verb}");
        let is_answer = |got: &broker::Got| got.topic == reply && got.json()["ref"] == payload["ref"];
        let what = format!("the answer to {verb}");
        let answer = subscriber.wait(&what, is_answer).await.json();
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        assert!(!NOT_UNDERSTOOD.contains(&code), "{verb} {payload}: {answer}");
        let (ok, is_about_nothing) = (answer["ok"] == true, code == "unknown_irregularity");
        let may_make_no_sense =
            ["promotion", "report", "new_game", "resume", "rules"].contains(&verb.as_str());
        assert!(
            ok || is_about_nothing || may_make_no_sense,
            "{verb} {payload}: {answer}"
        );
    }
    assert!(daemon.stop());
}
