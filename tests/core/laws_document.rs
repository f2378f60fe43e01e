//! `docs/laws.md` shows the tables that the program uses. `UPDATE_GOLDEN=1` writes them anew.

use std::{env, fmt::Write as _, fs, path::Path};

use dgt2mqtt::laws::{
    Case, Edition, Facts, IrregularityKind, Options, Penalty, PenaltyKind, PositionRuling, RaisedBy, Side,
    Supervision, TimeControl, decide,
    edition::{self, Bar},
    offence::Sanction,
    provision::{EXTRAS, Effect, PROVISIONS, Place, Scope, Situation},
};

use dgt2mqtt::watcher::Report;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/laws.md");
const COUNTED: [IrregularityKind; 4] = [
    IrregularityKind::IllegalMove,
    IrregularityKind::PromotionNotReplaced,
    IrregularityKind::PressWithoutMove,
    IrregularityKind::TwoHands,
];

const CONTROLS: [TimeControl; 3] = [TimeControl::Standard, TimeControl::Rapid, TimeControl::Blitz];

fn control(control: TimeControl) -> &'static str {
    match control {
        TimeControl::Standard => "standard",
        TimeControl::Rapid => "rapid",
        TimeControl::Blitz => "blitz",
    }
}

fn sanction(sanction: Sanction) -> String {
    match sanction {
        Sanction::Nothing => "none".to_owned(),
        Sanction::Seconds(n) => n.to_string(),
        Sanction::Contested { usual, other } => format!("{usual} ({other} by the other reading)"),
        Sanction::Loss => "loss".to_owned(),
    }
}

fn bar(bar: Bar) -> String {
    match bar {
        Bar::Never => "never".to_owned(),
        Bar::AtOnce => "at once".to_owned(),
        Bar::Moves(n) => format!("{n} moves each"),
        Bar::QuickplayMoves(n) => format!("{n} moves each, rapid and blitz"),
        Bar::UnsupervisedMoves(n) => format!("{n} moves each, rapid and blitz not adequately supervised"),
    }
}

fn situation(situation: Situation) -> &'static str {
    match situation {
        Situation::Plain => "",
        Situation::Ended => "the game had ended",
        Situation::TooLate => "too late",
        Situation::NotCompleted => "not pressed",
        Situation::NotAskedFor => "no player asks (1997 rapid, blitz)",
        Situation::PeriodComplete => "moves of the period complete",
        Situation::Unnoticed => "nobody has noticed",
        Situation::OrderUnknown => "order unknown, a period follows",
        Situation::OrderUnknownLast => "order unknown, last period",
        Situation::OrderUnknownQuickplay => "order unknown, 1997 rapid and blitz; since then unsupervised",
        Situation::Right => "right",
        Situation::Wrong => "wrong",
        Situation::Unclaimed => "nobody claims",
        Situation::Consecutive => "consecutive",
        Situation::Waiting => "next move not completed",
        Situation::Persists => "still so after the next move",
        Situation::Gone => "gone after the next move",
        Situation::LatePress => "for the player's own earlier move",
        Situation::AfterIllegalMove => "on the opponent's illegal move",
        Situation::AfterDisplacement => "to have pieces put back",
        Situation::NotRequired => "not asked for in this game",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "none",
        Effect::Arbiter => "arbiter",
        Effect::Draw => "draw",
        Effect::Loss => "loss or draw",
        Effect::LossOutright => "loss",
        Effect::ClaimTime => "time",
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::BeforeOrIdentifiable => "before / last identifiable",
        Place::Before => "before",
        Place::Continue => "continue",
        Place::NewGame => "new game",
        Place::Transfer => "transfer",
        Place::Queen => "queen",
        Place::Stands => "stands",
    }
}

/// What `decide` says of a counted act, by the number of the offence, and until when it says so.
#[derive(PartialEq)]
struct Decided {
    penalties: [String; 3],
    window: &'static str,
}

