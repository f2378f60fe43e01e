//! Two gateways of one name that come to a broker at which nobody is.

use super::*;

/// Each finds the same of a holder that is gone, as after a power cut: the broker says `offline` of it.
#[test]
fn of_two_that_start_in_the_same_moment_one_gets_the_name() {
    for [one, other] in [["a", "b"], ["b", "a"]] {
        for apart in [0, 1, 4, 20] {
            let start = Instant::now();
            let mut both = [claim(one, "one"), claim(other, "two")];
            for tenth in 0..100 {
                let now = start + Duration::from_millis(tenth * 100);
                for (n, claim) in both.iter_mut().enumerate() {
                    if tenth == n as u64 * apart {
                        hears(claim, topics().status(), b"offline", now);
                        hears(claim, topics().info(), br#"{"boot_id":"gone"}"#, now);
                        claim.heard(now);
                    }
                    claim.tick(now);
                }
                let [first, second] = &mut both;
                tell(first, second, now);
                tell(second, first, now);
                assert!(!(first.holds() && second.holds()), "{one} {apart}");
            }
            assert!(both.iter().any(NameClaim::holds), "{one} {apart}");
        }
    }
}

/// Another broker has taken over, and the holder may come to it later.
#[test]
fn whoever_stood_by_asks_also_a_broker_that_knows_of_nobody() {
    let start = Instant::now();
    let (mut first, mut second) = holder_and_second(start);
    assert!(second.stands_by());
    let again = start + AGAIN;
    for claim in [&mut second, &mut first] {
        claim.restart(None);
        claim.heard(again);
    }
    assert!(first.holds() && !second.holds());
    tell(&mut second, &mut first, again);
    tell(&mut first, &mut second, again + PACE);
    assert!(second.stands_by());
    // The holder is gone, and the broker is restarted with nothing.
    let later = again + AGAIN;
    second.restart(None);
    second.heard(later);
    assert_eq!(takes(&mut second, later), Some(ANSWER));
    second.restart(None);
    second.heard(later);
    assert!(second.holds(), "it has the name by now");
}

/// The restart of a daemon costs nothing, whether it was stopped or killed. So it is where its journal was lost meanwhile.
#[test]
fn after_a_process_that_had_our_lock_and_is_offline_the_name_is_taken_at_once() {
    let now = Instant::now();
    // The machine is told first.
    let cases = [
        (false, "lock of two", true),
        (false, "lock of one", false),
        (true, "lock of one", true),
        (true, "elsewhere of one", false),
    ];
    for (is_new, lock, holds) in cases {
        let mut claim = claim("b", "two");
        claim.us.is_new = is_new;
        let info = format!(r#"{{"boot_id":"a","journal":"journal of two","journal_at":"{lock}"}}"#);
        hears(&mut claim, topics().status(), b"offline", now);
        hears(&mut claim, topics().info(), info.as_bytes(), now);
        claim.heard(now);
        assert_eq!(claim.holds(), holds, "{is_new} {lock}");
    }
}

/// The rights have no `info`, or somebody cleared it.
#[test]
fn where_info_is_missing_the_holder_is_known_by_its_birth() {
    let now = Instant::now();
    let online = |speaker: Option<&str>| {
        let mut claim = claim("b", "two");
        let arrived = Arrived {
            topic: topics().status(),
            payload: "online".into(),
            retain: true,
            response_topic: None,
            correlation: None,
            speaker: speaker.map(str::to_owned),
        };
        claim.take(&topics(), &arrived, now);
        claim.heard(now);
        claim.holds()
    };
    assert!(!online(Some("a")), "it is asked");
    assert!(online(Some("b")), "a former connection of ours");
    assert!(online(None), "an older program does not tell");
}

/// Its events are among those at the broker, and what the other has under way must come above them.
#[test]
fn of_two_holders_the_one_that_gives_way_says_so_if_it_has_sent() {
    let now = Instant::now();
    for has_sent in [true, false] {
        let [mut first, mut second] = [claim("a", "one"), claim("b", "two")];
        for claim in [&mut first, &mut second] {
            claim.heard(now);
            claim.take_over();
        }
        if has_sent {
            second.sends();
        }
        hears(&mut first, topics().status(), b"online", now);
        tell(&mut first, &mut second, now);
        assert!(second.stands_by() && !first.was_taken());
        tell(&mut second, &mut first, now);
        assert_eq!(first.was_taken(), has_sent);
        assert!(first.holds());
        assert_eq!([second.give_up(), second.give_up()], [has_sent, false]);
    }
}

/// While the numbers are compared, `info` of another comes in. It is not that of the run before.
#[test]
fn what_comes_after_the_name_is_taken_is_of_another() {
    let now = Instant::now();
    let mut claim = claim("b", "two");
    let gone = br#"{"boot_id":"a","journal":"journal of two","journal_at":"lock of two"}"#;
    hears(&mut claim, topics().status(), b"offline", now);
    hears(&mut claim, topics().info(), gone, now);
    claim.heard(now);
    assert_eq!(claim.take_over().map(|run| run.boot).as_deref(), Some("a"));
    assert!(claim.holds() && !claim.was_taken());
    hears(&mut claim, topics().info(), br#"{"boot_id":"c"}"#, now);
    assert!(claim.was_taken());
}

/// The machine was busy, and the connection ended before the broker had `info` of this run.
#[test]
fn a_former_process_of_ours_has_not_taken_the_name_meanwhile() {
    let now = Instant::now();
    for (journal_at, is_taken) in [("lock of two", false), ("lock of an image", true)] {
        let mut claim = claim("b", "two");
        let gone = format!(r#"{{"boot_id":"a","journal":"journal of two","journal_at":"{journal_at}"}}"#);
        let connects = |claim: &mut NameClaim| {
            claim.restart(None);
            hears(claim, topics().status(), b"offline", now);
            hears(claim, topics().info(), gone.as_bytes(), now);
            claim.heard(now);
            assert!(takes(claim, now).is_some());
        };
        connects(&mut claim);
        claim.take_over();
        connects(&mut claim);
        assert_eq!(claim.was_taken(), is_taken, "{journal_at}");
    }
}
