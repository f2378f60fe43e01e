//! Pushing to a broadcast: what is sent, what is done with the answer and who is told of it, that the
//! newest state gets through after failures, and that it goes to nobody but the server it is meant for.
//! The other end is a small server of our own.

use std::{fs, sync::mpsc, time::Duration};

use dgt2mqtt::{
    broadcast::{Pacer, Published, Pushed, push},
    config::{Lichess, Secret},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    certificates::certificates,
    lichess::{GOOD, Got, secured, server},
    relay::{Faults, NO_SCOPE, Relay},
    relay_rules::value,
};

const TOKEN: &str = "lip_secret";

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

fn settings(server: String) -> Lichess {
    Lichess {
        round: "a1B2c3D4".into(),
        broadcast: None,
        token: Secret::new(TOKEN),
        server,
        ca_file: None,
    }
}

fn game(board: Option<&str>, white: &str, moves: &str) -> Published {
    Published {
        board: board.map(str::to_owned),
        pgn: format!("[Event \"?\"]\n[White \"{white}\"]\n[Black \"{white}\"]\n\n{moves} *\n"),
    }
}

/// Pushing at work.
struct Pushing {
    games: watch::Sender<Vec<Published>>,
    told: watch::Receiver<Option<Pushed>>,
    stop: CancellationToken,
    work: tokio::task::JoinHandle<()>,
}

impl Pushing {
    fn start(settings: Lichess, games: Vec<Published>) -> Self {
        let (games, receiver) = watch::channel(games);
        let (sender, told) = watch::channel(None);
        let stop = CancellationToken::new();
        let pacer = Pacer::new(&settings);
        let work = tokio::spawn(push(settings, pacer, receiver, sender, stop.clone()));
        Self {
            games,
            told,
            stop,
            work,
        }
    }

    /// Waits until what is told fits.
    async fn told(&mut self, fits: impl Fn(&Pushed) -> bool) -> Pushed {
        let fits = |told: &Option<Pushed>| told.as_ref().is_some_and(&fits);
        let told = timeout(PATIENCE, self.told.wait_for(fits)).await;
        let told = told.expect("it is told").unwrap().clone().unwrap();
        let json = serde_json::to_string(&told).unwrap();
        assert!(!json.contains(TOKEN), "{json}");
        told
    }

    async fn error(&mut self) -> String {
        self.told(|told| told.error.is_some()).await.error.unwrap()
    }

    async fn stop(self) {
        self.stop.cancel();
        let stopped = timeout(PATIENCE, self.work).await;
        stopped.expect("it stops").unwrap();
    }
}

/// Waits off the runtime, so that the pushing goes on.
async fn next(got: mpsc::Receiver<Got>) -> (mpsc::Receiver<Got>, Got) {
    let waiting = tokio::task::spawn_blocking(move || {
        let request = got.recv_timeout(PATIENCE).expect("a push");
        (got, request)
    });
    waiting.await.unwrap()
}

