//! Carries out commands to the gateway, and hands others on to its boards.

use std::time::Instant;

use super::{Daemon, MAX_READERS};
use crate::{
    gateway::{
        commands::{BoardCommand, GatewayCommand, pong},
        history,
    },
    mqtt::{BoardState, CommandReply, History, Refusal, ReplyTo, Request, Target},
    throttle::Throttle,
};

impl Daemon {
    pub(super) async fn dispatch(&mut self, request: Request) {
        let Request {
            target,
            verb,
            payload,
            answer,
        } = request;
        if changes_something(&target) {
            log_command(&verb, answer.sender.as_deref());
        }
        let noted = is_kept(&target).then(|| GatewayCommand::new(&verb, &payload, &answer));
        if noted.is_some()
            && let Some(wait_s) = self.quota.wait_s(self.clock.now())
        {
            let refusal = Refusal::OverBudget(wait_s);
            let refused = answer.refused(refusal.code(), &refusal);
            return self.publisher_handle().reply(refused);
        }
        match target {
            Target::Ping => {
                let state = pong(&self.boot_id, self.clock.now());
                self.publisher_handle().reply(answer.done(state));
            }
            Target::Republish => {
                let topics = self.publisher_handle().states.republish();
                let state = serde_json::json!({ "topics": topics });
                self.publisher_handle().reply(answer.done(state));
            }
            Target::Reload => {
                let reply = match self.reload().await {
                    Ok(state) => answer.done(state),
                    Err(reason) => answer.refused("configuration_wrong", &reason),
                };
                self.answer(noted, reply);
            }
            Target::Log(asked) => {
                let reply = match (self.controls.log)(asked.filter.as_deref()) {
                    Ok(filter) => answer.done(serde_json::json!({ "filter": filter })),
                    Err(reason) => answer.refused("bad_filter", &reason),
                };
                self.publisher_handle().reply(reply);
            }
            Target::History(asked) => self.tell_history(asked, answer),
            Target::Pairings(asked) => {
                let reply = self.desk.pairings(&asked, answer);
                self.answer_or_wait(noted, reply);
            }
            Target::NextRound(asked) => {
                let reply = self.desk.next_round(&asked, answer);
                self.answer_or_wait(noted, reply);
            }
            Target::Renumber(asked) => {
                let reply = self.desk.renumber(&asked, answer);
                self.answer_or_wait(noted, reply);
            }
            Target::Results(asked) => {
                let reply = self.desk.results(&asked, answer);
                self.answer_or_wait(noted, reply);
            }
            Target::Bind(asked) => {
                let reply = self.desk.bind(asked, answer);
                self.answer_or_wait(noted, reply);
            }
            Target::Board {
                board,
                command,
                expects,
            } => {
                let command = BoardCommand {
                    command,
                    expects,
                    verb,
                    payload,
                    answer,
                };
                let sender = self.commands.iter().find(|(id, _)| id.as_str() == board);
                let Some((_, sender)) = sender else {
                    return self.put_right_retired(board, command).await;
                };
                match sender.try_reserve() {
                    Ok(place) => place.send(command),
                    Err(_) => self.publisher_handle().reply(command.refuse(&Refusal::Busy)),
                }
            }
        }
    }

    /// Answers a command, or notes it until its answer comes. There is at most one such command.
    fn answer_or_wait(&mut self, noted: Option<GatewayCommand>, reply: Option<CommandReply>) {
        match reply {
            Some(reply) => self.answer(noted, reply),
            None => self.under_way = noted,
        }
    }

    /// Answers a command, once the journal was told of it and of its answer.
    pub(super) fn answer(&mut self, noted: Option<GatewayCommand>, reply: CommandReply) {
        if let Some(noted) = noted {
            self.quota.spend(self.clock.now());
            if !self.shared.journal.try_note(noted.answered(&reply)) {
                tracing::warn!(
                    "the journal is behind: it does not keep a command to the gateway and its answer"
                );
            }
        }
        self.publisher_handle().reply(reply);
    }

    /// Reads the journal in another thread, a few reads at a time.
    fn tell_history(&mut self, asked: History, answer: ReplyTo) {
        while self.readers.try_join_next().is_some() {}
        if self.readers.len() >= MAX_READERS {
            let refused = answer.refused(Refusal::Busy.code(), &Refusal::Busy);
            return self.publisher_handle().reply(refused);
        }
        let publisher = self.publisher_handle().clone();
        let path = self.config.journal.path.clone();
        let board = self.plans.keys().find(|id| id.as_str() == asked.board);
        let game = board.and_then(|id| publisher.states.value(&self.shared.topics, id, BoardState::Game));
        self.readers.spawn_blocking(move || {
            publisher.reply(match history::read(&path, &asked, game.as_deref()) {
                Ok(state) => answer.done(state),
                Err(reason) => answer.refused("journal_unreadable", &reason),
            });
        });
    }
}

/// True where the journal keeps a command to the gateway. Boards keep their own commands.
fn is_kept(target: &Target) -> bool {
    changes_something(target) && !matches!(target, Target::Republish | Target::Log(_))
}

/// True where the log tells of a command to the gateway. Boards log their own commands.
fn changes_something(target: &Target) -> bool {
    match target {
        Target::Ping | Target::History(_) | Target::Board { .. } => false,
        Target::Pairings(asked) => asked.put,
        Target::Results(asked) => !asked.results.is_empty(),
        Target::Bind(asked) => asked.boards.is_some(),
        Target::Republish | Target::Reload | Target::Log(_) | Target::NextRound(_) | Target::Renumber(_) => {
            true
        }
    }
}

static COMMANDS: Throttle = Throttle::new();

/// Tells how many commands were not told one by one in the minute that is over.
pub(super) fn tell_left_out(now: Instant) {
    if let Some(count) = COMMANDS.overdue(now) {
        tracing::info!("{count} more commands to the gateway that are not told one by one");
    }
}

fn log_command(verb: &str, by: Option<&str>) {
    if let Some(left_out) = COMMANDS.pass(Instant::now()) {
        let who = by.unwrap_or("somebody without a name");
        let more = match left_out {
            0 => String::new(),
            count => format!("; before it {count} that are not told one by one"),
        };
        tracing::info!(verb, by, "command {verb} of {who}{more}");
    }
}
