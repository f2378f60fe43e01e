//! Says why the gateway cannot use a broker, and what to do.

use rumqttc::v5::{
    ConnectionError, StateError,
    mqttbytes::v5::{ConnAck, ConnectReturnCode, DisconnectReasonCode},
};

use crate::descriptors;
use crate::throttle::shortened;
use crate::tls;

/// What the gateway needs, and which brokers have it.
const NEEDS: &str = "dgt2mqtt needs MQTT 5, which mosquitto 1.6, EMQX, HiveMQ, VerneMQ and RabbitMQ 3.13 and their successors speak";

/// In a packet of this many bytes every event has room in its last short form, whatever the names in its topic are; `short.rs` holds
/// that. Where a broker takes less, an event might never go, and its board would wait for it.
pub(super) const SMALLEST: u32 = 700;

/// Why the connection failed; `was_let_in` is true once the broker has accepted us.
pub(super) fn explain(error: &ConnectionError, was_let_in: bool) -> String {
    // A broker that does not trust our certificate may say so only when we read its first answer. The library does not
    // name that as the cause.
    let cause: &dyn std::error::Error = match error {
        ConnectionError::MqttState(StateError::Deserialization(cause)) => cause,
        other => other,
    };
    if let Some(what) = tls::explain(cause) {
        return format!("the broker {what}");
    }
    match error {
        ConnectionError::ConnectionRefused(code) => refused(*code),
        ConnectionError::Timeout(_) => {
            format!(
                "the broker did not answer in time: does it speak MQTT 5, and is TLS expected at this port? {NEEDS}"
            )
        }
        ConnectionError::MqttState(StateError::AwaitPingResp) => "the broker stopped answering".to_owned(),
        ConnectionError::MqttState(StateError::ConnectionAborted) if was_let_in => {
            "the broker closed the connection".to_owned()
        }
        ConnectionError::MqttState(StateError::ConnectionAborted) => format!(
            "whatever listens there closed the connection without an answer that we understand: it expects TLS at this port, is no broker, or speaks MQTT 3.1.1 only; {NEEDS}"
        ),
        ConnectionError::MqttState(StateError::Deserialization(_)) | ConnectionError::NotConnAck(_)
            if !was_let_in =>
        {
            format!(
                "the answer is not that of an MQTT 5 broker: it is something else, such as a web server (then `urls` under [broker] names a wrong host or port), or speaks MQTT 3.1.1 only; {NEEDS}"
            )
        }
        ConnectionError::MqttState(StateError::ServerDisconnect {
            reason_code,
            reason_string,
        }) => ended(*reason_code, reason_string.as_deref()),
        ConnectionError::Io(error) => descriptors::remedy(error).unwrap_or_else(|| error.to_string()),
        other => other.to_string(),
    }
}

/// True where the reason may be a broker of MQTT 3.1.1: it does not understand us, and we do not understand its answer.
pub(super) fn may_be_older(error: &ConnectionError) -> bool {
    matches!(
        error,
        ConnectionError::MqttState(StateError::ConnectionAborted | StateError::Deserialization(_))
            | ConnectionError::NotConnAck(_)
    )
}

/// True where the reason may be that nobody tells the address of the broker's name.
pub(super) fn may_be_nameless(error: &ConnectionError) -> bool {
    match error {
        ConnectionError::Timeout(_) => true,
        // A process without descriptors cannot ask either.
        ConnectionError::Io(error) => descriptors::remedy(error).is_none(),
        _ => false,
    }
}

/// True where the broker ends a connection whatever was sent on it (MQTT 5, 3.14.2.1).
pub(super) fn is_of_its_own_accord(code: DisconnectReasonCode) -> bool {
    use DisconnectReasonCode::{
        AdministrativeAction, KeepAliveTimeout, MaximumConnectTime, ServerBusy, ServerMoved,
        ServerShuttingDown, SessionTakenOver, UseAnotherServer,
    };
    matches!(
        code,
        AdministrativeAction
            | KeepAliveTimeout
            | MaximumConnectTime
            | ServerBusy
            | ServerMoved
            | ServerShuttingDown
            | SessionTakenOver
            | UseAnotherServer
    )
}