#[tokio::test]
async fn the_games_go_out_and_after_failures_the_newest_state_does() {
    let answers = vec![
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
        "",
        GOOD,
    ];
    let (port, got) = server(answers, None);
    let nobody = game(Some("gw/2"), "?", "");
    let (a, b) = (
        game(Some("gw/1"), "Ada", "1. e4"),
        game(Some("gw/3"), "Ben", "1. d4"),
    );
    let mut pushing = Pushing::start(
        settings(format!("http://127.0.0.1:{port}")),
        vec![a.clone(), nobody.clone(), b.clone()],
    );

    let (got, Got { head, body, .. }) = next(got).await;
    assert_eq!(head[0], "post /api/broadcast/round/a1b2c3d4/push http/1.1");
    assert!(
        head.contains(&format!("authorization: bearer {TOKEN}")),
        "{head:?}"
    );
    assert!(
        head.contains(&"content-type: text/plain; charset=utf-8".to_owned()),
        "{head:?}"
    );
    assert!(
        head.iter().any(|line| line.starts_with("user-agent: dgt2mqtt/")),
        "{head:?}"
    );
    assert_eq!(body, format!("{}\n{}", a.pgn, b.pgn), "games of nobody stay here");
    let said = pushing.error().await;
    assert!(said.contains("503 Service Unavailable"), "{said}");

    // It was refused: meanwhile a move is made.
    let a = game(Some("gw/1"), "Ada", "1. e4 e5");
    pushing.games.send_replace(vec![a, nobody, b]);
    let (got, _) = next(got).await;
    let (got, Got { body, .. }) = next(got).await;
    assert!(body.contains("1. e4 e5"), "the newest: {body}");

    // Taken: what was answered is told by board, and the trouble is over.
    let told = pushing.told(|told| told.taken.is_some()).await;
    assert_eq!((told.round.as_str(), told.error), ("a1B2c3D4", None));
    let of = |i: usize| {
        let game = &told.games[i];
        (
            game.board.as_deref(),
            game.game,
            game.moves,
            game.error.as_deref(),
        )
    };
    assert_eq!(of(0), (Some("gw/1"), 1, Some(1), None));
    assert_eq!(of(1), (Some("gw/3"), 3, None, Some("illegal")));

    // Nothing more is sent until something changes.
    let (got, quiet) = tokio::task::spawn_blocking(move || {
        let quiet = got.recv_timeout(Duration::from_secs(4)).is_err();
        (got, quiet)
    })
    .await
    .unwrap();
    assert!(quiet);
    let a = game(Some("gw/1"), "Ada", "1. e4 e5 2. Nf3");
    pushing.games.send_replace(vec![a]);
    let (_got, Got { body, .. }) = next(got).await;
    assert!(body.contains("2. Nf3"));
    pushing.stop().await;
}

#[tokio::test]
async fn an_event_of_many_games_fills_several_rounds() {
    // One of the rounds is not there at first; the others go on.
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let (port, got) = server(vec![GOOD, missing, GOOD], None);
    let games = (1..=260).map(|n| game(Some(&format!("gw/{n}")), &format!("Player {n}"), "1. e4"));
    let settings = Lichess {
        round: "a1B2c3D4, e5F6g7H8, i9J0k1L2 201-250".into(),
        ..settings(format!("http://127.0.0.1:{port}"))
    };
    let mut pushing = Pushing::start(settings, games.collect());
    let (mut got, mut pushes) = (got, Vec::new());
    for _ in 0..6 {
        let (back, push) = next(got).await;
        (got, pushes) = (back, pushes.into_iter().chain([push]).collect());
    }
    let rounds = ["a1b2c3d4", "e5f6g7h8", "i9j0k1l2"].into_iter().cycle();
    let sizes = [(1, 100), (101, 100), (201, 50)].into_iter().cycle();
    for ((push, round), (first, count)) in pushes.iter().zip(rounds).zip(sizes) {
        assert_eq!(
            push.head[0],
            format!("post /api/broadcast/round/{round}/push http/1.1")
        );
        assert_eq!(push.body.matches("[White ").count(), count);
        assert!(push.body.contains(&format!("[White \"Player {first}\"]")));
    }
    // The server takes one push a second.
    for pair in pushes.windows(2) {
        let waited = pair[1].at - pair[0].at;
        assert!(waited >= Duration::from_millis(900), "{waited:?}");
    }
    let told = pushing.told(|told| told.taken.is_some()).await;
    assert_eq!((told.error, told.games.len()), (None, 260));
    let last = &told.games[259];
    let error = last.error.as_deref().unwrap();
    assert!(
        last.game == 260 && error.contains("i9J0k1L2 (games 201-250)"),
        "{last:?}"
    );
    pushing.stop().await;
}

