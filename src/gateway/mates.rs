//! Answers questions about mates beside the board's task. An answer may take seconds, and no event waits for it.

use std::{collections::VecDeque, sync::Arc};

use tokio::{sync::Semaphore, task::JoinHandle};

use crate::{
    mate::{Budget, Limit, Verdict, can_mate},
    watcher::MateQuestion,
};

/// The turn to search. One search runs at a time for all boards, so that memory is bounded.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<Semaphore>);

impl Default for Turn {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// The questions of one board.
#[derive(Debug)]
pub(super) struct Mates {
    turn: Turn,
    waiting: VecDeque<MateQuestion>,
    asked: Option<Asked>,
}

#[derive(Debug)]
struct Asked {
    irregularity: String,
    search: JoinHandle<Verdict>,
}

impl Mates {
    pub(super) fn new(turn: Turn) -> Self {
        Self {
            turn,
            waiting: VecDeque::new(),
            asked: None,
        }
    }

    /// Takes questions, and starts on the next one if no search runs.
    pub(super) fn ask(&mut self, questions: impl Iterator<Item = MateQuestion>) {
        self.waiting.extend(questions);
        if self.asked.is_some() {
            return;
        }
        let Some(question) = self.waiting.pop_front() else {
            return;
        };
        let turn = self.turn.0.clone();
        let (position, winner) = (question.position, question.winner);
        let search = tokio::spawn(async move {
            let permit = turn.acquire_owned().await;
            let search = tokio::task::spawn_blocking(move || {
                let verdict = can_mate(&position, winner, &Budget::default());
                drop(permit);
                verdict
            });
            search.await.unwrap_or(FAILED)
        });
        self.asked = Some(Asked {
            irregularity: question.irregularity,
            search,
        });
    }

    /// The next answer, with the id of its irregularity. Pends while there is no question.
    pub(super) async fn answer(&mut self) -> (String, Verdict) {
        let Some(asked) = &mut self.asked else {
            return std::future::pending().await;
        };
        let verdict = (&mut asked.search).await.unwrap_or(FAILED);
        let irregularity = std::mem::take(&mut asked.irregularity);
        self.asked = None;
        (irregularity, verdict)
    }
}

/// The answer of a search that ended by a defect, which has shown nothing.
const FAILED: Verdict = Verdict::Undetermined(Limit::Positions(0));

/// The snapshot keeps a question without an answer, and the next start asks it again.
impl Drop for Mates {
    fn drop(&mut self) {
        if let Some(asked) = &self.asked {
            asked.search.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::{CastlingMode, Chess, Color, fen::Fen};

    fn question(irregularity: &str, fen: &str) -> MateQuestion {
        let fen: Fen = fen.parse().unwrap();
        let position: Chess = fen.into_position(CastlingMode::Standard).unwrap();
        MateQuestion {
            irregularity: irregularity.to_owned(),
            position,
            winner: Color::White,
        }
    }

    #[tokio::test]
    async fn questions_are_answered_in_turn() {
        let mut mates = Mates::new(Turn::default());
        let questions = [
            question("gw/1/1", "4k3/8/8/8/8/8/8/R3K3 b - - 0 1"),
            question("gw/1/2", "4k3/8/8/8/8/8/8/4K3 b - - 0 1"),
        ];
        mates.ask(questions.into_iter());
        let (first, verdict) = mates.answer().await;
        assert_eq!(first, "gw/1/1");
        assert!(matches!(verdict, Verdict::Winnable(_)));
        mates.ask(std::iter::empty());
        let (second, verdict) = mates.answer().await;
        assert_eq!(second, "gw/1/2");
        assert!(matches!(verdict, Verdict::Unwinnable(_)));
    }
}
