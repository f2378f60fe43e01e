//! The copy of a game with which the watcher goes on after a result, or after the pieces were set up anew
//! before a result. Nobody hears of its events unless an arbiter says that the game went on, or that another
//! has begun. Then nothing of it is missing. There is one, too, beside a game that is lost in a gap: what stands on
//! the board goes on as a game of its own, and is told once the watcher gives the gap up.
//!
//! The same code watches the copy in place of the game, and keeps the events that the copy would emit.

use std::{collections::BTreeMap, mem};

use super::{
    Core, Phase,
    start::Setup,
    unsaid::{FIRST_UNSAID, Unsaid},
};
use crate::{
    dgt::ClockSide,
    event::{Body, CompletedBy, GameResult, notice},
    time::Millis,
    watcher::{Table, game::Game, outbox::Outbox},
};

/// A copy with more events than these is no game, and is dropped.
const MOST_EVENTS: usize = 400;
/// After this many half-moves that the clock completed, the players play a game and do not analyse.
const SURELY_A_GAME: usize = 4;

/// After this many, in a game that has a result, the players may have gone on.
const PLAYED_ON: usize = 2;

/// Why there is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The game has a result that a person, or the kings, gave.
    Ended,
    /// The pieces were set up anew, and the game has no result.
    SetUpAnew,
    /// Nothing explains so far what was played in a gap.
    Lost,
    /// A command has begun another game in place of the one with this number, perhaps by mistake.
    PutAside(u32),
}

/// The copy, and what the core keeps for it.
#[derive(Debug)]
pub(in crate::watcher) struct Meanwhile {
    why: Why,
    phase: Phase,
    out: Outbox,
    /// What it would have said, but for what `out` has.
    unsaid: Vec<Unsaid>,
    games: u32,
    look_again: Option<Millis>,
    dump_wanted: bool,
    sign_wanted: bool,
    /// White's side of the clock in the game that ended or is parked.
    white_side: Option<ClockSide>,
    /// An arbiter was asked whether the game goes on.
    asked: bool,
}

impl Meanwhile {
    fn new(why: Why, phase: Phase, games: u32, white_side: Option<ClockSide>) -> Self {
        Self {
            why,
            phase,
            white_side,
            out: Outbox {
                seq: FIRST_UNSAID,
                ..Outbox::default()
            },
            unsaid: Vec::new(),
            games,
            look_again: None,
            dump_wanted: false,
            sign_wanted: false,
            asked: false,
        }
    }

    pub(super) fn look_again(&self) -> Option<Millis> {
        self.look_again
    }

    pub(super) fn wants_sign(&self) -> bool {
        self.sign_wanted
    }

    /// Keeps what it has just said as what it would have said.
    fn keep_unsaid(&mut self) {
        let said = self.out.events.drain(..).map(Unsaid::from);
        self.unsaid.reserve_exact(said.len());
        self.unsaid.extend(said);
    }

    fn is_put_aside(&self) -> bool {
        matches!(self.why, Why::PutAside(_))
    }

    /// How many half-moves after the first `from` the clock completed.
    fn pressed_since(&self, from: usize) -> usize {
        let Phase::Game(game) = &self.phase else { return 0 };
        let pressed = |made: &&crate::watcher::game::Made| made.completed_by == CompletedBy::Clock;
        game.course.record.iter().skip(from).filter(pressed).count()
    }

    fn is_surely_a_game(&self) -> bool {
        self.why == Why::SetUpAnew && self.pressed_since(0) >= SURELY_A_GAME
    }
}

impl Core {
    /// Does the same for the game and for the copy.
    pub(super) fn each(&mut self, mut what: impl FnMut(&mut Self)) {
        what(self);
        self.in_meanwhile(what);
    }

