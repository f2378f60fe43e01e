//! The lane of states, with no broker.

use super::*;

const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

fn key(state: BoardState) -> StateKey {
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let board = "7".parse().unwrap();
    match state {
        BoardState::Clock => StateKey::clock(&topics, &board, CLOCK_INTERVAL),
        state => StateKey::board(&topics, &board, state),
    }
}

#[test]
fn only_the_newest_value_goes_and_one_at_a_time() {
    let (states, now) = (States::default(), Instant::now());
    states.set(key(BoardState::Game), "1");
    states.set(key(BoardState::Game), "2");
    let first = states.next(now, false).unwrap();
    assert_eq!(first.payload, "2");
    assert!(first.retain);
    states.sent(&first.topic, now);
    states.set(key(BoardState::Game), "3");
    states.set(key(BoardState::Game), "4");
    assert_eq!(
        states.next(now, false),
        None,
        "the former value is still under way"
    );
    states.answered(&first.topic);
    assert_eq!(states.next(now, false).unwrap().payload, "4");
}

#[test]
fn an_unchanged_value_is_not_sent_again_before_the_next_connection() {
    let (states, now) = (States::default(), Instant::now());
    states.set(key(BoardState::Status), "online");
    let topic = states.next(now, false).unwrap().topic;
    states.sent(&topic, now);
    states.answered(&topic);
    states.set(key(BoardState::Status), "online");
    assert_eq!(states.next(now, false), None);
    assert!(states.is_drained());
    states.restart();
    assert_eq!(states.next(now, false).unwrap().payload, "online");
}

#[test]
fn what_is_cleared_once_goes_from_the_table_when_the_broker_took_it_and_not_before() {
    let (states, now) = (States::default(), Instant::now());
    states.clear_topic_once(key(BoardState::Game));
    let topic = key(BoardState::Game).topic;
    let send = || {
        let message = states.next(now, false).unwrap();
        assert_eq!((&message.topic, message.payload.len()), (&topic, 0));
        states.sent(&topic, now);
    };
    send();
    states.refused(&topic);
    assert_eq!(states.next(now, false), None, "it is not tried again at once");
    states.restart();
    send();
    states.answered(&topic);
    states.restart();
    assert_eq!(states.next(now, false), None, "nothing is kept of it");
    assert!(states.lock().slots.is_empty());
}

#[test]
fn info_goes_before_all_others() {
    let (states, now) = (States::default(), Instant::now());
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    for n in 0..2 {
        states.set(key(BoardState::Game), n.to_string());
        states.set(StateKey::info(&topics), n.to_string());
        let order = std::iter::from_fn(|| {
            let message = states.next(now, false)?;
            states.sent(&message.topic, now);
            states.answered(&message.topic);
            Some(message.topic)
        });
        assert_eq!(
            order.collect::<Vec<_>>(),
            [topics.info(), key(BoardState::Game).topic]
        );
        states.restart();
    }
}

#[test]
fn the_clock_is_limited_to_its_rate() {
    let (states, now) = (States::default(), Instant::now());
    states.set(key(BoardState::Clock), "1");
    let first = states.next(now, false).unwrap();
    assert_eq!(first.qos, Qos::AtMostOnce);
    states.sent(&first.topic, now);
    states.set(key(BoardState::Clock), "2");
    assert_eq!(states.next(now, false), None);
    let due = states.due().unwrap();
    assert_eq!(due, now + CLOCK_INTERVAL);
    assert_eq!(states.next(due, false).unwrap().payload, "2");
}

#[test]
fn a_topic_that_rested_goes_before_others_and_what_nobody_acknowledges_last() {
    let (states, now) = (States::default(), Instant::now());
    for state in [BoardState::Clock, BoardState::Status, BoardState::Game] {
        states.set(key(state), "1");
    }
    let topic = |now, tracked_first| states.next(now, tracked_first).unwrap().topic;
    assert_eq!(topic(now, false), key(BoardState::Clock).topic);
    assert_eq!(topic(now, true), key(BoardState::Status).topic);
    let (game, later) = (key(BoardState::Game).topic, now + HOLD.0);
    states.hold(&game, now);
    assert!(states.is_hung(&game) && !states.is_trying(now));
    assert_ne!(topic(now, false), game);
    assert!(states.is_trying(later));
    assert_eq!(topic(later, false), game);
    states.sent(&game, later);
    assert!(states.is_trying(later), "it is under way");
    states.answered(&game);
    assert!(!states.is_trying(later) && !states.is_hung(&game));
}

#[test]
fn each_rest_of_a_topic_is_longer_until_the_broker_takes_it() {
    let (states, now) = (States::default(), Instant::now());
    states.set(key(BoardState::Game), "1");
    let game = key(BoardState::Game).topic;
    let rest = |seconds| {
        states.hold(&game, now);
        let until = now + Duration::from_secs(seconds);
        !states.is_trying(until - Duration::from_millis(1)) && states.is_trying(until)
    };
    assert!([10, 20, 40, 80, 160, 300, 300].into_iter().all(rest));
    states.answered(&game);
    assert!(rest(10));
}

/// Of such a state no acknowledgement tells that the broker takes it.
#[test]
fn the_rest_of_a_state_that_nobody_acknowledges_ends_once_it_went_out_and_the_connection_lasts() {
    let (states, now) = (States::default(), Instant::now());
    for state in [BoardState::Clock, BoardState::Game] {
        states.set(key(state), "1");
        states.hold(&key(state).topic, now);
    }
    let (clock, game) = (key(BoardState::Clock).topic, key(BoardState::Game).topic);
    let long_after = now + 2 * HOLD.0;
    states.release(long_after);
    assert!(states.is_hung(&clock), "it did not go out");
    for topic in [&clock, &game] {
        states.sent(topic, now + HOLD.0);
    }
    states.release(now + HOLD.0);
    assert!(states.is_hung(&clock), "the broker may be about to hang up on it");
    states.release(long_after);
    assert!(!states.is_hung(&clock) && states.is_hung(&game));
}

#[test]
fn info_goes_before_a_topic_that_rested_and_another_broker_may_take_what_one_hung_up_on() {
    let (states, now) = (States::default(), Instant::now());
    let (game, later) = (key(BoardState::Game).topic, now + HOLD.0);
    let topics = Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap());
    let info = StateKey::info(&topics).topic;
    states.set(key(BoardState::Game), "1");
    states.hold(&game, now);
    states.set(StateKey::info(&topics), "1");
    assert_eq!(states.next(later, false).unwrap().topic, info);
    states.hold(&info, now);
    assert_eq!(states.first(), First::Told);
    states.at_another();
    assert!(states.first() == First::Waits && !states.is_hung(&game));
}
