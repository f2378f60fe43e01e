//! One file for all gateways of a hall. What stands in the file is common to them, and the table `[gateways.NAME]` has
//! what one gateway has for itself. This module lays the table of one gateway over what is common.

use std::{borrow::Cow, ops::Range};

use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    env::{Env, GATEWAY as VARIABLE},
    group,
    overlay::lay_over,
    read::Document,
};

/// The key of the gateways' tables.
const GATEWAYS: &str = "gateways";
/// The tables that each gateway has for itself.
const OF_ONE: [&str; 2] = ["board", "line"];

type Value<'v> = Spanned<DeValue<'v>>;

/// The raw shape of the configuration of one gateway; none when the file is not TOML at all, or when it is of a whole
/// hall and `env` names none of its gateways.
pub(super) fn read<'t, T: DeserializeOwned>(document: &mut Document<'t>, env: &'t Env) -> Option<T> {
    let mut table = document.parse()?;
    choose(table.get_mut(), env, document)?;
    group::leave_to_dashboard(table.get_mut());
    document.shape(table, env)
}

/// As [`read`], of the file of a whole hall what is common, with the broadcast of `group` if it has groups. With it the
/// boards of all gateways of such a file, as `GATEWAY/BOARD`.
pub(super) fn read_common<'t, T: DeserializeOwned>(
    document: &mut Document<'t>,
    env: &'t Env,
    group: Option<&str>,
) -> Option<(T, Vec<String>)> {
    let mut table = document.parse()?;
    let boards = common(table.get_mut());
    group::choose(table.get_mut(), group, document)?;
    Some((document.shape(table, env)?, boards))
}

/// Makes of a hall's file the file of the gateway that `env` means. The file of one gateway stays as it is. None where
/// it is not clear which gateway is meant; that is noted in `document`.
fn choose(root: &mut DeTable<'_>, env: &Env, document: &mut Document<'_>) -> Option<()> {
    let Some((span, mut gateways)) = take_gateways(root) else {
        return is_of(root, env, document);
    };
    let DeValue::Table(tables) = gateways.get_mut() else {
        not_tables(span, document);
        return None;
    };
    refuse_strays(root, document);
    let names: Vec<String> = tables.keys().map(|name| name.get_ref().to_string()).collect();
    let name = wanted(env, &names, document)?;
    let (key, own) = tables.remove_entry(name.as_str())?;
    document.within(key.span());
    let DeValue::Table(mut own) = own.into_inner() else {
        not_tables(key.span(), document);
        return None;
    };
    refuse_name(&mut own, document);
    lay_over(root, own);
    set_name(root, &key);
    Some(())
}

/// Leaves of a hall's file what is common, and returns the boards of all gateways as `GATEWAY/BOARD`.
fn common(root: &mut DeTable<'_>) -> Vec<String> {
    let Some((_, gateways)) = take_gateways(root) else {
        return Vec::new();
    };
    let DeValue::Table(tables) = gateways.get_ref() else {
        return Vec::new();
    };
    tables
        .iter()
        .flat_map(|(name, own)| {
            let boards = own
                .get_ref()
                .get("board")
                .and_then(|boards| boards.get_ref().as_array());
            let ids = boards.into_iter().flatten().filter_map(|board| {
                let id = board.get_ref().get("id")?.get_ref().as_str()?.to_owned();
                Some(format!("{}/{id}", name.get_ref()))
            });
            ids.collect::<Vec<_>>()
        })
        .collect()
}