    /// Does it for what is watched in place of a game that a person has ended, and for what that would have said.
    pub(super) fn after_the_end(&mut self, what: impl FnOnce(&mut Self, &mut Vec<Unsaid>)) {
        let ended = self.meanwhile.as_mut().filter(|it| it.why == Why::Ended);
        let Some(mut unsaid) = ended.map(|meanwhile| mem::take(&mut meanwhile.unsaid)) else {
            return;
        };
        self.in_meanwhile(|core| what(core, &mut unsaid));
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.unsaid = unsaid;
        }
    }

    pub(super) fn in_meanwhile(&mut self, what: impl FnOnce(&mut Self)) {
        let Some(mut meanwhile) = self.meanwhile.take() else {
            return;
        };
        meanwhile.out.before = self.out.before;
        // After a game, pieces that lie on the board show nothing of dead squares, and presses show nothing
        // of the sides of the clock. The next game has its own sides.
        let given_up = self.sensed.given_up();
        if meanwhile.is_put_aside() {
            meanwhile.white_side = self.clock.white_side();
        }
        self.exchange(&mut meanwhile);
        what(self);
        self.exchange(&mut meanwhile);
        self.sensed.give_up(given_up);
        if meanwhile.why != Why::SetUpAnew {
            self.sit_as_before(&meanwhile);
        }
        meanwhile.keep_unsaid();
        if meanwhile.unsaid.len() <= MOST_EVENTS {
            self.meanwhile = Some(meanwhile);
        }
    }

    fn sit_as_before(&mut self, meanwhile: &Meanwhile) {
        if let Some(side) = meanwhile.white_side
            && self.clock.white_side() != Some(side)
        {
            self.clock.found(side);
        }
    }

    fn exchange(&mut self, meanwhile: &mut Meanwhile) {
        mem::swap(&mut self.phase, &mut meanwhile.phase);
        mem::swap(&mut self.out, &mut meanwhile.out);
        mem::swap(&mut self.games, &mut meanwhile.games);
        mem::swap(&mut self.look_again, &mut meanwhile.look_again);
        mem::swap(&mut self.dump_wanted, &mut meanwhile.dump_wanted);
        mem::swap(&mut self.sign_wanted, &mut meanwhile.sign_wanted);
    }

    /// Decides what can be decided of the copy, and whether there has to be one at all.
    pub(super) fn review_meanwhile(&mut self, now: Millis) {
        self.watch_on();
        let mut again = false;
        self.in_meanwhile(|core| {
            core.look_again = None;
            match core.phase {
                Phase::Waiting(_) => core.look_for_start(now),
                Phase::Game(_) => {
                    core.review_game(now);
                    again = core.array_stands(now);
                }
            }
        });
        if again && self.is_parked() {
            // What was watched was an analysis, or a game that ended without a clock. What follows is another
            // game.
            self.watch_set_up(Setup::default());
            self.in_meanwhile(|core| core.look_for_start(now));
        }
        // What was put aside is over for itself: pieces were set up, or nothing explains a gap.
        let is_over = self.game_put_aside().is_none_or(|game| !game.is_watched());
        self.meanwhile.take_if(|it| it.is_put_aside() && is_over);
        self.ask_whether_it_goes_on(now);
        if self
            .meanwhile
            .as_ref()
            .is_some_and(|meanwhile| meanwhile.is_surely_a_game())
        {
            if let Some((game, mut ctx)) = self.game_and_ctx(now) {
                game.end(&mut ctx, GameResult::Open, "pieces_set_up_anew");
            }
            self.next_has_begun(now);
        }
    }

    /// Gives notice, once, where a game that has a result is played on by the clock.
    fn ask_whether_it_goes_on(&mut self, now: Millis) {
        let Phase::Game(game) = &self.phase else { return };
        let plies = game.course.record.plies();
        let goes_on = |it: &&mut Box<Meanwhile>| {
            it.why == Why::Ended && !it.asked && it.pressed_since(plies) >= PLAYED_ON
        };
        let Some(meanwhile) = self.meanwhile.as_mut().filter(goes_on) else {
            return;
        };
        meanwhile.asked = true;
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            let message = "The game has a result, and it is played on by the clock. If it goes on, send `resume`: what was played since \
                           is told then.";
            game.course.notice(&mut ctx, notice::PLAYED_ON, message);
        }
    }

    fn is_parked(&self) -> bool {
        matches!(&self.phase, Phase::Game(game) if game.outcome.parked)
    }

    /// Begins a copy for what is played after the pieces were set up anew, as `setup` has it.
    fn watch_set_up(&mut self, setup: Setup) {
        let waiting = Phase::Waiting(Box::new(setup));
        let next = Meanwhile::new(Why::SetUpAnew, waiting, self.games, self.clock.white_side());
        self.meanwhile = Some(Box::new(next));
    }

    /// Begins a copy where a person has given a result, or where the pieces were set up anew before a
    /// restart.
    fn watch_on(&mut self) {
        if self.is_parked() && self.meanwhile.is_none() {
            self.watch_set_up(Setup::default());
        }
        let Phase::Game(game) = &mut self.phase else {
            self.unwatch();
            return;
        };
        if !game.is_watched() {
            let beside =
                |meanwhile: &mut Box<Meanwhile>| meanwhile.why == Why::Lost || meanwhile.is_put_aside();
            self.meanwhile.take_if(beside);
        }
        if mem::take(&mut game.outcome.ended_by_hand) && self.meanwhile.is_none() {
            let lines = game.course.lines.leave();
            game.course.record.shrink();
            let mut on = game.clone();
            on.course.lines = lines;
            on.outcome.result = None;
            on.outcome.show_spent = true;
            let white_side = self.clock.white_side();
            let on = Meanwhile::new(Why::Ended, Phase::Game(on), self.games, white_side);
            self.meanwhile = Some(Box::new(on));
        }
    }

    /// Drops the copy of a game that has ended, or is lost, for example because its record was changed and the copy
    /// starts from another one. The copy beside a parked game stays.
    pub(super) fn unwatch(&mut self) {
        self.meanwhile
            .take_if(|meanwhile| meanwhile.why != Why::SetUpAnew);
    }

    /// The game is lost in a gap. Begins to watch what stands on the board as a game of its own, of which `setup` has what is
    /// known.
    pub(super) fn watch_beside_lost(&mut self, setup: Setup) {
        if self.meanwhile.is_none() {
            let waiting = Phase::Waiting(Box::new(setup));
            let beside = Meanwhile::new(Why::Lost, waiting, self.games, self.clock.white_side());
            self.meanwhile = Some(Box::new(beside));
        }
    }

    /// The game is lost for good, and has ended. What was watched beside it is the next.
    pub(super) fn take_up_beside_lost(&mut self, now: Millis) {
        if let Some(beside) = self.meanwhile.take_if(|meanwhile| meanwhile.why == Why::Lost) {
            self.take_over(now, *beside);
        }
    }

    /// Drops any copy that comes of the present game, whose record was changed.
    pub(super) fn unwatch_changed(&mut self) {
        self.meanwhile
            .take_if(|meanwhile| matches!(meanwhile.why, Why::Ended | Why::SetUpAnew));
    }

    /// The game is found again. Drops what was watched beside it.
    pub(super) fn unwatch_lost(&mut self) {
        self.meanwhile.take_if(|meanwhile| meanwhile.why == Why::Lost);
    }

    /// The present game as a copy that is watched on, where it goes on and has half-moves: a command is about to begin another one.
    pub(super) fn about_to_put_aside(&mut self, now: Millis) -> Option<Box<Meanwhile>> {
        // The game that was put aside first is the one that was played.
        if let Some(first) = self.meanwhile.take_if(|it| it.is_put_aside()) {
            return Some(first);
        }
        let (game, mut ctx) = self.game_and_ctx(now)?;
        if !game.is_watched() || game.course.record.plies() == 0 {
            return None;
        }
        game.settle_rest(&mut ctx);
        let lines = game.course.lines.leave();
        let mut on = Box::new(game.clone());
        on.course.lines = lines;
        let white_side = self.clock.white_side();
        let aside = Meanwhile::new(
            Why::PutAside(on.course.number),
            Phase::Game(on),
            self.games,
            white_side,
        );
        Some(Box::new(aside))
    }

    /// Watches on what was put aside, until the game that a command has begun is over.
    pub(super) fn put_aside(&mut self, aside: Option<Box<Meanwhile>>) {
        if aside.is_some() {
            self.meanwhile = aside;
        }
    }

    /// The game that a command has put aside, while it is watched on.
    pub(super) fn game_put_aside(&self) -> Option<&Game> {
        let aside = self.meanwhile.as_ref()?;
        match (&aside.phase, aside.why) {
            (Phase::Game(game), Why::PutAside(number)) => {
                Some(game.as_ref()).filter(|game| game.course.number == number)
            }
            _ => None,
        }
    }

    /// The game that was put aside goes on, with all that was played since. The game that a command had begun was none.
    pub(super) fn take_up_put_aside(&mut self, now: Millis, reason: Option<String>) {
        let Some(aside) = self.meanwhile.take_if(|it| it.is_put_aside()) else {
            return;
        };
        let games = self.games;
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.end(&mut ctx, GameResult::Open, "begun_by_mistake");
        }
        let Phase::Game(game) = &aside.phase else { return };
        let number = Some(game.course.number);
        self.out
            .emit(&self.settings, number, now, None, Body::GameResumed { reason });
        self.take_over(now, *aside);
        self.games = games;
    }

    /// Drops any copy: the game itself is watched again, or nothing is.
    pub(super) fn unwatch_all(&mut self) {
        self.meanwhile = None;
    }

    /// Parks the game: the pieces were set up anew, and the game has no result. A game of the round must get
    /// one, so a notice asks an arbiter.
    pub(super) fn park(&mut self, now: Millis, setup: Setup) {
        let Some((game, mut ctx)) = self.game_and_ctx(now) else {
            return;
        };
        game.outcome.parked = true;
        let message = "The pieces were set up anew, and the game has no result. It is kept as it is: enter its result, or say that it goes \
                       on (`resume`), or that a new game has begun (`new_game`). What is played by the clock meanwhile is told then.";
        game.course
            .notice(&mut ctx, notice::SET_UP_WITHOUT_RESULT, message);
        self.watch_set_up(setup);
    }

    /// Makes the copy the next game, because the parked one is over. Returns false where there is no copy.
    pub(super) fn next_has_begun(&mut self, now: Millis) -> bool {
        let Some(mut meanwhile) = self
            .meanwhile
            .take_if(|meanwhile| meanwhile.why == Why::SetUpAnew)
        else {
            return false;
        };
        let table = Table::of(&self.settings);
        for body in meanwhile.unsaid.iter_mut().filter_map(Unsaid::other) {
            table.name(body);
        }
        if let Phase::Game(game) = &mut meanwhile.phase {
            game.table = table;
        }
        self.take_over(now, *meanwhile);
        true
    }

    /// Makes the copy the next game, because the parked one is over. If the copy shows an analysis, drops it.
    pub(super) fn leave_parked(&mut self, now: Millis) {
        if !self.was_analysed() {
            self.next_has_begun(now);
            return;
        }
        self.meanwhile = None;
        if let Phase::Game(game) = &mut self.phase {
            game.outcome.parked = false;
        }
    }

    /// True if players only showed half-moves since the pieces were set up: the clock stands and nobody
    /// pressed it, though the parked game was played with it. One half-move alone may be the first of a game
    /// that waits for its press.
    fn was_analysed(&self) -> bool {
        let watched = self.meanwhile.as_ref().map(|meanwhile| &meanwhile.phase);
        let (Phase::Game(parked), Some(Phase::Game(shown))) = (&self.phase, watched) else {
            return false;
        };
        let half_moves = shown.course.base + shown.course.lines.best().plies.len();
        let is_pressed = |made: &crate::watcher::game::Made| made.completed_by == CompletedBy::Clock;
        parked.course.clock_used
            && !self.clock.runs()
            && half_moves > 1
            && !shown.course.record.iter().any(is_pressed)
    }

    /// Lets the game go on with all that was played meanwhile: the result was a mistake, or the pieces were
    /// put back.
    pub(super) fn game_goes_on(&mut self, now: Millis) {
        let parked = self
            .meanwhile
            .take_if(|meanwhile| meanwhile.why == Why::SetUpAnew);
        let ended = self.meanwhile.take_if(|meanwhile| meanwhile.why == Why::Ended);
        if let Some(mut meanwhile) = ended {
            if let (Phase::Game(said), Phase::Game(on)) = (&self.phase, &mut meanwhile.phase) {
                on.cases.take_what_was_ruled(&said.cases);
            }
            return self.take_over(now, *meanwhile);
        }
        if let Some(parked) = &parked {
            self.sit_as_before(parked);
        }
        if let Some((game, mut ctx)) = self.game_and_ctx(now) {
            game.outcome.result = None;
            game.outcome.show_spent = true;
            game.outcome.parked = false;
            game.course.restart_lines(&ctx);
            if game.course.record.is_empty() {
                // It had not begun, and the game before it may still stand on the board.
                game.overrule(&ctx);
            } else {
                game.look_after_gap(&mut ctx);
            }
        }
    }

    /// Makes the copy the game, and emits all events that it kept.
    fn take_over(&mut self, now: Millis, mut meanwhile: Meanwhile) {
        let unsaid = mem::take(&mut meanwhile.unsaid);
        self.phase = meanwhile.phase;
        self.games = meanwhile.games;
        let mut names = BTreeMap::new();
        // The players caused these events, and not the person whose command brings them out.
        let by_command = mem::take(&mut self.out.by_command);
        let by = self.out.by.take();
        for event in unsaid {
            let before = event.id(&self.settings);
            let id = self.say_now(now, event, &names);
            names.insert(before, id);
        }
        (self.out.by_command, self.out.by) = (by_command, by);
        if let Phase::Game(game) = &mut self.phase {
            for open in game.cases.all_mut() {
                rename(&mut open.id, &names);
            }
            self.out
                .questions
                .extend(game.cases.questions(game.course.record.mode()));
        }
    }

    /// Emits an event that the copy kept, under a new id, and returns that id. `names` has the new ids of
    /// earlier events.
    fn say_now(&mut self, now: Millis, unsaid: Unsaid, names: &BTreeMap<String, String>) -> String {
        let (game, at) = (unsaid.game, unsaid.at + self.out.before);
        let mut body = unsaid.into_body();
        if let Some(case) = case_of(&mut body) {
            rename(case, names);
        }
        self.out.emit(&self.settings, game, now, Some(at), body)
    }
}

fn rename(id: &mut String, names: &BTreeMap<String, String>) {
    if let Some(name) = names.get(id) {
        id.clone_from(name);
    }
}

/// The id of the irregularity that an event concerns.
pub(super) fn case_of(body: &mut Body) -> Option<&mut String> {
    match body {
        Body::IrregularityResolved { irregularity, .. }
        | Body::IrregularityReopened { irregularity, .. }
        | Body::CaseNoted { irregularity, .. } => Some(irregularity),
        Body::RulingAmended(amendment) => Some(&mut amendment.irregularity),
        _ => None,
    }
}
