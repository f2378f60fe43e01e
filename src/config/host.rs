//! Hosts to which something secret goes.

use std::net::{IpAddr, SocketAddr};

/// True where `host`, perhaps with a port, can only be this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    // What is no port belongs to the name, as for whoever connects.
    let has_port = |(_, port): &(&str, &str)| port.parse::<u16>().is_ok();
    let name = host
        .split_once(':')
        .filter(has_port)
        .map_or(host, |(name, _)| name);
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = bracketed.unwrap_or(name).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_no_other() {
        for host in [
            "localhost",
            "localhost:8000",
            "127.0.0.1:80",
            "127.1.2.3",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in [
            "lichess.org",
            "localhost.evil.example",
            "10.0.0.1:80",
            "127.0.0.1.nip.io",
            "localhost:x.evil.example",
            "localhost:80:80",
            "[::2]:80",
            "",
        ] {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
