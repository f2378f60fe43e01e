//! Results that a person entered for games of which no board tells. What was entered first stays, so that everybody can see
//! who changed what.

use serde::{Deserialize, Serialize};

use super::{
    pairings::{Mistake, MistakeKind, Pairing, Pairings},
    put_right::PutRight,
};

/// A result as a person entered it. It is of these players, and of the pairings as they were: where those are corrected to
/// other players, or get another result of their own, that is the later word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entered {
    /// Number of the game, from 1.
    game: usize,
    /// Names of White and Black.
    players: [String; 2],
    /// The result that the pairings themselves had.
    over: Option<String>,
    /// As boards have theirs: `1-0`, `+/-`, `0-0`; none where it was taken back.
    result: Option<String>,
    /// Who entered it, if that was told.
    by: Option<String>,
    /// Unix time in milliseconds.
    at_ms: i64,
}

impl Entered {
    /// True where the pairing, which was put right, has no later word on the result.
    fn stays(&self, now: &Pairing) -> bool {
        now.result.is_none() || now.result == self.over
    }

    fn is_of(&self, pairing: &Pairing) -> bool {
        let [white, black] = &self.players;
        *white == pairing.white.name && *black == pairing.black.name
    }
}

/// The results of a round, in the order in which they were entered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnteredResults(Vec<Entered>);

/// A game of which no board tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandGame {
    /// Its number, from 1.
    pub game: usize,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// As boards have theirs: `1-0`, `+/-`, `0-0`; none while it has none.
    pub result: Option<String>,
    /// Who entered the result, if a person did and told a name.
    pub by: Option<String>,
}

impl EnteredResults {
    /// The games of `pairings` behind the last of `tables` boards, and those with a result by hand.
    #[must_use]
    pub fn games(&self, pairings: &Pairings, tables: usize) -> Vec<HandGame> {
        let games = (1..).zip(&pairings.boards);
        let paired = games.filter_map(|(game, pairing)| Some((game, pairing.as_ref()?)));
        let by_hand = paired.filter(|(game, pairing)| *game > tables || pairing.result.is_some());
        by_hand
            .map(|(game, pairing)| HandGame {
                game,
                white: pairing.white.name.clone(),
                black: pairing.black.name.clone(),
                result: pairing.result.clone(),
                by: self.by(game, pairing),
            })
            .collect()
    }

    /// True where nobody entered any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the result of a game of `pairings`, which are as they were read. What was entered again as it stands changes
    /// nothing.
    pub fn enter(
        &mut self,
        pairings: &Pairings,
        game: usize,
        result: Option<String>,
        by: Option<String>,
        at_ms: i64,
    ) {
        let Some(pairing) = pairings.game(game) else {
            return;
        };
        let is_there = self.last(game, pairing).is_some_and(|last| last.result == result);
        if !is_there {
            self.0.push(Entered {
                game,
                players: pairing.players(),
                over: pairing.result.clone(),
                result,
                by,
                at_ms,
            });
        }
    }

    /// Takes the results over from `former` pairings to those that put them right, `now`; both are as they were read. Tells
    /// which results go because other players sit there or because the pairings say another one, and which stay under
    /// other names. What goes stays among what was entered, and counts again where the former pairings do.
    pub fn follow(&mut self, former: &Pairings, now: &Pairings) -> Vec<Mistake> {
        let put_right = PutRight::new(former, now);
        let mut noted = Vec::new();
        for (game, pairing) in (1..).zip(&former.boards) {
            let last = pairing.as_ref().and_then(|pairing| self.last(game, pairing));
            let Some((last, result)) = last.and_then(|last| Some((last.clone(), last.result.clone()?)))
            else {
                continue;
            };
            let [white, black] = last.players.clone();
            let by = last.by.clone();
            let there = put_right
                .game(game)
                .and_then(|there| Some((there, now.game(there)?)));
            let stays = there.filter(|(_, now)| last.stays(now));
            let Some((there, pairing)) = stays else {
                let says = there.and_then(|(_, now)| now.result.clone());
                if says.as_ref() != Some(&result) {
                    noted.push(Mistake::of_all(MistakeKind::ResultGoes {
                        game,
                        white,
                        black,
                        result,
                        by,
                    }));
                }
                continue;
            };
            let carried = Entered {
                game: there,
                players: pairing.players(),
                over: pairing.result.clone(),
                ..last.clone()
            };
            if (there, &carried.players) != (game, &last.players) {
                let [now_white, now_black] = carried.players.clone();
                noted.push(Mistake::of_all(MistakeKind::ResultStays {
                    game: there,
                    white: now_white,
                    black: now_black,
                    result,
                    former: format!("{white} – {black}"),
                }));
            }
            if carried != last {
                self.0.push(carried);
            }
        }
        noted
    }

    /// What counts of a game of pairings that are as they were read.
    fn last(&self, game: usize, pairing: &Pairing) -> Option<&Entered> {
        let last = self
            .0
            .iter()
            .rev()
            .find(|entered| entered.game == game && entered.is_of(pairing));
        last.filter(|last| last.over == pairing.result)
    }

