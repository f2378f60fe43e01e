//! Boards on one simulated line in virtual time, the master that asks them, and a watcher for each.

use std::collections::VecDeque;

use fastrand::Rng;

use super::{Journal, as_text};
use crate::{
    capture::{Act, Capture, Flaw, Header, Record, StoodStill, replay::settings_of},
    dgt::{
        bus::{Address, BusCommand},
        line::{Figures, Master, Said, budget},
    },
    event::Event,
    sim::{
        line::{SimulatedLine, Troubles},
        mess::SimulatedGame,
        player::{Output, Pace, PlayedBoard},
        slave::Slave,
    },
    time::Millis,
    watcher::{LinkWish, MOST_GATHERED_MS, Settings, Snapshot, Watcher, explain::Account},
};

/// A board of the line, and its watcher.
#[derive(Debug)]
pub struct SeatOfLine {
    /// The address of the board on the line.
    pub address: Address,
    settings: Settings,
    watcher: Watcher,
    journal: Journal,
    /// The link of the watcher is up.
    up: bool,
    /// The events of the watcher.
    pub events: Vec<Event>,
    /// The bytes that the watcher was given, and when.
    pub heard: Vec<(Millis, Vec<u8>)>,
    /// The bytes that the watcher asked with, and when.
    pub asked: Vec<(Millis, Vec<u8>)>,
    /// When the link went up and down.
    pub links: Vec<(u64, bool)>,
    /// When its task stood still.
    stood_still: Vec<StoodStill>,
}

/// A line with boards and their watchers, in virtual time.
#[derive(Debug)]
pub struct LineRehearsal {
    /// The line with its boards.
    pub line: SimulatedLine,
    /// The master that asks the boards.
    pub master: Master,
    /// The boards, each with its watcher.
    pub seats: Vec<SeatOfLine>,
    /// The virtual time.
    pub now: Millis,
    over: bool,
    /// What another program on the line says, and when.
    pub others: VecDeque<(Millis, Vec<u8>)>,
}

/// A watcher that knows the wall clock, and so for how long nobody listened before it.
fn watcher_of(settings: &Settings, kept: Option<Snapshot>) -> Watcher {
    let mut watcher = Watcher::new(settings.clone(), kept);
    watcher.set_epoch(Some(0));
    watcher
}

fn master_of(seats: &[SeatOfLine]) -> Master {
    let all = seats
        .iter()
        .map(|seat| (seat.address, format!("{:05}", seat.address.get())));
    Master::new(all)
}

/// The address of board number `n`, from 0.
#[must_use]
pub fn address(n: usize) -> Address {
    Address::new(9000 + n as u16).expect("no line has so many boards")
}

impl LineRehearsal {
    /// A line with these boards, and with the settings of their watchers. `seed` decides when boards answer
    /// and what is damaged.
    #[must_use]
    pub fn new(boards: Vec<(PlayedBoard, Settings)>, troubles: Troubles, seed: u64) -> Self {
        let mut players = Vec::new();
        let mut seats = Vec::new();
        for (n, (player, settings)) in boards.into_iter().enumerate() {
            players.push(player.on_line(Slave::new(address(n).get())));
            seats.push(SeatOfLine {
                address: address(n),
                watcher: watcher_of(&settings, None),
                settings,
                journal: Journal::default(),
                up: false,
                events: Vec::new(),
                heard: Vec::new(),
                asked: Vec::new(),
                links: Vec::new(),
                stood_still: Vec::new(),
            });
        }
        Self {
            master: master_of(&seats),
            line: SimulatedLine::new(players, troubles, seed),
            seats,
            now: Millis(0),
            over: false,
            others: VecDeque::new(),
        }
    }

    /// A line with boards on which these made-up games are played. Each is watched as the gateway watches it.
    #[must_use]
    pub fn of_games(games: &[SimulatedGame], troubles: Troubles, seed: u64) -> Self {
        let gathered_ms = budget::gathered_ms(games.len() as u64).min(MOST_GATHERED_MS);
        let board = |(n, game): (usize, &SimulatedGame)| {
            let mut settings = settings_of(&game.header, &n.to_string());
            settings.gathered_ms = gathered_ms;
            settings.boards_on_line = games.len() as u64;
            (game.player(None, n as u16, Pace::default()), settings)
        };
        Self::new(games.iter().enumerate().map(board).collect(), troubles, seed)
    }

