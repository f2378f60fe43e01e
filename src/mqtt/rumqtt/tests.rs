use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{RumqttDial, in_packets};
use crate::{
    config::{BrokerUrl, Collector},
    mqtt::link::{BrokerLink, Dial, LinkEvent, Publication, Ticket},
};

fn has_message(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|three| three == b"Nf3")
}

/// What a broker reads of a message that was handed over just before the connection was left.
async fn read(abandons: bool) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let broker = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut connect = [0; 1024];
        assert!(stream.read(&mut connect).await.unwrap() > 0);
        // CONNACK: accepted, no properties.
        stream.write_all(&[0x20, 3, 0, 0, 0]).await.unwrap();
        let (mut rest, mut buffer) = (Vec::new(), [0; 1024]);
        // Until the message is there, or the connection ends, however it does.
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            rest.extend_from_slice(&buffer[..count]);
            if has_message(&rest) {
                break;
            }
        }
        rest
    });
    let settings = Collector::default().brokers.remove(0);
    let url = BrokerUrl {
        tls: false,
        host: "127.0.0.1".to_owned(),
        port,
    };
    let mut link = RumqttDial::without_will(settings, Duration::from_secs(5))
        .dial(&url)
        .unwrap();
    while !matches!(link.next().await, LinkEvent::Connected { .. }) {}
    let message = Publication::plain("hall/board/7/event/move".to_owned(), "Nf3", false);
    link.publish(Ticket(1), &message).unwrap();
    if abandons {
        link.abandon("another has our name");
    } else {
        link.disconnect();
    }
    while !matches!(link.next().await, LinkEvent::Closed(_)) {}
    drop(link);
    broker.await.unwrap()
}

#[tokio::test]
async fn what_waits_leaves_with_a_good_bye_and_not_where_the_connection_is_abandoned() {
    assert!(has_message(&read(false).await));
    assert!(!has_message(&read(true).await));
}

#[test]
fn a_subscription_is_split_only_where_the_broker_takes_no_packet_of_its_size() {
    let filters: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| name.repeat(170)).into();
    let counts = |most| {
        in_packets(&filters, most)
            .iter()
            .map(|few| few.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(None), [5]);
    assert_eq!(counts(Some(700)), [3, 2]);
    assert_eq!(counts(Some(100)), [1; 5]);
}
