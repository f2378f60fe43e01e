//! What a configuration of a whole hall means, and what cannot be in two of its gateways.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::config::Config;

/// The gateways in sentences, one a line.
pub(super) fn describe(gateways: &[Config]) -> String {
    let boards: usize = gateways.iter().map(|gateway| gateway.boards.len()).sum();
    let mut text = format!("A hall of {} gateways with {boards} boards.\n\n", gateways.len());
    for gateway in gateways {
        let ids: Vec<_> = gateway.boards.iter().map(|board| board.id.as_str()).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "Gateway {:?} publishes below {}/{}: boards {}.",
            gateway.gateway.as_str(),
            gateway.base_topic,
            gateway.gateway,
            ids.join(", ")
        );
    }
    let writers = shared(gateways, |gateway| {
        gateway.broadcast.iter().map(|_| String::new()).collect()
    });
    if let Some((_, writers)) = writers.first() {
        let _ = writeln!(
            text,
            "\nNote: the gateways {} each write a broadcast of their own boards. Where one broadcast is wanted, leave \
             [broadcast] out here, and write it into a file of its own for `dgt2mqtt dashboard`.",
            writers.join(", ")
        );
    }
    text.push_str("\n`dgt2mqtt check --gateway NAME` says more of one gateway.\n");
    text
}

/// What is wrong between gateways that are each good.
pub(super) fn conflicts(gateways: &[Config]) -> Vec<String> {
    let ports = shared(gateways, |gateway| {
        gateway
            .boards
            .iter()
            .filter_map(|board| elsewhere(board.port.as_str()))
            .collect()
    });
    let ports = ports.into_iter().map(|(port, of)| {
        format!(
            "{port} is the port of several gateways, {}: one program at a time can use it\n    \
             leave the board to one of them",
            of.join(" and ")
        )
    });
    let clients = shared(gateways, |gateway| vec![gateway.broker.client_id.clone()]);
    let clients = clients.into_iter().map(|(id, of)| {
        format!(
            "{id:?} is the `client_id` of several gateways, {}: the broker would drop one of them for the other\n    \
             leave `client_id` out of [broker], or write it below [gateways.NAME.broker]",
            of.join(", ")
        )
    });
    let rounds = shared(gateways, |gateway| {
        let lichess = gateway
            .broadcast
            .as_ref()
            .and_then(|broadcast| broadcast.lichess.as_ref());
        lichess.iter().map(|lichess| lichess.round.clone()).collect()
    });
    let rounds = rounds.into_iter().map(|(round, of)| {
        format!(
            "the round {round} on lichess gets the games of several gateways, {}: each would replace those of the others\n    \
             have `dgt2mqtt dashboard` write the broadcast of the whole hall, or write \
             [gateways.NAME.broadcast.lichess] with a round for each gateway",
            of.join(", ")
        )
    });
    ports.chain(clients).chain(rounds).collect()
}

/// The device that is one and the same from every machine: a port of the network, or a board by its number.
fn elsewhere(port: &str) -> Option<String> {
    let (serial, line) = match port.strip_prefix("bus:").and_then(|rest| rest.split_once('@')) {
        Some((serial, line)) => (Some(serial), line),
        None => (None, port),
    };
    let address = line
        .strip_prefix("tcp+cap://")
        .or_else(|| line.strip_prefix("tcp://"));
    match (address, serial) {
        // In the network of the machine itself.
        (Some(address), _) if is_own(address) => None,
        (Some(address), _) => Some(format!("tcp://{}", address.to_ascii_lowercase())),
        (None, Some(serial)) => Some(format!("board:{serial}")),
        (None, None) => line.starts_with("board:").then(|| line.to_owned()),
    }
}

fn is_own(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// What more than one gateway has, with the names of those gateways.
fn shared(gateways: &[Config], of: impl Fn(&Config) -> Vec<String>) -> Vec<(String, Vec<String>)> {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for gateway in gateways {
        let mut things = of(gateway);
        things.sort();
        things.dedup();
        for thing in things {
            owners.entry(thing).or_default().push(gateway.gateway.to_string());
        }
    }
    owners.into_iter().filter(|(_, of)| of.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_for_all_machines_where_it_is_in_the_network() {
        let same = |port: &str| elsewhere(port);
        assert_eq!(same("tcp://Box:4001").as_deref(), Some("tcp://box:4001"));
        assert_eq!(same("tcp+cap://box:4001").as_deref(), Some("tcp://box:4001"));
        assert_eq!(same("bus:12345@tcp://box:1").as_deref(), Some("tcp://box:1"));
        assert_eq!(same("bus:12345@/dev/ttyS0").as_deref(), Some("board:12345"));
        assert_eq!(same("board:12345").as_deref(), Some("board:12345"));
        for local in [
            "/dev/ttyUSB0",
            "usb:B7",
            "tcp://127.0.0.1:1",
            "tcp://[::1]:1",
            "tcp://localhost:1",
        ] {
            assert_eq!(same(local), None, "{local}");
        }
    }
}