    /// Another program asks one board or another for its changes, from `from` until `until`. What a board has
    /// told that program it does not tell the master.
    pub fn is_asked_by_another(&mut self, seed: u64, from: Millis, until: Millis) {
        let mut rng = Rng::with_seed(seed);
        let mut at = from;
        while at < until {
            let to = self.seats[rng.usize(..self.seats.len())].address;
            self.others
                .push_back((at, BusCommand::Changes(to).bytes().to_vec()));
            at = at + rng.u64(40..400);
        }
    }

    /// Runs until all games are over and for a while after that, but not beyond `end`.
    pub fn run(&mut self, end: Millis) {
        let mut last = None;
        while self.now <= last.unwrap_or(end).min(end) {
            self.step();
            if self.over && last.is_none() {
                last = Some(self.now + 20_000);
            }
        }
        for seat in &mut self.seats {
            seat.watcher.handle_end(self.now);
            seat.drain();
        }
    }

    /// Until `end`, and the daemon goes on.
    pub fn pass(&mut self, end: Millis) {
        while self.now < end {
            self.step();
        }
    }

    /// The daemon ends, and another one goes on at `back` from what it has kept. The boards go on meanwhile.
    pub fn restart(&mut self, back: Millis) {
        for seat in &mut self.seats {
            seat.watcher.handle_stop(self.now);
            seat.drain();
            seat.journal.keep(&seat.watcher);
        }
        self.kill(back);
    }

    /// The daemon is killed, and another one goes on at `back` from what it has written down.
    pub fn kill(&mut self, back: Millis) {
        self.line.handle_hang_up(self.now);
        for seat in &mut self.seats {
            seat.links.push((self.now.0, false));
            seat.up = false;
        }
        self.go_on_alone(back);
        self.master = master_of(&self.seats);
        for seat in &mut self.seats {
            seat.watcher = watcher_of(&seat.settings, seat.journal.read());
        }
    }

    /// The process of the daemon does not run until `back`. What was asked before is answered meanwhile, and waits; the boards keep the
    /// rest, for nobody asks them.
    pub fn suspend(&mut self, back: Millis) {
        let waited = self.go_on_alone(back);
        for seat in &mut self.seats {
            // Its task finds out before the line has told it anything.
            if let Some(since) = seat.watcher.late_since(back, 20) {
                let until = if back.since(since) > 1000 { back + 20 } else { back };
                seat.watcher.stood_still(since, until);
                seat.stood_still.push(StoodStill { since, until });
            }
            seat.watcher.catch_up(back);
        }
        self.master.handle_bytes(back, &waited);
    }

    /// Until `back` nobody asks the boards anything. Returns what they say.
    fn go_on_alone(&mut self, back: Millis) -> Vec<u8> {
        let mut said = Vec::new();
        while self.now < back {
            self.line.handle_timeout(self.now);
            while let Some(output) = self.line.poll_output() {
                match output {
                    Output::Send(bytes) => said.extend(bytes),
                    Output::Over => self.over = true,
                    Output::Unplug | Output::Plug => panic!("a line has one cable"),
                }
            }
            self.now = self.line.poll_timeout().unwrap_or(back).clamp(self.now + 1, back);
        }
        said
    }