/// The names of the gateways in the text of a hall's file; none for another file.
pub(super) fn names(text: &str) -> Vec<String> {
    let (mut root, _) = DeTable::parse_recoverable(text);
    match take_gateways(root.get_mut()) {
        Some((_, gateways)) => match gateways.get_ref() {
            DeValue::Table(tables) => tables.keys().map(|name| name.get_ref().to_string()).collect(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    }
}

/// True where the text of a file has a broadcast, and nothing of a gateway.
pub(super) fn is_without_gateway(text: &str) -> bool {
    let (root, _) = DeTable::parse_recoverable(text);
    let root = root.get_ref();
    let of_gateway = ["gateway", GATEWAYS].iter().chain(&OF_ONE);
    root.contains_key("broadcast") && !of_gateway.into_iter().any(|key| root.contains_key(*key))
}

fn take_gateways<'v>(root: &mut DeTable<'v>) -> Option<(Range<usize>, Value<'v>)> {
    let (key, value) = root.remove_entry(GATEWAYS)?;
    Some((key.span(), value))
}

fn not_tables(span: Range<usize>, document: &mut Document<'_>) {
    document.problem(
        span,
        "expected a table for each gateway",
        "write [gateways.NAME] and below it what the gateway NAME has for itself, as in [[gateways.NAME.board]]",
    );
}

/// Notes where the file of one gateway is of another than `env` names. A file without a name has a problem of its own.
fn is_of(root: &DeTable<'_>, env: &Env, document: &mut Document<'_>) -> Option<()> {
    let name = root
        .get("gateway")
        .and_then(|gateway| gateway.get_ref().get("name"));
    let (Some(name), Some(wanted)) = (name, env.gateway()) else {
        return Some(());
    };
    match name.get_ref().as_str() {
        Some(here) if here != wanted => {
            document.problem(
                name.span(),
                format!("the file is of the gateway {here:?}, and {wanted:?} is wanted"),
                format!("leave --gateway and {VARIABLE} out, or name the file that has {wanted:?}"),
            );
            None
        }
        _ => Some(()),
    }
}

/// The name of the gateway that is meant.
fn wanted(env: &Env, names: &[String], document: &mut Document<'_>) -> Option<String> {
    let is_there = |name: &str| names.iter().any(|known| known == name);
    let list = match names {
        [] => "the file has none yet: write [gateways.NAME]".to_owned(),
        names => format!("the file has: {}", names.join(", ")),
    };
    match (env.gateway(), env.host()) {
        (Some(name), _) if is_there(name) => return Some(name.to_owned()),
        (Some(name), _) => {
            let what = format!("there is no gateway {name:?} in the hall's file");
            let help = format!("write its name as the file does after --gateway or in {VARIABLE}; {list}");
            document.whole(what, help);
        }
        (None, Some(host)) if is_there(host) => return Some(host.to_owned()),
        (None, host) => {
            let machine = host.map_or_else(String::new, |host| {
                format!(", and no gateway has the name of this machine, {host:?}")
            });
            document.whole(
                format!(
                    "the file is of a whole hall, and it is not said which of its gateways this is{machine}"
                ),
                format!("say it by --gateway NAME or the variable {VARIABLE}; {list}"),
            );
        }
    }
    None
}

/// Notes what stands among the common keys of a hall's file and cannot be common, and takes it out.
fn refuse_strays(root: &mut DeTable<'_>, document: &mut Document<'_>) {
    for stray in OF_ONE {
        if let Some((key, value)) = root.remove_entry(stray) {
            let first = value.get_ref().as_array().and_then(|array| array.iter().next());
            document.problem(
                first.map_or_else(|| key.span(), Spanned::span),
                format!("in the file of a whole hall each {stray} belongs to a gateway"),
                format!("write [[gateways.NAME.{stray}]]"),
            );
        }
    }
    refuse_name(root, document);
}

/// Notes a `gateway.name`, and takes it out: the name is that of the table.
fn refuse_name(table: &mut DeTable<'_>, document: &mut Document<'_>) {
    let Some(DeValue::Table(gateway)) = table.get_mut("gateway").map(Spanned::get_mut) else {
        return;
    };
    if let Some((key, _)) = gateway.remove_entry("name") {
        document.problem(
            key.span(),
            "in the file of a whole hall the name of a gateway is that of its table",
            "leave `name` out, and write [gateways.NAME]",
        );
    }
}

fn set_name<'v>(root: &mut DeTable<'v>, key: &Spanned<Cow<'v, str>>) {
    let gateway = root
        .entry(Spanned::new(key.span(), Cow::Borrowed("gateway")))
        .or_insert_with(|| Spanned::new(key.span(), DeValue::Table(DeTable::new())));
    if let DeValue::Table(gateway) = gateway.get_mut() {
        let name = DeValue::String(key.get_ref().clone());
        gateway.insert(
            Spanned::new(key.span(), Cow::Borrowed("name")),
            Spanned::new(key.span(), name),
        );
    }
}
