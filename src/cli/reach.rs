//! What `check --connect` tries: whether a board answers at a port, whether a broker lets us in.

use std::time::Duration;

use tokio::{runtime::Runtime, time::timeout};

use crate::{
    config::{Broker, BrokerUrl, Port},
    link::{Source, ask},
    mqtt::{BrokerLink, Dial, LinkEvent, rumqtt::RumqttDial},
};

/// How long a session may take to open.
const PATIENCE: Duration = Duration::from_secs(8);

fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
}

/// Opens the port and asks the board for its numbers.
pub(super) fn port(port: &Port) -> Result<String, String> {
    let source: Source = port.as_str().parse().map_err(|error| format!("{error}"))?;
    if let Source::Capture(playback) = &source {
        let known = crate::link::file::read_capture(playback.path());
        return known
            .map(|_| "a capture that can be read".to_owned())
            .map_err(|e| full(&e));
    }
    match runtime()?.block_on(ask(&source)) {
        Ok(numbers) if numbers.is_empty() => {
            Err("the port opens, but no board answers: is it switched on?".to_owned())
        }
        Ok(numbers) => Ok(format!(
            "a board with the serial number {}",
            numbers.join(" and ")
        )),
        Err(error) => Err(full(&error)),
    }
}

/// Opens an MQTT session under a name of its own, so that a daemon that runs keeps its session.
pub(super) fn session(broker: &Broker, url: &BrokerUrl) -> Result<String, String> {
    let mut broker = broker.clone();
    broker.client_id += "-check";
    let will = format!("{}/will", broker.client_id);
    let mut dial = RumqttDial::new(broker, will, PATIENCE);
    runtime()?.block_on(async {
        let mut link = dial.dial(url)?;
        let answer = timeout(PATIENCE, link.next()).await;
        match answer {
            Ok(LinkEvent::Connected { .. }) => {
                link.disconnect();
                // The farewell goes out while the link is polled; without it the will would be published.
                let _ = timeout(Duration::from_secs(1), link.next()).await;
                Ok("the broker lets us in".to_owned())
            }
            Ok(LinkEvent::Closed(closed)) => Err(closed.reason),
            Ok(_) => Err("the broker does not answer as MQTT 5 asks".to_owned()),
            Err(_) => Err("something listens there, but it does not answer as an MQTT 5 broker".to_owned()),
        }
    })
}

/// An error with its causes.
fn full(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
