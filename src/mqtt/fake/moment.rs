//! Two gateways of one name take it in one moment.

use super::*;

fn topics() -> Topics {
    Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap())
}

fn arrived(topic: String, payload: &'static str) -> LinkEvent {
    LinkEvent::Arrived(Arrived {
        topic,
        payload: payload.into(),
        retain: true,
        response_topic: None,
        correlation: None,
        speaker: None,
    })
}

/// The broker tells of all that the gateway waits for, and of a number that the journal does not know: the comparison lasts until the
/// boards have others.
fn tells_all(script: &Script) {
    script.happens(arrived(topics().info(), r#"{"boot_id":"boot"}"#));
    let game = topics().board_state(&"7".parse().unwrap(), BoardState::Game);
    script.happens(arrived(game, r#"{"last_seq":1,"game":null}"#));
}

/// A spare machine had asked and waited, and takes the name as this process begins.
#[tokio::test]
async fn whoever_hears_of_another_while_it_compares_sends_nothing_and_asks_anew() {
    let scene = Scene::new();
    scene
        .handle
        .states
        .set(StateKey::info(&topics()), r#"{"boot_id":"boot"}"#);
    scene.feed("7", 1..=2, "").await;
    scene.script.connects(16, None);
    tells_all(&scene.script);
    let mut compares = scene.journal.disputed();
    compares.wait_for(|is| *is).await.unwrap();
    let other = arrived(topics().info(), r#"{"boot_id":"another"}"#);
    scene.script.happens(other);
    scene.settle().await;
    scene.journal.lift().await;
    let dials = || scene.script.dials.lock().unwrap().len();
    scene.until("another connection", || dials() >= 2).await;
    let published = scene.script.published.lock().unwrap();
    assert!(published.is_empty(), "{published:?}");
}

#[tokio::test]
async fn no_event_goes_before_the_broker_has_info_or_refuses_it() {
    for is_taken in [true, false] {
        let scene = Scene::new();
        scene.handle.states.set(StateKey::info(&topics()), "{}");
        scene.feed("7", 1..=1, "").await;
        scene.script.connects(16, None);
        scene
            .until("`info`", || scene.script.ticket_of("/info").is_some())
            .await;
        scene.settle().await;
        assert_eq!(scene.seqs(), [0; 0]);
        let info = scene.script.ticket_of("/info").unwrap();
        let era = scene.journal.era().unwrap();
        let told = scene.script.published.lock().unwrap()[1].1.payload.clone();
        assert_eq!(
            told,
            format!(r#"{{"journal_era":"{era}"}}"#),
            "when it took the name"
        );
        scene.script.happens(if is_taken {
            LinkEvent::Acked(info)
        } else {
            LinkEvent::Refused(info, "NotAuthorized".to_owned())
        });
        scene.until_sent(&[1]).await;
    }
}

/// Another one has the name, says so while the numbers are compared, and is gone before `info` tells of it.
#[tokio::test]
async fn whoever_gave_way_while_it_compared_compares_again_and_sends() {
    let scene = Scene::new();
    scene.feed("7", 1..=2, "").await;
    scene.script.connects(16, None);
    tells_all(&scene.script);
    let mut compares = scene.journal.disputed();
    compares.wait_for(|is| *is).await.unwrap();
    let holds = r#"{"boot":"a","host":"other","holds":true}"#;
    scene.script.happens(arrived(topics().claim(), holds));
    let dials = || scene.script.dials.lock().unwrap().len();
    scene.until("another connection", || dials() >= 2).await;
    scene.journal.lift().await;
    // The broker has nothing of it, and nobody answers.
    scene.script.connects(16, None);
    let asks = || scene.script.ticket_of("/claim").is_some();
    scene.until("the question", asks).await;
    scene.script.ack_all();
    compares.wait_for(|is| *is).await.unwrap();
    scene.journal.lift().await;
    scene.until("what is sent", || !scene.seqs().is_empty()).await;
    let first = scene.seqs()[0];
    assert!(
        first > 1_000_000,
        "{first} lies where the other may have given numbers out"
    );
}