/// Two rounds of a broadcast are there, and the third is made; each push obeys the server's limits.
#[tokio::test]
async fn the_rounds_of_a_broadcast_are_found_or_made() {
    let relay = Relay::start(TOKEN, &["A1b2C3d4"]);
    relay.has("thereNo7", "A1b2C3d4", "Round 7");
    relay.has("thereN72", "A1b2C3d4", "round 7, games 101-200");
    relay.has("thereNo8", "A1b2C3d4", "Round 8");
    let games = (1..=260).map(|n| game(Some(&format!("gw/{n}")), &format!("Player {n}"), "1. e4"));
    let settings = Lichess {
        round: "A1b2C3d4#7".into(),
        broadcast: Some("A1b2C3d4".into()),
        ..settings(format!("http://127.0.0.1:{}", relay.port))
    };
    let mut pushing = Pushing::start(settings, games.collect());
    let told = pushing.told(|told| told.taken.is_some()).await;
    assert_eq!((told.error, told.games.len()), (None, 260));
    pushing.stop().await;
    let rounds = relay.rounds();
    let count = |id: &str| rounds[id].pgn.matches("[Event ").count();
    let made: Vec<_> = rounds.iter().filter(|(id, _)| id.starts_with("made")).collect();
    let [(made, round)] = made[..] else {
        panic!("{rounds:?}")
    };
    assert_eq!(round.name, "Round 7, games 201-300");
    assert_eq!(
        [
            count("thereNo7"),
            count("thereN72"),
            count(made),
            count("thereNo8")
        ],
        [100, 100, 60, 0]
    );
    assert_eq!(relay.refused(), [""; 0]);
}

/// A game of round 7, with the tags by which it is known again.
fn numbered(n: usize, moves: &str) -> Published {
    Published {
        board: Some(format!("gw/{n}")),
        pgn: format!(
            "[Event \"Open\"]\n[Round \"7.{n}\"]\n[White \"White {n}\"]\n[Black \"Black {n}\"]\n\n{moves} *\n"
        ),
    }
}

/// The answer to the first new round is lost, one push is too many, and every fifth does not arrive.
#[tokio::test]
async fn whatever_fails_on_the_way_each_game_is_there_once() {
    let faults = Faults {
        bad_gateway_every: Some(5),
        too_many_at: Some(2),
        loses_first_new: true,
    };
    let relay = Relay::with(TOKEN, &["A1b2C3d4"], faults);
    let games = |moves: &str| (1..=230).map(|n| numbered(n, moves)).collect::<Vec<_>>();
    let settings = Lichess {
        round: "A1b2C3d4#7".into(),
        broadcast: Some("A1b2C3d4".into()),
        ..settings(format!("http://127.0.0.1:{}", relay.port))
    };
    let mut pushing = Pushing::start(settings, games("1. e4"));
    pushing
        .told(|told| told.taken.is_some() && told.error.is_none())
        .await;
    pushing.games.send_replace(games("1. e4 e5"));
    let is_taken =
        |told: &Pushed| told.error.is_none() && told.games.iter().all(|game| game.moves == Some(2));
    let told = pushing.told(is_taken).await;
    assert_eq!(told.games.len(), 230);
    pushing.stop().await;
    let refused = relay.refused();
    for status in ["429", "502"] {
        assert!(refused.iter().any(|told| told.contains(status)), "{refused:?}");
    }
    let rounds = relay.rounds();
    let mut names: Vec<&str> = rounds.values().map(|round| round.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["Round 7", "Round 7, games 101-200", "Round 7, games 201-300"]
    );
    let chapters: Vec<_> = rounds.values().flat_map(|round| &round.shown.chapters).collect();
    let mut white: Vec<_> = chapters
        .iter()
        .map(|game| value(&game.tags, "White").unwrap())
        .collect();
    white.sort_unstable();
    white.dedup();
    assert_eq!((chapters.len(), white.len()), (230, 230));
    assert!(chapters.iter().all(|game| game.moves.len() == 2));
}

