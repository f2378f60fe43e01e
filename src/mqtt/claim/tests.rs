//! Two and more gateways of one name, with no broker between them.

mod same_moment;

use super::*;
use crate::mqtt::rival::GONE;

fn claim(boot: &str, host: &str) -> NameClaim {
    NameClaim::new(Ourselves {
        boot: boot.to_owned(),
        host: host.to_owned(),
        journal: format!("journal of {host}"),
        journal_at: Some(format!("lock of {host}")),
        is_new: false,
        keep_alive: Duration::from_secs(15),
    })
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
        speaker: None,
    };
    claim.take(&topics(), &arrived, now);
}

fn found(claim: &mut NameClaim, boot: &str, now: Instant) {
    found_info(claim, &format!("{{\"boot_id\":\"{boot}\"}}"), now);
}

/// Finds `online`, and in `info` what a holder left.
fn found_info(claim: &mut NameClaim, info: &str, now: Instant) {
    hears(claim, topics().status(), b"online", now);
    hears(claim, topics().info(), info.as_bytes(), now);
    claim.heard(now);
}

/// How long a holder may live unheard, with the usual settings: two keep-alives, and five seconds.
const UNHEARD: Duration = Duration::from_secs(35);

/// When it takes the name, if nobody answers and the broker takes each word. No later than after three minutes.
fn takes(claim: &mut NameClaim, from: Instant) -> Option<Duration> {
    let step = Duration::from_millis(100);
    (0..1_800).map(|tenth| step * tenth).find(|after| {
        claim.tick(from + *after);
        while says(claim, from + *after).is_some() {}
        claim.holds()
    })
}

