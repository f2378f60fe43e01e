//! Groups of an event, as `[broadcast.groups.NAME]`: each is a broadcast of its own, of which the table has what differs
//! from `[broadcast]`. This module makes of the file of several groups the file of one.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Broadcast, Id, overlay::lay_over, read::Document};

const BROADCAST: &str = "broadcast";
const GROUPS: &str = "groups";
/// Keys of `[broadcast]` that each group has for itself.
const OF_ONE: [&str; 3] = ["boards", "pairings", "listen"];
/// Keys of `lichess` that each group has for itself.
const ON_LICHESS: [&str; 2] = ["round", "broadcast"];

type Value<'v> = Spanned<DeValue<'v>>;

/// The names of the groups in the text of a file; none where its broadcast has no groups.
pub(super) fn names(text: &str) -> Vec<String> {
    let (mut root, _) = DeTable::parse_recoverable(text);
    match take(root.get_mut()).map(|(_, groups)| groups.into_inner()) {
        Some(DeValue::Table(tables)) => tables.keys().map(|name| name.get_ref().to_string()).collect(),
        _ => Vec::new(),
    }
}

/// True where the text of a file has a broadcast with groups, or with what should be groups.
pub(super) fn is_grouped(text: &str) -> bool {
    let (mut root, _) = DeTable::parse_recoverable(text);
    take(root.get_mut()).is_some()
}

/// Takes a broadcast with groups out of what a daemon reads: the dashboard writes it.
pub(super) fn leave_to_dashboard(root: &mut DeTable<'_>) {
    if take(root).is_some() {
        root.remove(BROADCAST);
    }
}

/// Makes the broadcast that of the group `name`. Without a name, what all groups have in common is checked, and nothing of
/// the broadcast is left. A file without groups stays as it is. None where it is not clear what the group has.
pub(super) fn choose(root: &mut DeTable<'_>, name: Option<&str>, document: &mut Document<'_>) -> Option<()> {
    let Some((span, groups)) = take(root) else {
        return Some(());
    };
    let DeValue::Table(mut tables) = groups.into_inner() else {
        not_tables(span, document);
        return None;
    };
    let Some(name) = name else {
        if tables.is_empty() {
            not_tables(span, document);
        }
        refuse_common(root, document);
        root.remove(BROADCAST);
        return Some(());
    };
    let (key, own) = tables.remove_entry(name)?;
    document.within(key.span());
    if let Err(error) = name.parse::<Id>() {
        document.problem(
            key.span(),
            format!("{name:?} cannot be the name of a group, because a folder has it"),
            error.help,
        );
        return None;
    }
    let DeValue::Table(own) = own.into_inner() else {
        not_tables(key.span(), document);
        return None;
    };
    let common = root.get_mut(BROADCAST)?;
    // Problems of the broadcast as a whole are those of this table.
    let whole = Spanned::new(
        key.span(),
        std::mem::replace(common.get_mut(), DeValue::Boolean(false)),
    );
    *common = whole;
    let DeValue::Table(common) = common.get_mut() else {
        return None;
    };
    tell_apart(common, &own, name);
    lay_over(common, own);
    Some(())
}

/// Gives folder and name of the event to a group that has none of its own.
fn tell_apart(common: &mut DeTable<'_>, own: &DeTable<'_>, name: &str) {
    for (key, of_group) in [
        (
            "folder",
            &(|event: &str| Path::new(event).join(name).to_string_lossy().into_owned())
                as &dyn Fn(&str) -> String,
        ),
        ("name", &|event: &str| format!("{event}, {name}")),
    ] {
        if own.contains_key(key) {
            continue;
        }
        if let Some(DeValue::String(event)) = common.get_mut(key).map(Spanned::get_mut) {
            *event = of_group(event).into();
        }
    }
}

fn take<'v>(root: &mut DeTable<'v>) -> Option<(Range<usize>, Value<'v>)> {
    let DeValue::Table(broadcast) = root.get_mut(BROADCAST)?.get_mut() else {
        return None;
    };
    let (key, value) = broadcast.remove_entry(GROUPS)?;
    Some((key.span(), value))
}

fn not_tables(span: Range<usize>, document: &mut Document<'_>) {
    document.problem(
        span,
        "expected a table for each group",
        "write [broadcast.groups.NAME] and below it what the group NAME has for itself: `boards`, `pairings`, `lichess`",
    );
}

/// Notes what stands among the common keys and cannot be common.
fn refuse_common(root: &DeTable<'_>, document: &mut Document<'_>) {
    let Some(DeValue::Table(broadcast)) = root.get(BROADCAST).map(Spanned::get_ref) else {
        return;
    };
    let mut refuse = |table: &DeTable<'_>, keys: &[&str], below: &str| {
        for key in keys {
            if let Some((stray, _)) = table.get_key_value(*key) {
                document.problem(
                    stray.span(),
                    format!("each group has `{key}` for itself"),
                    format!("write it below [broadcast.groups.NAME{below}]"),
                );
            }
        }
    };
    refuse(broadcast, &OF_ONE, "");
    if let Some(DeValue::Table(lichess)) = broadcast.get("lichess").map(Spanned::get_ref) {
        refuse(lichess, &ON_LICHESS, ".lichess");
    }
}

/// What two of the broadcasts have that only one can have.
pub(super) fn conflicts(broadcasts: &[Broadcast]) -> Vec<String> {
    let mut owners: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
    for broadcast in broadcasts {
        let group = broadcast.group.as_deref().unwrap_or_default();
        let lichess = broadcast.lichess.as_ref();
        let things = [
            Some((format!("the folder {}", broadcast.folder.components().collect::<PathBuf>().display()), "give each its `folder`")),
            broadcast.listen.map(|listen| (format!("the address {listen}"), "let each `listen` at another port")),
            lichess.map(|lichess| {
                (
                    format!("the games of {} on lichess", lichess.broadcast.as_ref().unwrap_or(&lichess.round)),
                    "make a broadcast there for each group, and name it below [broadcast.groups.NAME.lichess]",
                )
            }),
        ];
        let boards = broadcast.boards.iter();
        let boards = boards.map(|board| {
            (
                format!("the board {board:?}"),
                "each board plays in one group: name its boards in each",
            )
        });
        for thing in things.into_iter().flatten().chain(boards) {
            owners.entry(thing).or_default().push(group);
        }
    }
    let shared = owners.into_iter().filter(|(_, of)| of.len() > 1);
    shared
        .map(|((thing, help), of)| {
            format!(
                "the groups {} have {thing} together\n    {help}",
                of.join(" and ")
            )
        })
        .collect()
}