/// lichess would take the game without moves for the one that it has already.
#[tokio::test]
async fn a_game_whose_players_become_known_later_takes_no_other_games_place() {
    let relay = Relay::start(TOKEN, &[]);
    relay.has("a1B2c3D4", "none", "Round 7");
    let unknown = |n| {
        let mut game = numbered(n, "");
        game.pgn = game.pgn.replace(&format!("White {n}"), "?");
        game
    };
    let nobody = |n| {
        let mut game = unknown(n);
        game.pgn = game.pgn.replace(&format!("Black {n}"), "?");
        game
    };
    let settings = settings(format!("http://127.0.0.1:{}", relay.port));
    let mut pushing = Pushing::start(settings, vec![nobody(1), unknown(2), numbered(3, "1. e4 e5")]);
    let told = pushing.told(|told| told.taken.is_some()).await;
    let games: Vec<_> = told.games.iter().map(|game| (game.game, game.moves)).collect();
    assert_eq!(games, [(2, None), (3, Some(2))]);
    let error = told.games[0].error.as_deref().unwrap();
    assert!(error.contains("names of both players"), "{error}");
    let all = vec![numbered(1, ""), numbered(2, ""), numbered(3, "1. e4 e5")];
    pushing.games.send_replace(all);
    let told = pushing.told(|told| told.games.len() == 3).await;
    let moves: Vec<_> = told.games.iter().map(|game| game.moves).collect();
    assert_eq!(moves, [Some(0), Some(0), Some(2)]);
    pushing.stop().await;
    let rounds = relay.rounds();
    let shown = rounds["a1B2c3D4"].shown.chapters.iter();
    let shown: Vec<_> = shown
        .map(|game| (value(&game.tags, "White").unwrap(), game.moves.len()))
        .collect();
    assert_eq!(shown, [("White 3", 2), ("White 1", 0), ("White 2", 0)]);
}