impl Decided {
    fn of(case: &Case) -> Self {
        let numbered = |number| {
            let mut case = case.clone();
            case.facts.offence_number = number;
            case
        };
        Self {
            penalties: [1, 2, 3].map(|number| penalties(&numbered(number))),
            window: acted_upon(case),
        }
    }
}

/// The penalty by the defaults, and each other one with the readings that lead to it.
fn penalties(case: &Case) -> String {
    let usual = penalty(decide(case, &Options::default()).penalty);
    let mut others: Vec<(String, Vec<String>)> = Vec::new();
    for (reading, options) in other_readings() {
        let other = penalty(decide(case, &options).penalty);
        if other == usual {
            continue;
        }
        match others.iter_mut().find(|(penalty, _)| *penalty == other) {
            Some((_, readings)) => readings.push(reading),
            None => others.push((other, vec![reading])),
        }
    }
    if others.is_empty() {
        return usual;
    }
    let others = others
        .iter()
        .map(|(penalty, by)| format!("{penalty} by {}", by.join(", ")));
    format!("{usual} ({})", others.collect::<Vec<_>>().join("; "))
}

fn penalty(penalty: Penalty) -> String {
    match penalty.kind {
        PenaltyKind::Time => penalty.seconds.to_string(),
        PenaltyKind::Loss => "loss".to_owned(),
        PenaltyKind::Draw => "draw".to_owned(),
        PenaltyKind::None => "none".to_owned(),
        PenaltyKind::Arbiter => "arbiter".to_owned(),
    }
}

/// Until when `decide` rules on an act as on one that was just done, and whether only on the opponent's claim.
fn acted_upon(case: &Case) -> &'static str {
    let with = |change: fn(&mut Facts)| {
        let mut case = case.clone();
        change(&mut case.facts);
        decide(&case, &Options::default())
    };
    let at_once = with(|_| ());
    let is_till_reply = with(|facts| facts.opponent_has_replied = true) != at_once;
    let is_on_claim = with(|facts| facts.raised_by = RaisedBy::Arbiter).penalty != at_once.penalty;
    match (is_till_reply, is_on_claim) {
        (false, false) => "until the game ends",
        (true, false) => "until the reply",
        (true, true) => "until the reply, on the opponent's claim",
        (false, true) => "on the opponent's claim",
    }
}

/// The options with one of them read otherwise than by default, and what that reading is.
fn other_readings() -> Vec<(String, Options)> {
    let schema = serde_json::to_value(schemars::schema_for!(Options)).expect("a schema");
    let defaults = serde_json::to_value(Options::default()).expect("options are plain data");
    let mut others = Vec::new();
    for (name, option) in schema["properties"].as_object().expect("options") {
        let of_type = option["$ref"]
            .as_str()
            .and_then(|path| path.strip_prefix("#/$defs/"));
        let of_type = of_type.unwrap_or_else(|| panic!("{name} has no type: {option}"));
        // A number of seconds has no readings.
        for reading in schema["$defs"][of_type]["oneOf"].as_array().into_iter().flatten() {
            if reading["const"] == defaults[name] {
                continue;
            }
            let options = serde_json::json!({ name: reading["const"] });
            let text = format!("`{name}`: `{}`", reading["const"].as_str().expect("a name"));
            others.push((text, serde_json::from_value(options).expect("options")));
        }
    }
    others
}

/// The counted acts, those together on which `decide` rules alike.
fn decided(
    edition: Edition,
    time_control: TimeControl,
    supervision: Supervision,
) -> Vec<(Vec<&'static str>, Decided)> {
    let mut rows: Vec<(Vec<&str>, Decided)> = Vec::new();
    for kind in COUNTED {
        let mut facts = Facts::new(kind, Some(Side::White));
        facts.raised_by = RaisedBy::Opponent;
        let decided = Decided::of(&Case {
            edition,
            time_control,
            supervision,
            facts,
        });
        match rows.iter_mut().find(|(_, alike)| *alike == decided) {
            Some((kinds, _)) => kinds.push(kind.as_str()),
            None => rows.push((vec![kind.as_str()], decided)),
        }
    }
    rows
}

