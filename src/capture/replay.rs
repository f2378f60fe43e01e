//! Drives a watcher through a capture: the same calls at the same times as the gateway makes.

use std::cmp::Reverse;

use super::{
    Act, Capture, Flaw, Header, RulesChange, StoodStill,
    rules::{name, spelt},
};
use crate::{
    event::Event,
    mate::{Budget, can_mate},
    time::Millis,
    watcher::{Account, Command, Rules, Settings, Watcher},
};

/// What the watcher is told of gateway and port when there are none.
const PORT: &str = "replay";

/// What a replay gives, in order.
#[derive(Debug)]
pub enum Outcome {
    /// An event, with the account of the hypotheses weighed for it if the watcher keeps one.
    Event(Box<Event>, Option<Account>),
    /// The account of the hypotheses at a moment that was asked for; none where no game goes on.
    Moment(Millis, Option<Account>),
}

/// How a capture with this header is watched; a board that has no id there is called `board`.
#[must_use]
pub fn settings_of(header: &Header, board: &str) -> Settings {
    Settings {
        gateway: PORT.to_owned(),
        board: header.board().unwrap_or(board).to_owned(),
        protocol: header.protocol().unwrap_or_default(),
        gathered_ms: header.gathered_ms().unwrap_or_default(),
        boards_on_line: header.boards_on_line().unwrap_or_default(),
        rules: Rules {
            laws: header.laws().unwrap_or_default(),
            time_control: header.time_control().unwrap_or_default(),
            supervision: header.supervision().unwrap_or_default(),
            periods: header.periods().to_vec(),
            ..Rules::default()
        },
        orientation: header.orientation(),
        clock_side: header.clock_side(),
        epoch_ms: header.epoch_ms(),
        ..Settings::default()
    }
}

/// The header of a capture of such a board, whose present game goes by `rules`: [`settings_of`] has the same settings from it.
///
/// # Errors
/// When a setting cannot be said in a header.
pub fn header_of(settings: &Settings, rules: &Rules) -> Result<Header, Flaw> {
    let mut header = Header::default();
    let usual = Settings::default();
    header.push("board", &settings.board)?;
    if settings.protocol != usual.protocol {
        header.push("protocol", &name(&settings.protocol))?;
    }
    if settings.gathered_ms > 0 {
        header.push("gathered", &format!("{} ms", settings.gathered_ms))?;
    }
    if settings.boards_on_line > 0 {
        header.push("boards-on-line", &settings.boards_on_line.to_string())?;
    }
    if settings.orientation != usual.orientation {
        header.push("orientation", &name(&settings.orientation))?;
    }
    if settings.clock_side != usual.clock_side {
        header.push("clock-side", &name(&settings.clock_side))?;
    }
    for (key, value) in spelt(rules) {
        if !value.is_empty() {
            header.push(key, &value)?;
        }
    }
    Ok(header)
}

/// Runs `watcher` through `capture` and hands each event to `sink` in order, as [`replay`] does, and besides what is weighed
/// at `moments`.
///
/// # Errors
/// The first error of `sink` ends the run.
pub fn replay_explained<E>(
    watcher: &mut Watcher,
    capture: &Capture,
    moments: &[Millis],
    mut sink: impl FnMut(Outcome) -> Result<(), E>,
) -> Result<Millis, E> {
    watcher.keep_accounts();
    let mut moments = moments.to_vec();
    moments.sort_unstable();
    run(watcher, capture, &moments, &mut sink)
}

/// Plays `capture` to `watcher` and hands each event to `sink` in order. Neither what the host said in the capture
/// (`>`) nor what the watcher wants to send now has an effect, because the capture has the board's answers.
///
/// # Errors
/// The first error of `sink` ends the run.
pub fn replay<E>(
    watcher: &mut Watcher,
    capture: &Capture,
    mut sink: impl FnMut(Event) -> Result<(), E>,
) -> Result<Millis, E> {
    run(watcher, capture, &[], &mut |outcome| match outcome {
        Outcome::Event(event, _) => sink(*event),
        Outcome::Moment(..) => Ok(()),
    })
}

fn run<E>(
    watcher: &mut Watcher,
    capture: &Capture,
    mut moments: &[Millis],
    sink: &mut impl FnMut(Outcome) -> Result<(), E>,
) -> Result<Millis, E> {
    let mut up = false;
    let mut asides = Asides::of(&capture.header);
    for record in &capture.records {
        while let Some(aside) = asides.before(record.at) {
            aside.take(watcher, &mut moments, sink)?;
        }
        catch_up(watcher, &mut moments, record.at, sink)?;
        tell_moments(watcher, &mut moments, record.at, sink)?;
        // A capture need not say that its link is up, because nothing could be recorded otherwise.
        let link = !matches!(record.act, Act::LinkDown);
        if link != up {
            up = link;
            if up {
                watcher.handle_link_up(record.at, PORT);
            } else {
                watcher.handle_link_down(record.at, "the capture says so");
            }
        }
        if let Act::FromBoard(bytes) = &record.act {
            watcher.handle_bytes(record.at, bytes);
        }
        drain(watcher, record.at, sink)?;
    }
    let mut end = capture.end();
    while let Some(aside) = asides.before(Millis(u64::MAX)) {
        end = aside.place().0;
        aside.take(watcher, &mut moments, sink)?;
    }
    tell_moments(watcher, &mut moments, Millis(u64::MAX), sink)?;
    let end = watcher.handle_end(end);
    drain(watcher, end, sink)?;
    Ok(end)
}