#[tokio::test]
async fn what_the_server_refuses_is_told_with_what_to_do() {
    let relay = Relay::start(TOKEN, &[]);
    relay.has("a1B2c3D4", "none", "Round 7");
    relay.has("s0urc3dR", "none", "Round 8");
    relay.has_source("s0urc3dR");
    for (token, round, help) in [
        ("lip_wrong", "a1B2c3D4", "write a new one into `token_file`"),
        (NO_SCOPE, "a1B2c3D4", "study:write"),
        (TOKEN, "noRound0", "the last part of the round's address"),
        (TOKEN, "s0urc3dR", "without a source of its own"),
    ] {
        let settings = Lichess {
            token: Secret::new(token),
            round: round.into(),
            ..settings(format!("http://127.0.0.1:{}", relay.port))
        };
        let mut pushing = Pushing::start(settings, vec![numbered(1, "1. e4"), numbered(2, "1. e4")]);
        let said = pushing.error().await;
        assert!(said.contains(help), "{said}");
        pushing.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_has_enough_is_left_in_peace_as_long_as_it_says() {
    let answers = vec![
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 4\r\nContent-Length: 34\r\n\r\n{\"error\":\"for lip_secret: slower\"}",
        GOOD,
    ];
    let (port, got) = server(answers, None);
    let games = vec![game(None, "Ada", "1. e4"), game(None, "Ben", "1. d4")];
    let mut pushing = Pushing::start(settings(format!("http://127.0.0.1:{port}")), games);
    let (got, first) = next(got).await;
    let said = pushing.error().await;
    assert!(said.contains("429 Too Many Requests: for ...: slower"), "{said}");
    let (_got, second) = next(got).await;
    let waited = second.at - first.at;
    assert!(waited >= Duration::from_millis(3_900), "{waited:?}");
    // And not the minute that it would wait if nothing were said.
    assert!(waited < Duration::from_secs(50), "{waited:?}");
    pushing.told(|told| told.taken.is_some()).await;
    pushing.stop().await;
}

#[tokio::test]
async fn what_an_operator_can_mend_is_told_with_what_to_do() {
    let refusal = |status: &'static str| {
        Box::leak(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_boxed_str()) as &str
    };
    for (status, help) in [
        ("401 Unauthorized", "write a new one into `token_file`"),
        ("403 Forbidden", "study:write"),
        ("404 Not Found", "the last part of the round's address"),
        ("400 Bad Request", "without a source of its own"),
    ] {
        let (port, _got) = server(vec![refusal(status)], None);
        let games = vec![game(None, "Ada", "1. e4")];
        let mut pushing = Pushing::start(settings(format!("http://127.0.0.1:{port}")), games);
        let said = pushing.error().await;
        assert!(said.contains(status) && said.contains(help), "{said}");
        pushing.stop().await;
    }
    // Without names nothing could be sent, and nobody would know why nothing comes.
    let mut pushing = Pushing::start(
        settings("http://127.0.0.1:1".into()),
        vec![game(None, "?", "1. e4")],
    );
    let said = pushing.error().await;
    assert!(said.contains("`pairings`"), "{said}");
    pushing.stop().await;
}

/// One server for all of it: first as it should be, then as it should not.
#[tokio::test]
async fn over_tls_the_token_goes_to_the_server_that_is_meant_and_to_no_other() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let games = || vec![game(None, "Ada", "1. e4"), game(None, "Ben", "1. d4")];
    let trusting = |port: u16, ca: Option<&str>| Lichess {
        ca_file: ca.map(|ca| folder.path().join(ca)),
        ..settings(format!("https://localhost:{port}"))
    };

    // Retries, the connection lost in the middle of an answer, and a good end.
    let answers = vec![
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{\"games\":",
        GOOD,
    ];
    let (port, got) = server(answers, Some(secured(folder.path(), "good")));
    let mut pushing = Pushing::start(trusting(port, Some("ca.pem")), games());
    let (got, Got { head, .. }) = next(got).await;
    assert!(head.contains(&format!("authorization: bearer {TOKEN}")));
    assert!(head.contains(&format!("host: localhost:{port}")), "{head:?}");
    let (got, _) = next(got).await;
    let told = pushing
        .told(|told| told.error.as_ref().is_some_and(|error| !error.contains("502")))
        .await;
    assert!(
        told.error.unwrap().starts_with("cannot reach https://localhost"),
        "broken off"
    );
    let (_got, _) = next(got).await;
    let told = pushing.told(|told| told.taken.is_some()).await;
    assert_eq!(told.games.len(), 2);
    pushing.stop().await;

    for (certificate, ca, why) in [
        (
            "good",
            Some("stranger.pem"),
            "was not signed by an authority of `ca_file`",
        ),
        // What the system trusts does not know our authority.
        (
            "good",
            None,
            "without `ca_file` the authorities of this system are trusted",
        ),
        ("elsewhere", Some("ca.pem"), "is made out for another name"),
        ("over", Some("ca.pem"), "has expired"),
    ] {
        let (port, got) = server(vec![GOOD], Some(secured(folder.path(), certificate)));
        let mut pushing = Pushing::start(trusting(port, ca), games());
        let said = pushing.error().await;
        assert!(said.contains(why) && said.contains("cannot be trusted"), "{said}");
        assert!(got.try_recv().is_err(), "nothing was sent to it");
        pushing.stop().await;
    }
    // No TLS at all, and a file that holds no certificate.
    let (port, got) = server(vec![GOOD], None);
    let mut pushing = Pushing::start(trusting(port, Some("ca.pem")), games());
    let said = pushing.error().await;
    assert!(said.contains("cannot"), "{said}");
    assert!(got.try_recv().is_err(), "nothing was sent in the clear");
    pushing.stop().await;
    fs::write(folder.path().join("empty.pem"), "").unwrap();
    let mut pushing = Pushing::start(trusting(port, Some("empty.pem")), games());
    let said = pushing.error().await;
    assert!(said.contains("empty.pem"), "{said}");
    pushing.stop().await;
}