fn penalties_table() -> String {
    let mut table =
        "| edition | control | supervision | act | 1st | 2nd | 3rd | acted upon |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for edition in Edition::ALL {
        for time_control in CONTROLS {
            let with = |supervision| decided(edition, time_control, supervision);
            let (adequate, not_adequate) = (with(Supervision::Adequate), with(Supervision::NotAdequate));
            if adequate == not_adequate {
                rows(&mut table, edition, time_control, "-", &adequate);
            } else {
                rows(&mut table, edition, time_control, "adequate", &adequate);
                rows(&mut table, edition, time_control, "not adequate", &not_adequate);
            }
        }
    }
    table
}

fn rows(
    table: &mut String,
    edition: Edition,
    time_control: TimeControl,
    supervision: &str,
    rows: &[(Vec<&'static str>, Decided)],
) {
    for (kinds, Decided { penalties, window }) in rows {
        let _ = writeln!(
            table,
            "| {} | {} | {supervision} | {} | {} | {window} |",
            edition.as_str(),
            control(time_control),
            kinds.join(", "),
            penalties.join(" | "),
        );
    }
}

fn provisions() -> String {
    let mut table = "| irregularity | when | 1997 | 2014 | since 2017 |\n|---|---|---|---|---|\n".to_owned();
    for row in PROVISIONS {
        let cells = row.cells.map(|cell| match cell {
            Some(c) => format!(
                "{}, {} ({})",
                effect(c.effect),
                place(c.place),
                c.articles.join(", ")
            )
            .replace(" ()", ""),
            None => "-".to_owned(),
        });
        let _ = writeln!(
            table,
            "| {} | {} | {} |",
            row.kind.as_str(),
            situation(row.situation),
            cells.join(" | ")
        );
    }
    table
}

fn extras() -> String {
    let mut table = "| editions | irregularities | in | also cited |\n|---|---|---|---|\n".to_owned();
    for extra in EXTRAS {
        let editions: Vec<_> = extra.editions.iter().map(|e| e.as_str()).collect();
        let kinds: Vec<_> = extra.kinds.iter().map(|k| k.as_str()).collect();
        let scope = match extra.scope {
            Scope::All => "all games",
            Scope::Quickplay => "rapid and blitz",
            Scope::Unsupervised => "rapid and blitz, not adequate",
            Scope::UnsupervisedByArbiter => "the same, raised by the arbiter",
        };
        let _ = writeln!(
            table,
            "| {} | {} | {scope} | {} |",
            editions.join(", "),
            kinds.join(", "),
            extra.articles.join(", ")
        );
    }
    table
}

fn bars() -> String {
    let mut table = "| edition | set-up and orientation | colours | clock setting | wrong draw claim: standard, rapid, blitz |\n|---|---|---|---|---|\n".to_owned();
    for rules in edition::EDITIONS {
        let claim = rules.wrong_claim.map(|s| {
            if s == Sanction::Nothing {
                "option".to_owned()
            } else {
                sanction(s)
            }
        });
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            rules.edition.as_str(),
            bar(rules.set_up_bar),
            bar(rules.colours_bar),
            bar(rules.clock_bar),
            claim.join(", ")
        );
    }
    table
}

fn articles() -> String {
    let mut table = "| edition | act | standard | rapid, adequate | rapid, not adequate | blitz, adequate | blitz, not adequate |\n|---|---|---|---|---|---|---|\n".to_owned();
    let columns = [
        (TimeControl::Standard, Supervision::Adequate),
        (TimeControl::Rapid, Supervision::Adequate),
        (TimeControl::Rapid, Supervision::NotAdequate),
        (TimeControl::Blitz, Supervision::Adequate),
        (TimeControl::Blitz, Supervision::NotAdequate),
    ];
    for edition in Edition::ALL {
        for kind in COUNTED {
            let cited = columns.map(|(time_control, supervision)| {
                let mut facts = Facts::new(kind, Some(Side::White));
                facts.offence_number = 1;
                decide(
                    &Case {
                        edition,
                        time_control,
                        supervision,
                        facts,
                    },
                    &Options::default(),
                )
                .articles
                .join(", ")
            });
            let _ = writeln!(
                table,
                "| {} | {} | {} |",
                edition.as_str(),
                kind.as_str(),
                cited.join(" | ")
            );
        }
    }
    table
}

fn options() -> String {
    let defaults = serde_json::to_value(Options::default()).expect("options are plain data");
    let mut table = "| option | default |\n|---|---|\n".to_owned();
    for (name, value) in defaults.as_object().into_iter().flatten() {
        let _ = writeln!(table, "| `{name}` | `{}` |", value.to_string().replace('"', ""));
    }
    table
}

type Table = (&'static str, fn() -> String);

/// The document with the tables put between their marks.
fn filled(document: &str) -> String {
    let tables: [Table; 6] = [
        ("penalties", penalties_table),
        ("provisions", provisions),
        ("bars", bars),
        ("articles", articles),
        ("extras", extras),
        ("options", options),
    ];
    tables
        .into_iter()
        .fold(document.to_owned(), |document, (name, table)| {
            let (begin, end) = (format!("<!-- table {name} -->\n"), format!("<!-- end {name} -->"));
            let (head, rest) = document
                .split_once(&begin)
                .unwrap_or_else(|| panic!("docs/laws.md has no mark {begin:?}"));
            let (_, tail) = rest
                .split_once(&end)
                .unwrap_or_else(|| panic!("docs/laws.md has no mark {end:?}"));
            format!("{head}{begin}{}{end}{tail}", table())
        })
}

#[test]
fn the_document_shows_the_tables_in_use() {
    let document = fs::read_to_string(Path::new(DOCUMENT)).expect("docs/laws.md");
    let expected = filled(&document);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(DOCUMENT, &expected).expect("docs/laws.md can be written");
        return;
    }
    assert!(
        document == expected,
        "docs/laws.md differs from the tables: run the test with UPDATE_GOLDEN=1"
    );
}

/// The names of all readings, from the schema of the options.
fn readings() -> Vec<String> {
    let schema = serde_json::to_value(schemars::schema_for!(Options)).expect("a schema");
    let constants = |reading: &serde_json::Value| reading["const"].as_str().map(str::to_owned);
    let definitions = schema["$defs"].as_object().expect("definitions").values();
    let readings: Vec<String> = definitions
        .flat_map(|option| option["oneOf"].as_array().cloned().unwrap_or_default())
        .filter_map(|reading| constants(&reading))
        .collect();
    assert!(readings.len() > 20, "{readings:?}");
    readings
}

#[test]
fn every_option_is_explained_with_its_readings() {
    if env::var_os("UPDATE_GOLDEN").is_some() {
        // The other test is writing the page.
        return;
    }
    let document = fs::read_to_string(Path::new(DOCUMENT)).expect("docs/laws.md");
    let defaults = serde_json::to_value(Options::default()).expect("options are plain data");
    for name in defaults.as_object().into_iter().flatten().map(|(name, _)| name) {
        assert!(
            document.contains(&format!("\n* `{name}`: ")),
            "{name} is in the table only"
        );
    }
    for reading in readings() {
        assert!(
            document.contains(&format!("`{reading}`")),
            "the reading {reading} is not explained"
        );
    }
    for ruling in [PositionRuling::Stands, PositionRuling::LastIdentifiable] {
        let name = serde_json::to_value(ruling).expect("a name");
        assert!(document.contains(name.as_str().unwrap_or_default()));
    }
}

#[test]
fn every_field_of_a_report_is_named() {
    let report = Report::of(IrregularityKind::TwoHands, None);
    let fields = serde_json::to_value(&report).expect("plain data");
    let document = fs::read_to_string(DOCUMENT).expect("docs/laws.md");
    let (_, section) = document
        .split_once("## What only a person sees")
        .expect("its section");
    for name in fields.as_object().expect("an object").keys() {
        let told = section.contains(&format!("`{name}`")) || section.contains(&format!("\"{name}\""));
        assert!(told, "`{name}` is not in docs/laws.md");
    }
}