    fn step(&mut self) {
        while let Some((_, words)) = self.others.pop_front_if(|(at, _)| *at <= self.now) {
            self.line.handle_bytes(self.now, &words);
        }
        self.line.handle_timeout(self.now);
        while let Some(output) = self.line.poll_output() {
            match output {
                Output::Send(bytes) => self.master.handle_bytes(self.now, &bytes),
                Output::Over => self.over = true,
                Output::Unplug | Output::Plug => panic!("a line has one cable"),
            }
        }
        self.master.handle_timeout(self.now);
        self.say();
        for seat in &mut self.seats {
            while seat.watcher.poll_timeout().is_some_and(|due| due <= self.now) {
                seat.watcher.handle_timeout(self.now);
                if seat.watcher.poll_timeout().is_some_and(|due| due <= self.now) {
                    break;
                }
            }
            seat.speak(self.now, &mut self.master);
        }
        self.say();
        while let Some(question) = self.master.poll_transmit() {
            self.line.handle_bytes(self.now, &question);
        }
        let watchers = self
            .seats
            .iter()
            .filter_map(|seat| seat.watcher.poll_timeout())
            .min();
        let others = self.others.front().map(|(at, _)| *at);
        let journals = self.seats.iter().filter_map(|seat| seat.journal.due).min();
        let next = [
            self.line.poll_timeout(),
            self.master.poll_timeout(),
            watchers,
            journals,
            others,
        ];
        self.now = next
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(self.now)
            .max(self.now + 1);
    }

    /// Hands what the boards say to their watchers.
    fn say(&mut self) {
        while let Some((address, said)) = self.master.poll_said() {
            let Some(seat) = self.seats.iter_mut().find(|seat| seat.address == address) else {
                continue;
            };
            match said {
                Said::Here => {
                    self.master.handle_watcher(address);
                    seat.link(self.now, true);
                }
                Said::Gone => seat.link(self.now, false),
                Said::Bytes(bytes) => {
                    seat.watcher.catch_up(self.now);
                    seat.watcher.handle_bytes(self.now, &bytes);
                    seat.heard.push((self.now, bytes));
                }
            }
        }
    }

    /// What the master has counted since this was last asked.
    pub fn figures(&mut self) -> Figures {
        self.master.take_figures(self.now)
    }
}

impl SeatOfLine {
    /// The bytes that the watcher was given, as a capture to be replayed.
    ///
    /// # Errors
    /// When its task stood still for longer than a capture can say.
    pub fn capture(&self, mut header: Header) -> Result<Capture, Flaw> {
        for stood in &self.stood_still {
            header.push("stood-still", &stood.to_string())?;
        }
        let link = |up: bool| if up { Act::LinkUp } else { Act::LinkDown };
        let links = self.links.iter().map(|(at, up)| (Millis(*at), link(*up)));
        let heard = self
            .heard
            .iter()
            .map(|(at, bytes)| (*at, Act::FromBoard(bytes.clone())));
        let mut records: Vec<_> = links.chain(heard).map(|(at, act)| Record { at, act }).collect();
        records.sort_by_key(|record| record.at);
        Ok(Capture { header, records })
    }

    /// The size in bytes of the snapshot that a restart would need.
    #[must_use]
    pub fn snapshot(&self) -> usize {
        as_text(&self.watcher.snapshot()).len()
    }

    /// What the watcher weighs at `now`, which is no earlier than the last step.
    #[must_use]
    pub fn account(&self, now: Millis) -> Option<Account> {
        self.watcher.account(now)
    }

    fn link(&mut self, now: Millis, up: bool) {
        self.links.push((now.0, up));
        self.up = up;
        if up {
            self.watcher.handle_link_up(now, "line");
        } else {
            self.watcher.handle_link_down(now, "gone");
        }
    }

    fn speak(&mut self, now: Millis, master: &mut Master) {
        while let Some(command) = self.watcher.poll_transmit() {
            if self.up {
                master.handle_words(now, self.address, &command);
                self.asked.push((now, command.to_vec()));
            }
        }
        while let Some(LinkWish::Reopen) = self.watcher.poll_wish() {
            self.watcher.handle_link_down(now, "silent");
            self.watcher.handle_link_up(now, "line");
            master.handle_watcher(self.address);
        }
        self.drain();
        self.journal.keep_heard(now, &mut self.watcher);
    }

    fn drain(&mut self) {
        while self.watcher.poll_question().is_some() {}
        while let Some(event) = self.watcher.poll_event() {
            self.journal.keep(&self.watcher);
            self.events.push(event);
        }
    }
}
