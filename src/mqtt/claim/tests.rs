//! Two and more gateways of one name, with no broker between them.

use super::*;
use crate::mqtt::rival::GONE;

fn claim(boot: &str, host: &str) -> NameClaim {
    NameClaim::new(boot.to_owned(), host.to_owned(), format!("journal of {host}"))
}

fn topics() -> Topics {
    Topics::new(&"dgt2mqtt".parse().unwrap(), &"gw".parse().unwrap())
}

fn hears(claim: &mut NameClaim, topic: String, payload: &[u8], now: Instant) {
    let arrived = Arrived {
        topic,
        payload: payload.to_vec().into(),
        retain: true,
        response_topic: None,
        correlation: None,
    };
    claim.take(&topics(), &arrived, now);
}

fn found(claim: &mut NameClaim, boot: &str, now: Instant) {
    hears(claim, topics().status(), b"online", now);
    let info = format!("{{\"boot_id\":\"{boot}\"}}");
    hears(claim, topics().info(), info.as_bytes(), now);
    claim.heard(true);
}

#[test]
fn who_wrote_another_journal_was_another() {
    let now = Instant::now();
    let told = |info: &str| {
        let mut claim = claim("b", "one");
        hears(&mut claim, topics().status(), b"offline", now);
        hears(&mut claim, topics().info(), info.as_bytes(), now);
        claim.was_of_another("ours")
    };
    assert!(told(r#"{"boot_id":"a","journal":"theirs"}"#));
    assert!(!told(r#"{"boot_id":"a","journal":"ours"}"#));
    assert!(!told(r#"{"boot_id":"a"}"#), "an older program does not tell");
    assert!(!told(""));
}

/// The ticket of all words that the broker acknowledges at once.
const AT_ONCE: Ticket = Ticket(1);

/// The next word of a gateway, which goes out and which the broker acknowledges at once.
fn says(claim: &mut NameClaim, now: Instant) -> Option<Word> {
    let word = claim.next_word(now)?;
    claim.said(&word, AT_ONCE, now);
    claim.answered(AT_ONCE, true, now);
    Some(word)
}

/// Passes on what one gateway says to the other.
fn tell(from: &mut NameClaim, to: &mut NameClaim, now: Instant) {
    while let Some(word) = says(from, now) {
        hears(to, topics().claim(), &serde_json::to_vec(&word).unwrap(), now);
    }
}

#[test]
fn a_name_that_nobody_holds_is_taken_at_once_and_our_own_too() {
    let now = Instant::now();
    let mut claim = claim("b", "one");
    claim.heard(true);
    assert!(claim.holds());
    claim.restart();
    found(&mut claim, "b", now);
    assert!(claim.holds());
    claim.restart();
    found(&mut claim, "gone", now);
    assert!(!claim.holds());
    says(&mut claim, now);
    claim.tick(now + ANSWER);
    assert!(claim.holds(), "nobody answered");
}

/// Both find the name of a gateway that is gone. The second one comes when the first has asked.
#[test]
fn of_two_that_ask_the_one_that_asked_first_asks_again_and_one_gets_the_name() {
    let start = Instant::now();
    let (mut first, mut second) = (claim("a", "one"), claim("b", "two"));
    found(&mut first, "gone", start);
    assert!(says(&mut first, start).is_some_and(|word| !word.holds));
    let later = start + Duration::from_secs(1);
    found(&mut second, "gone", later);
    tell(&mut second, &mut first, later);
    tell(&mut first, &mut second, later);
    for claim in [&mut first, &mut second] {
        claim.tick(later + ANSWER);
    }
    assert!(first.holds() && !second.holds());
}

/// What it would have read meanwhile may say that the name is held.
#[test]
fn whoever_stood_still_while_it_asked_asks_again() {
    let start = Instant::now();
    let mut claim = claim("b", "two");
    found(&mut claim, "a", start);
    assert!(says(&mut claim, start).is_some());
    let late = start + ANSWER;
    claim.ask_again();
    claim.tick(late);
    assert!(!claim.holds());
    assert!(says(&mut claim, late).is_some_and(|word| !word.holds));
}

#[test]
fn a_name_is_not_taken_before_its_holder_was_asked_and_had_time_to_answer() {
    let start = Instant::now();
    let mut claim = claim("b", "one");
    found(&mut claim, "z", start);
    // The link is busy: the question does not go out.
    let late = start + 3 * ANSWER;
    claim.tick(late);
    assert!(!claim.holds(), "nobody was asked");
    assert!(claim.next_word(late).is_some(), "the question is still owed");
    says(&mut claim, late);
    assert!(claim.next_word(late + PACE).is_none());
    claim.tick(late + ANSWER - Duration::from_millis(1));
    assert!(!claim.holds(), "the holder has time yet");
    claim.tick(late + ANSWER);
    assert!(claim.holds());
}

/// On a slow line the question is under way for longer than a holder may take to answer.
#[test]
fn the_time_for_an_answer_begins_when_the_broker_has_the_question() {
    let start = Instant::now();
    let mut claim = claim("b", "one");
    let asks = |claim: &mut NameClaim, ticket, now| {
        let word = claim.next_word(now).unwrap();
        claim.said(&word, Ticket(ticket), now);
    };
    found(&mut claim, "a", start);
    asks(&mut claim, 1, start);
    let late = start + 10 * ANSWER;
    claim.tick(late);
    assert!(!claim.holds(), "the broker does not have the question");
    // This process stood still and asks again. What the broker says of the first question tells nothing of the second.
    claim.ask_again();
    claim.answered(Ticket(1), true, late);
    asks(&mut claim, 2, late);
    claim.answered(Ticket(1), true, late);
    claim.tick(late + ANSWER);
    assert!(!claim.holds());
    // Somebody else asks meanwhile, and the question is repeated: that does not put the time off.
    let stranger = br#"{"boot":"c","host":"three","holds":false}"#;
    hears(&mut claim, topics().claim(), stranger, late + PACE);
    asks(&mut claim, 3, late + PACE);
    claim.answered(Ticket(2), true, late + ANSWER);
    claim.answered(Ticket(3), true, late + ANSWER + PACE);
    claim.tick(late + 2 * ANSWER - Duration::from_millis(1));
    assert!(!claim.holds(), "the holder has time yet");
    claim.tick(late + 2 * ANSWER);
    assert!(claim.holds());
}

#[test]
fn where_the_broker_hangs_up_on_words_the_question_rests_and_answers_do_not() {
    let start = Instant::now();
    let mut claim = claim("b", "one");
    found(&mut claim, "a", start);
    says(&mut claim, start);
    claim.hung_up_on(start);
    claim.restart();
    found(&mut claim, "a", start);
    let later = start + REST;
    claim.tick(later - PACE);
    assert!(claim.next_word(later - PACE).is_none() && !claim.holds() && claim.is_hung());
    assert!(says(&mut claim, later).is_some_and(|word| !word.holds));
    assert!(!claim.is_hung(), "the broker has taken it");
    claim.tick(later + ANSWER);
    claim.hung_up_on(later + ANSWER);
    let question = br#"{"boot":"c","host":"two","holds":false}"#;
    hears(&mut claim, topics().claim(), question, later + ANSWER);
    assert!(says(&mut claim, later + ANSWER).is_some_and(|word| word.holds));
}

#[test]
fn the_second_stays_away_until_the_first_is_gone() {
    let now = Instant::now();
    let mut first = claim("z", "one");
    let mut second = claim("a", "two");
    first.heard(true);
    found(&mut second, "z", now);
    tell(&mut second, &mut first, now);
    tell(&mut first, &mut second, now);
    second.tick(now + ANSWER);
    assert!(first.holds() && !second.holds());
    assert_eq!((first.rival(now), second.rival(now)), (Some("two"), Some("one")));
    assert_eq!(first.rival(now + GONE), None);
    hears(&mut second, topics().status(), b"offline", now);
    says(&mut second, now + PACE);
    second.tick(now + PACE + ANSWER);
    assert!(second.holds());
    // The first gateway connects again and finds that it no longer holds the name.
    first.restart();
    found(&mut first, "a", now);
    tell(&mut first, &mut second, now);
    tell(&mut second, &mut first, now + PACE);
    first.tick(now + ANSWER);
    assert!(second.holds() && !first.holds());
}

#[test]
fn a_holder_notices_that_another_had_the_name() {
    let now = Instant::now();
    let mut first = claim("a", "one");
    let info = |boot: &str| format!("{{\"boot_id\":\"{boot}\"}}");
    hears(&mut first, topics().info(), info("before").as_bytes(), now);
    first.heard(true);
    first.take_over();
    assert!(
        first.holds() && !first.was_taken(),
        "it asked for the numbers of its former run"
    );
    // It hears that another came while it stood still.
    hears(&mut first, topics().info(), info("b").as_bytes(), now);
    assert!(first.was_taken());
    // Or the other is gone when it connects again.
    first.restart();
    hears(&mut first, topics().status(), b"offline", now);
    hears(&mut first, topics().info(), info("b").as_bytes(), now);
    first.heard(true);
    assert!(first.was_taken());
    first.restart();
    hears(&mut first, topics().info(), info("a").as_bytes(), now);
    first.heard(true);
    assert!(first.holds() && !first.was_taken());
}

#[test]
fn of_two_holders_one_remains() {
    let now = Instant::now();
    let mut first = claim("a", "one");
    let mut second = claim("b", "two");
    first.heard(true);
    second.heard(true);
    hears(&mut first, topics().status(), b"online", now);
    tell(&mut first, &mut second, now);
    assert!(first.takes_birth(now) && first.holds() && !second.holds());
}

#[test]
fn a_flood_of_words_has_two_answers_a_second_and_whoever_asks_is_answered_in_time() {
    let start = Instant::now();
    let mut holder = claim("h", "one");
    holder.heard(true);
    let (mut answers, mut asked_at) = (0, None);
    for ms in 0..10_000 {
        let now = start + Duration::from_millis(ms);
        let word = format!(r#"{{"boot":"{ms}","host":"two","holds":false}}"#);
        hears(&mut holder, topics().claim(), word.as_bytes(), now);
        hears(&mut holder, topics().status(), b"online", now);
        let waits = now - *asked_at.get_or_insert(now);
        assert!(waits <= PACE, "an answer is owed for {waits:?}");
        let said = std::iter::from_fn(|| says(&mut holder, now)).count();
        if said > 0 {
            asked_at = None;
        }
        answers += said;
    }
    assert_eq!(answers, 20);
    assert!(
        holder.takes_birth(start) && !holder.takes_birth(start),
        "and one birth"
    );
}

#[test]
fn a_word_of_an_older_program_is_understood_and_ours_tells_the_journal() {
    let older: Word = serde_json::from_str(r#"{"boot":"a","host":"one","holds":true}"#).unwrap();
    assert_eq!(older.journal, None);
    let now = Instant::now();
    let mut asks = claim("b", "two");
    found(&mut asks, "z", now);
    let said = serde_json::to_value(says(&mut asks, now).unwrap()).unwrap();
    assert_eq!(said["journal"], "journal of two");
}

#[test]
fn one_that_stands_by_takes_a_name_that_fell_silent_within_thirteen_seconds() {
    let start = Instant::now();
    let (mut first, mut second) = (claim("z", "one"), claim("a", "two"));
    first.heard(true);
    found(&mut second, "z", start);
    tell(&mut second, &mut first, start);
    tell(&mut first, &mut second, start);
    // The first falls silent, and no will is set right.
    let mut took = None;
    for tenth in 0..300 {
        let now = start + Duration::from_millis(tenth * 100);
        second.tick(now);
        while says(&mut second, now).is_some() {}
        took = took.or_else(|| second.holds().then_some(now - start));
    }
    assert_eq!(took, Some(AGAIN + ANSWER));
}
