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