    /// Who entered the result that a game has.
    fn by(&self, game: usize, pairing: &Pairing) -> Option<String> {
        let last = self
            .0
            .iter()
            .rev()
            .find(|entered| entered.game == game && entered.is_of(pairing))?;
        last.by.clone().filter(|_| last.result == pairing.result)
    }

    /// Puts the results into pairings as they were read.
    pub fn put_into(&self, pairings: &mut Pairings) {
        for (game, pairing) in (1..).zip(&mut pairings.boards) {
            if let Some(pairing) = pairing
                && let Some(last) = self.last(game, pairing)
            {
                pairing.result.clone_from(&last.result);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Pairings {
        Pairings::parse(&format!("board,white,white_elo,black,result\n{text}"), 1).unwrap()
    }

    fn result(results: &EnteredResults, mut pairings: Pairings, game: usize) -> Option<String> {
        results.put_into(&mut pairings);
        pairings.game(game)?.result.clone()
    }

    #[test]
    fn the_last_word_counts_and_the_earlier_ones_stay() {
        let read = of("1,A,,B,\n2,C,,D,1-0\n");
        let mut results = EnteredResults::default();
        let mut enter = |game, result: Option<&str>| {
            results.enter(&read, game, result.map(str::to_owned), Some("Anna".into()), 7);
        };
        for word in [Some("1-0"), Some("1-0"), Some("0-1"), None] {
            enter(2, word);
        }
        enter(1, Some("1/2-1/2"));
        enter(3, Some("1-0"));
        assert_eq!(
            results.0.len(),
            4,
            "the same word twice is one, and there is no third game"
        );
        assert_eq!(result(&results, read.clone(), 2), None, "taken back");
        assert_eq!(result(&results, read.clone(), 1).as_deref(), Some("1/2-1/2"));
        let mut shown = read;
        results.put_into(&mut shown);
        let games = results.games(&shown, 0);
        assert_eq!(games[0].by.as_deref(), Some("Anna"));
    }

    /// What becomes of a result that was entered for each of `former`, and what is told of it.
    fn followed(former: &str, now: &str) -> (Vec<Option<String>>, Vec<String>) {
        let (former, now) = (of(former), of(now));
        let mut results = EnteredResults::default();
        for game in 1..=former.boards.len() {
            results.enter(&former, game, Some("1-0".into()), Some("Anna".into()), 7);
        }
        let noted = results.follow(&former, &now);
        let kept = (1..=now.boards.len()).map(|game| result(&results, now.clone(), game));
        let told = noted.iter().map(|noted| noted.message.clone());
        (kept.collect(), told.collect())
    }

    #[test]
    fn names_that_are_put_right_leave_every_result() {
        let (kept, told) = followed(
            "1,\"Gast, G\",,B,\n2,Petrov,,D,\n3,Иванов,,Седов,\n",
            "1,\"Gast, Gerd\",,B,\n2,Petrow,2100,D,\n3,Ivanov,,Sedov,\n",
        );
        assert_eq!(kept, vec![Some("1-0".to_owned()); 3]);
        assert!(told[0].contains("Gast, Gerd") && told.len() == 3, "{told:?}");
        // Neither does another order of the tables.
        let (kept, _) = followed("1,A,,B,\n2,C,,D,\n", "1,C,,D,\n2,E,,F,\n3,A,,B,\n");
        assert_eq!(kept, [Some("1-0".to_owned()), None, Some("1-0".to_owned())]);
    }

    #[test]
    fn a_result_goes_with_its_players_and_is_named() {
        let (kept, told) = followed("1,A,,B,\n2,C,,D,\n3,E,,F,\n", "1,A,,D,\n2,C,,B,\n3,E,,F,0-1\n");
        assert_eq!(kept, [None, None, Some("0-1".to_owned())]);
        assert!(
            told.len() == 3 && told[0].contains("1-0") && told[0].contains("Anna"),
            "{told:?}"
        );
        // Pairings that were put in force by mistake lose nothing for good.
        let (former, wrong) = (of("1,A,,B,\n2,C,,D,\n"), of("1,A,,D,\n2,C,,B,\n"));
        let mut results = EnteredResults::default();
        results.enter(&former, 1, Some("1-0".into()), None, 7);
        results.follow(&former, &wrong);
        results.follow(&wrong, &former);
        assert_eq!(result(&results, former, 1).as_deref(), Some("1-0"));
    }

    #[test]
    fn pairings_that_are_corrected_are_the_later_word() {
        let mut results = EnteredResults::default();
        for game in 1..=4 {
            let read = of("1,A,,B,\n2,C,,D,\n3,E,,F,\n4,G,,H,\n");
            results.enter(&read, game, Some("1-0".into()), None, 7);
        }
        let corrected = of("1,A,2100,B,\n2,X,,D,\n3,E,,F,0-1\n4,H,,G,\n");
        let now: Vec<_> = (1..=4)
            .map(|game| result(&results, corrected.clone(), game))
            .collect();
        let now: Vec<_> = now.iter().map(Option::as_deref).collect();
        assert_eq!(
            now,
            [Some("1-0"), None, Some("0-1"), None],
            "another player, another result, other colours"
        );
    }
}