#[test]
fn the_run_that_had_the_name_last_is_known_by_info() {
    let now = Instant::now();
    let told = |info: &str| {
        let mut claim = claim("b", "one");
        hears(&mut claim, topics().status(), b"offline", now);
        hears(&mut claim, topics().info(), info.as_bytes(), now);
        claim.take_over()
    };
    let run = |journal: Option<&str>| {
        Some(LastRun {
            boot: "a".to_owned(),
            journal: journal.map(str::to_owned),
            era: None,
        })
    };
    assert_eq!(told(r#"{"boot_id":"a","journal":"theirs"}"#), run(Some("theirs")));
    assert_eq!(
        told(r#"{"boot_id":"a"}"#),
        run(None),
        "an older program does not tell"
    );
    assert_eq!(told(""), None);
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
    claim.heard(now);
    assert!(claim.holds());
    claim.restart(None);
    found(&mut claim, "b", now);
    assert!(claim.holds());
    claim.restart(None);
    found(&mut claim, "gone", now);
    assert_eq!(takes(&mut claim, now), Some(UNHEARD), "nobody answered");
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
    for tenth in 0..400 {
        let now = later + Duration::from_millis(tenth * 100);
        first.tick(now);
        second.tick(now);
        tell(&mut second, &mut first, now);
        tell(&mut first, &mut second, now);
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
    let late = start + UNHEARD;
    claim.ask_again(late);
    claim.tick(late);
    assert!(!claim.holds());
    assert!(says(&mut claim, late).is_some_and(|word| !word.holds));
    claim.tick(late + ANSWER - Duration::from_millis(1));
    assert!(!claim.holds(), "the answer may be read yet");
    claim.tick(late + ANSWER);
    assert!(claim.holds());
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
    assert_eq!(takes(&mut claim, late), Some(UNHEARD));
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
    claim.ask_again(late);
    claim.answered(Ticket(1), true, late);
    asks(&mut claim, 2, late);
    claim.answered(Ticket(1), true, late);
    claim.tick(late + UNHEARD);
    assert!(!claim.holds());
    // Somebody else asks meanwhile, and the question is repeated: that does not put the time off.
    let stranger = br#"{"boot":"c","host":"three","holds":false}"#;
    hears(&mut claim, topics().claim(), stranger, late + PACE);
    asks(&mut claim, 3, late + PACE);
    claim.answered(Ticket(2), true, late + ANSWER);
    claim.answered(Ticket(3), true, late + ANSWER + PACE);
    hears(&mut claim, topics().status(), b"offline", late + ANSWER + PACE);
    asks(&mut claim, 4, late + ANSWER + PACE);
    claim.answered(Ticket(4), true, late + 2 * ANSWER);
    claim.tick(late + 3 * ANSWER - Duration::from_millis(1));
    assert!(!claim.holds(), "the holder has time yet");
    claim.tick(late + 3 * ANSWER);
    assert!(claim.holds());
}

#[test]
fn where_the_broker_hangs_up_on_words_the_question_rests_and_answers_do_not() {
    let start = Instant::now();
    let mut claim = claim("b", "one");
    found(&mut claim, "a", start);
    says(&mut claim, start);
    claim.hung_up_on(start);
    claim.restart(None);
    found(&mut claim, "a", start);
    let later = start + REST;
    for second in 0..REST.as_secs() {
        let now = start + Duration::from_secs(second);
        claim.tick(now);
        if second % 30 == 29 {
            hears(&mut claim, topics().health(), b"{}", now);
        }
    }
    claim.tick(later - PACE);
    assert!(claim.next_word(later - PACE).is_none() && !claim.holds() && claim.is_hung());
    assert!(says(&mut claim, later).is_some_and(|word| !word.holds));
    assert!(!claim.is_hung(), "the broker has taken it");
    assert!(takes(&mut claim, later).is_some());
    let later = later + REST;
    claim.hung_up_on(later);
    let question = br#"{"boot":"c","host":"two","holds":false}"#;
    hears(&mut claim, topics().claim(), question, later);
    assert!(says(&mut claim, later).is_some_and(|word| word.holds));
}

#[test]
fn the_second_stays_away_until_the_first_is_gone() {
    let now = Instant::now();
    let mut first = claim("z", "one");
    let mut second = claim("a", "two");
    first.heard(now);
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
    first.restart(None);
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
    first.heard(now);
    takes(&mut first, now);
    first.take_over();
    assert!(
        first.holds() && !first.was_taken(),
        "it asked for the numbers of its former run"
    );
    // It hears that another came while it stood still.
    hears(&mut first, topics().info(), info("b").as_bytes(), now);
    assert!(first.was_taken());
    // Or the other is gone when it connects again.
    first.restart(None);
    hears(&mut first, topics().status(), b"offline", now);
    hears(&mut first, topics().info(), info("b").as_bytes(), now);
    first.heard(now);
    assert!(takes(&mut first, now).is_some() && first.was_taken());
    first.restart(None);
    hears(&mut first, topics().info(), info("a").as_bytes(), now);
    first.heard(now);
    assert!(first.holds() && !first.was_taken());
}

#[test]
fn of_two_holders_one_remains() {
    let now = Instant::now();
    let mut first = claim("a", "one");
    let mut second = claim("b", "two");
    first.heard(now);
    second.heard(now);
    hears(&mut first, topics().status(), b"online", now);
    tell(&mut first, &mut second, now);
    assert!(first.takes_birth(now) && first.holds() && !second.holds());
}

#[test]
fn a_flood_of_words_has_two_answers_a_second_and_whoever_asks_is_answered_in_time() {
    let start = Instant::now();
    let mut holder = claim("h", "one");
    holder.heard(start);
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

/// One that holds the name, and one that has asked and stands by.
fn holder_and_second(start: Instant) -> (NameClaim, NameClaim) {
    let (mut first, mut second) = (claim("z", "one"), claim("a", "two"));
    first.heard(start);
    found(&mut second, "z", start);
    tell(&mut second, &mut first, start);
    tell(&mut first, &mut second, start);
    (first, second)
}

#[test]
fn one_that_stands_by_takes_a_name_that_fell_silent_when_the_broker_would_have_noticed() {
    let start = Instant::now();
    let (_, mut second) = holder_and_second(start);
    // The first falls silent, and no will is set right.
    assert_eq!(takes(&mut second, start), Some(AGAIN + UNHEARD));
}

/// The link of the holder stands still. Its answer to any of the questions comes in time.
#[test]
fn a_holder_that_answers_late_keeps_the_name() {
    for late in (0..35).map(Duration::from_secs) {
        let start = Instant::now();
        let (mut holder, mut other) = (claim("h", "one"), claim("b", "two"));
        holder.heard(start);
        found(&mut other, "h", start);
        let mut questions = Vec::new();
        for tenth in 0..=late.as_secs() * 10 {
            let now = start + Duration::from_millis(tenth * 100);
            other.tick(now);
            questions.extend(says(&mut other, now));
        }
        assert!(!other.holds() && questions.iter().all(|word| !word.holds));
        for word in questions {
            let word = serde_json::to_vec(&word).unwrap();
            hears(&mut holder, topics().claim(), &word, start + late);
        }
        tell(&mut holder, &mut other, start + late);
        assert!(other.stands_by() && holder.holds(), "{late:?}");
    }
}

#[test]
fn the_longest_keep_alive_counts_and_none_is_believed_without_a_bound() {
    let start = Instant::now();
    let took = |info: &str, asked_for| {
        let mut claim = claim("b", "two");
        claim.restart(asked_for);
        found_info(&mut claim, info, start);
        takes(&mut claim, start).map(|after| after.as_millis())
    };
    assert_eq!(took(r#"{"boot_id":"a","keep_alive_s":5}"#, None), Some(35_000));
    assert_eq!(took(r#"{"boot_id":"a","keep_alive_s":30}"#, None), Some(65_000));
    let asked_for = Some(Duration::from_secs(60));
    assert_eq!(
        took(r#"{"boot_id":"a","keep_alive_s":5}"#, asked_for),
        Some(125_000)
    );
    let forged: Info =
        serde_json::from_str(r#"{"boot_id":"a","keep_alive_s":18446744073709551615}"#).unwrap();
    let longest = holder::longest_silence(Some(&forged), Duration::MAX, true);
    assert_eq!(longest, Duration::from_secs(605));
}

#[test]
fn where_the_broker_says_that_the_holder_is_offline_the_name_is_taken_soon() {
    let start = Instant::now();
    let mut claim = claim("b", "two");
    found(&mut claim, "a", start);
    says(&mut claim, start);
    let noticed = start + Duration::from_secs(10);
    claim.tick(noticed);
    hears(&mut claim, topics().status(), b"offline", noticed);
    assert_eq!(takes(&mut claim, noticed), Some(ANSWER));
}

/// A gateway that waits for a name leaves a will when it is killed.
#[test]
fn the_will_of_another_that_waits_says_nothing_of_the_holder() {
    let start = Instant::now();
    let status = |speaker: &str| Arrived {
        topic: topics().status(),
        payload: "offline".into(),
        retain: true,
        response_topic: None,
        correlation: None,
        speaker: Some(speaker.to_owned()),
    };
    let took = |speaker: &str| {
        let mut claim = claim("b", "two");
        claim.take(&topics(), &status(speaker), start);
        hears(&mut claim, topics().info(), br#"{"boot_id":"a"}"#, start);
        claim.heard(start);
        takes(&mut claim, start)
    };
    assert_eq!(took("a"), Some(ANSWER), "another may come just then");
    assert_eq!(took("c"), Some(UNHEARD));
    // And so it is while one waits.
    let mut claim = claim("b", "two");
    found(&mut claim, "a", start);
    claim.take(&topics(), &status("c"), start + PACE);
    assert_eq!(takes(&mut claim, start), Some(UNHEARD));
}

#[test]
fn the_name_of_a_process_that_had_our_lock_is_taken_soon() {
    let start = Instant::now();
    let took = |journal: &str, at: &str| {
        let mut claim = claim("b", "two");
        let info = format!(r#"{{"boot_id":"a","journal":"{journal}","journal_at":"{at}"}}"#);
        found_info(&mut claim, &info, start);
        takes(&mut claim, start)
    };
    assert_eq!(took("journal of two", "lock of two"), Some(ANSWER));
    assert_eq!(
        took("journal of two", "lock of one"),
        Some(UNHEARD),
        "a copy of our journal"
    );
    assert_eq!(took("journal of one", "lock of two"), Some(UNHEARD));
}

/// The broker refuses each of its words.
fn is_refused(claim: &mut NameClaim, now: Instant) {
    while let Some(word) = claim.next_word(now) {
        claim.said(&word, AT_ONCE, now);
        claim.answered(AT_ONCE, false, now);
    }
}

#[test]
fn where_words_are_refused_a_holder_that_tells_its_health_keeps_the_name() {
    let start = Instant::now();
    let mut claim = claim("b", "two");
    let info = r#"{"boot_id":"a","host":"one","health_interval_s":60}"#;
    found_info(&mut claim, info, start);
    for second in 0..600 {
        let now = start + Duration::from_secs(second);
        claim.tick(now);
        is_refused(&mut claim, now);
        if second % 60 == 59 {
            hears(&mut claim, topics().health(), b"{}", now);
            assert!(claim.stands_by());
        }
        assert!(!claim.holds(), "{second} s");
    }
    let silent = start + Duration::from_secs(600);
    assert_eq!(claim.rival(silent), Some("one"));
    let mut took = None;
    for second in 0..100 {
        let now = silent + Duration::from_secs(second);
        claim.tick(now);
        is_refused(&mut claim, now);
        took = took.or_else(|| claim.holds().then_some(second));
    }
    assert_eq!(took, Some(74), "it was asked 9 s after its last health");
}

#[test]
fn one_that_comes_online_while_another_waits_is_its_holder() {
    let start = Instant::now();
    let mut claim = claim("b", "two");
    found(&mut claim, "a", start);
    says(&mut claim, start);
    hears(&mut claim, topics().status(), b"offline", start + PACE);
    hears(&mut claim, topics().status(), b"online", start + 2 * PACE);
    assert!(claim.stands_by());
}