/// What a header says of a time.
enum Aside<'a> {
    Rules(&'a RulesChange),
    StoodStill(StoodStill),
}

/// All of it, the latest first.
struct Asides<'a>(Vec<Aside<'a>>);

impl<'a> Asides<'a> {
    fn of(header: &'a Header) -> Self {
        let changes = header.rules_changes().iter().map(Aside::Rules);
        let stood_still = header.stood_still().iter().copied().map(Aside::StoodStill);
        let mut asides: Vec<_> = changes.chain(stood_still).collect();
        asides.sort_by_key(|aside| Reverse(aside.place()));
        Self(asides)
    }

    /// The next one that comes before a record at that time.
    fn before(&mut self, record: Millis) -> Option<Aside<'a>> {
        self.0.pop_if(|aside| aside.place() < (record, RECORD))
    }
}

/// Where records stand among what comes at the same time: rules change before them, and a host stands still after them.
const RECORD: u8 = 1;

impl Aside<'_> {
    /// When it comes, and its place among what comes then.
    fn place(&self) -> (Millis, u8) {
        match self {
            Self::Rules(change) => (change.at, RECORD - 1),
            Self::StoodStill(stood) => (stood.since, RECORD + 1),
        }
    }

    fn take<E>(
        &self,
        watcher: &mut Watcher,
        moments: &mut &[Millis],
        sink: &mut impl FnMut(Outcome) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Rules(change) => {
                catch_up(watcher, moments, change.at, sink)?;
                change_rules(watcher, change);
                drain(watcher, change.at, sink)
            }
            // What was due before is done, and nothing that was due since.
            Self::StoodStill(stood) => {
                if let Some(before) = stood.since.0.checked_sub(1) {
                    catch_up(watcher, moments, Millis(before), sink)?;
                }
                watcher.stood_still(stood.since, stood.until);
                Ok(())
            }
        }
    }
}

/// Has the watcher go by other rules, as a change of the configuration does, or the command `rules`.
fn change_rules(watcher: &mut Watcher, change: &RulesChange) {
    watcher.set_rules(change.at, change.rules.clone());
    if change.of_game {
        // Without a game, or where it goes by them already, there is nothing to change.
        let _ = watcher.handle_command(change.at, Command::Rules);
    }
}

/// Has the watcher do what is due until `now`.
fn catch_up<E>(
    watcher: &mut Watcher,
    moments: &mut &[Millis],
    now: Millis,
    sink: &mut impl FnMut(Outcome) -> Result<(), E>,
) -> Result<(), E> {
    while let Some(due) = watcher.poll_timeout().filter(|&due| due <= now) {
        tell_moments(watcher, moments, due, sink)?;
        watcher.handle_timeout(due);
        drain(watcher, due, sink)?;
    }
    Ok(())
}

/// Hands out the accounts at those of `moments` that come before `next`.
fn tell_moments<E>(
    watcher: &Watcher,
    moments: &mut &[Millis],
    next: Millis,
    sink: &mut impl FnMut(Outcome) -> Result<(), E>,
) -> Result<(), E> {
    while let Some((at, later)) = moments.split_first().filter(|(at, _)| **at < next) {
        *moments = later;
        sink(Outcome::Moment(*at, watcher.account(*at)))?;
    }
    Ok(())
}

fn drain<E>(
    watcher: &mut Watcher,
    now: Millis,
    sink: &mut impl FnMut(Outcome) -> Result<(), E>,
) -> Result<(), E> {
    while watcher.poll_transmit().is_some() {}
    while watcher.poll_wish().is_some() {}
    // Nobody waits in a replay, so questions that the gateway answers beside the board's task are answered at once.
    while let Some(question) = watcher.poll_question() {
        let verdict = can_mate(&question.position, question.winner, &Budget::default());
        watcher.handle_verdict(now, &question.irregularity, &verdict);
    }
    while let Some(event) = watcher.poll_event() {
        let account = watcher.account_of(event.seq);
        sink(Outcome::Event(Box::new(event), account))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        game::periods,
        laws::{Edition, TimeControl},
        watcher::{ClockSideSetting, OrientationSetting, Protocol},
    };

    #[test]
    fn a_header_says_all_that_replay_must_know_of_a_board() {
        let rules = Rules {
            laws: Edition::Laws2018,
            time_control: TimeControl::Blitz,
            periods: periods::parse("3+2").unwrap(),
            ..Rules::default()
        };
        for protocol in [
            Protocol::Dgt,
            Protocol::Occ1,
            Protocol::Chesslink,
            Protocol::Chessnut,
        ] {
            let settings = Settings {
                board: "7".to_owned(),
                protocol,
                gathered_ms: 300,
                boards_on_line: 8,
                orientation: OrientationSetting::Turned,
                clock_side: ClockSideSetting::WhiteRight,
                ..Settings::default()
            };
            let read = settings_of(&header_of(&settings, &rules).unwrap(), "board");
            assert_eq!(read.board, "7");
            assert_eq!(read.protocol, protocol);
            assert_eq!((read.gathered_ms, read.boards_on_line), (300, 8));
            assert_eq!(read.orientation, settings.orientation);
            assert_eq!(read.clock_side, settings.clock_side);
            assert_eq!(read.rules, rules);
        }
    }
}
