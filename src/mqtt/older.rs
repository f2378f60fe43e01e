//! Asks in MQTT 3.1.1 whether a peer that does not understand MQTT 5 is a broker all the same, or a web server.
//!
//! Brokers of MQTT 3.1.1 answer MQTT 5 in different ways: RabbitMQ 3.10 hangs up, NATS answers in the old form, which
//! our library finds too short. A question in MQTT 3.1.1 they all answer alike.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first two bytes of CONNACK in MQTT 3.1.1. Two more follow, which may say anything.
const CONNACK: [u8; 2] = [0x20, 2];
const DISCONNECT: [u8; 2] = [0xe0, 0];
/// How a web server begins whatever it says.
const HTTP: &[u8] = b"HTTP/";

/// The address to ask, and the client id for it.
#[derive(Clone, Debug)]
pub(super) struct OlderQuestion {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) client_id: String,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answerer {
    /// A broker of MQTT 3.1.1.
    OlderBroker,
    WebServer,
}

impl OlderQuestion {
    /// Who answers, if the answer tells.
    pub(super) async fn answerer(&self) -> Option<Answerer> {
        timeout(PATIENCE, self.ask()).await.ok()?.ok()?
    }

    async fn ask(&self) -> std::io::Result<Option<Answerer>> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.write_all(&connect(&self.client_id)).await?;
        let mut answer = [0; CONNACK.len()];
        stream.read_exact(&mut answer).await?;
        if answer == CONNACK {
            stream.write_all(&DISCONNECT).await?;
            return Ok(Some(Answerer::OlderBroker));
        }
        let mut more = [0; HTTP.len() - CONNACK.len()];
        stream.read_exact(&mut more).await?;
        let is_http = [&answer[..], &more[..]].concat() == HTTP;
        Ok(is_http.then_some(Answerer::WebServer))
    }
}

/// CONNECT of MQTT 3.1.1, of a clean session with a keep-alive of a minute. A long name is cut: the broker does not
/// know it.
fn connect(client_id: &str) -> Vec<u8> {
    let id: Vec<u8> = client_id.bytes().filter(u8::is_ascii).take(64).collect();
    let id_length = u8::try_from(id.len()).unwrap_or(0);
    let mut packet = vec![0x10, 12 + id_length];
    packet.extend(b"\x00\x04MQTT\x04\x02\x00\x3c\x00");
    packet.push(id_length);
    packet.extend(id);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lengths_are_those_of_what_follows() {
        for id in ["", "dgt2mqtt-gw", &"ü".repeat(3), &"x".repeat(300)] {
            let packet = connect(id);
            assert_eq!(usize::from(packet[1]), packet.len() - 2, "{id}");
            assert_eq!(usize::from(packet[13]), packet.len() - 14, "{id}");
        }
    }
}