/// The words on a broker that ended the connection and said why.
fn ended(code: DisconnectReasonCode, words: Option<&str>) -> String {
    use DisconnectReasonCode as Code;
    let why = match code {
        Code::ServerShuttingDown => "it shuts down or starts anew",
        Code::SessionTakenOver => {
            "another client connected with our client id: give each gateway its own `client_id` under [broker], or none"
        }
        Code::ServerBusy | Code::QuotaExceeded | Code::MessageRateTooHigh | Code::ConnectionRateExceeded => {
            "it has too much to do: see its own log and limits"
        }
        Code::KeepAliveTimeout => {
            "it heard nothing of us for too long: see to the network, or raise `keep_alive`"
        }
        Code::NotAuthorized | Code::AdministrativeAction => "see to our rights on the broker",
        Code::UseAnotherServer | Code::ServerMoved => "it has moved: correct `urls` under [broker]",
        _ => "see the broker's own log",
    };
    let words = words.map_or(String::new(), |words| format!(", \"{}\"", shortened(words, 200)));
    format!("the broker ended the connection: {code:?}{words} ({why})")
}

/// The words on a web server in the place of a broker.
pub(super) fn web_server(port: u16) -> String {
    format!(
        "a web server answers at port {port}, no MQTT broker: `urls` under [broker] names a wrong host or port; write those of the broker's MQTT listener (1883 at most brokers, 8883 with TLS)"
    )
}

/// The words on a broker of MQTT 3.1.1.
pub(super) fn older() -> String {
    format!("the broker speaks MQTT 3.1.1 only: {NEEDS}")
}

fn refused(code: ConnectReturnCode) -> String {
    let why = match code {
        ConnectReturnCode::RefusedProtocolVersion | ConnectReturnCode::UnsupportedProtocolVersion => {
            return older();
        }
        ConnectReturnCode::BadUserNamePassword
        | ConnectReturnCode::NotAuthorized
        | ConnectReturnCode::BadClientId
        | ConnectReturnCode::ClientIdentifierNotValid => "check user, password and client id",
        ConnectReturnCode::RetainNotSupported => {
            "it keeps no messages, and the states of boards are kept messages: allow `retain` there"
        }
        ConnectReturnCode::QoSNotSupported => {
            "it acknowledges nothing, so events could be lost: allow QoS 1 there"
        }
        ConnectReturnCode::ServerBusy
        | ConnectReturnCode::ServerUnavailable
        | ConnectReturnCode::ServiceUnavailable
        | ConnectReturnCode::QuotaExceeded
        | ConnectReturnCode::ConnectionRateExceeded => "it has too much to do: see its own log and limits",
        ConnectReturnCode::UseAnotherServer | ConnectReturnCode::ServerMoved => {
            "it has moved: correct `urls` under [broker]"
        }
        ConnectReturnCode::Banned => "this client is banned: see to its rights on the broker",
        _ => "see the broker's own log",
    };
    format!("the broker refused us: {code:?} ({why})")
}

/// Why the gateway cannot use a broker although the broker accepted it.
pub(super) fn lacks(connack: &ConnAck) -> Option<String> {
    let properties = connack.properties.as_ref()?;
    if let Some(most) = properties.max_packet_size.filter(|most| *most < SMALLEST) {
        return Some(format!(
            "the broker takes no packets above {most} bytes, and an event may need {SMALLEST} in its shortest form: allow 4096 there, or more (mosquitto: `max_packet_size`)"
        ));
    }
    if properties.max_qos == Some(0) {
        return Some(refused(ConnectReturnCode::QoSNotSupported));
    }
    (properties.retain_available == Some(0)).then(|| refused(ConnectReturnCode::RetainNotSupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_that_says_why_it_ends_the_connection_is_told_with_what_to_do() {
        use DisconnectReasonCode as Code;
        let cases = [
            (Code::SessionTakenOver, None, "`client_id`", true),
            (Code::ServerShuttingDown, None, "shuts down", true),
            (
                Code::ImplementationSpecificError,
                Some("a table is gone"),
                "\"a table is gone\"",
                false,
            ),
            (Code::NotAuthorized, None, "rights", false),
        ];
        for (reason_code, reason_string, words, is_its_own) in cases {
            let reason_string = reason_string.map(str::to_owned);
            let error = ConnectionError::MqttState(StateError::ServerDisconnect {
                reason_code,
                reason_string,
            });
            let said = explain(&error, true);
            assert!(said.contains(words), "{said}");
            assert_eq!(is_of_its_own_accord(reason_code), is_its_own, "{said}");
        }
    }
}
