//! Two rounds of one broadcast go to lichess side by side with one token, of which it takes one push a second.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use dgt2mqtt::{
    broadcast::{Bundle, Pacers, broadcast},
    config::{Broadcast, Lichess, Secret},
    event::Event,
    tournament::{Pairings, Tournament},
};
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::lichess::counting_server;

/// How long whatever must happen may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn settings(folder: &Path, round: u32, port: u16) -> Broadcast {
    let names = format!("board,white,black\n1,White{round},Black{round}\n2,Xavier{round},Yves{round}\n");
    Broadcast {
        group: None,
        folder: folder.to_owned(),
        tournament: Tournament {
            round,
            rounds: 9,
            ..Tournament::default()
        },
        pairings: Pairings::parse(&names, round).unwrap(),
        others: std::collections::BTreeMap::new(),
        pairings_file: None,
        formerly: std::collections::BTreeSet::new(),
        boards: vec!["gw/1".into(), "gw/2".into()],
        begins_ms: None,
        lichess: Some(Lichess {
            round: format!("a1B2c3D{round}"),
            broadcast: None,
            token: Secret::new("lip_secret"),
            server: format!("http://127.0.0.1:{port}"),
            ca_file: None,
        }),
        listen: None,
    }
}

/// The events of two boards, as a journal keeps them.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<Event>>>);

impl Journal {
    fn say(&self, board: u32, seq: u32, body: &str) {
        let time = jiff::Timestamp::now();
        let json = format!(
            r#"{{"v":1,"id":"gw/{board}/{seq}","seq":{seq},"board":"{board}","game":1,"t":1.0,"time":"{time}",{body}}}"#
        );
        self.0.lock().unwrap().push(serde_json::from_str(&json).unwrap());
    }

    fn start(&self, board: u32) {
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let body = format!(r#""type":"game_started","fen":"{fen}","chess960":false"#);
        self.say(board, 1, &body);
    }

    fn play(&self, board: u32, ply: u32) {
        let uci = ["g1f3", "g8f6", "f3g1", "f6g8"][(ply as usize - 1) % 4];
        let body = format!(
            r#""type":"move","ply":{ply},"uci":"{uci}","san":"?","fen":"-","completed_by":"clock","clock":null"#
        );
        self.say(board, ply + 1, &body);
    }

    /// Tells all events from the first, as they come.
    async fn tell(self, events: mpsc::Sender<Bundle>, stop: CancellationToken) {
        let mut told = 0;
        while !stop.is_cancelled() {
            let news: Vec<_> = self.0.lock().unwrap()[told..].to_vec();
            told += news.len();
            let bundle = Bundle {
                events: news.into_iter().map(|event| (event, 0)).collect(),
                ..Bundle::default()
            };
            if events.send(bundle).await.is_err() {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "in vain: {what}");
}

#[tokio::test]
async fn two_rounds_with_one_token_share_its_pace() {
    let folder = tempfile::tempdir().unwrap();
    let (port, counted) = counting_server();
    let journal = Journal::default();
    let (sender, receiver) = watch::channel(Some(settings(folder.path(), 3, port)));
    let stop = CancellationToken::new();
    let (source, end) = (journal.clone(), stop.clone());
    let work = tokio::spawn(async move {
        let source = |_: &Broadcast, events, stop| source.clone().tell(events, stop);
        broadcast(
            receiver,
            "gw",
            source,
            watch::Sender::new(None),
            Pacers::default(),
            end,
        )
        .await;
    });
    until("the third round", || {
        folder.path().join("round-3/.begun").exists()
    })
    .await;
    journal.start(1);
    until("its games", || counted.lock().unwrap().of("a1B2c3D3").count() > 0).await;
    // The fourth begins while a game of the third goes on.
    sender.send_replace(Some(settings(folder.path(), 4, port)));
    until("the fourth round", || {
        folder.path().join("round-4/.begun").exists()
    })
    .await;
    journal.start(2);
    for ply in 1..=40 {
        journal.play(1, ply);
        journal.play(2, ply);
        sleep(Duration::from_millis(250)).await;
    }
    let has_all = |round: &str| {
        let counted = counted.lock().unwrap();
        let last = counted.of(round).next_back();
        last.is_some_and(|games| games.matches("Ng8").count() == 10)
    };
    until("the newest state of both", || {
        has_all("a1B2c3D3") && has_all("a1B2c3D4")
    })
    .await;
    stop.cancel();
    timeout(PATIENCE, work).await.expect("it stops").unwrap();
    let counted = counted.lock().unwrap();
    assert_eq!(
        counted.refused,
        0,
        "beside {} that were taken",
        counted.taken.len()
    );
    for round in ["a1B2c3D3", "a1B2c3D4"] {
        let pushes = counted.of(round).count();
        assert!(pushes >= 3, "none waits for the other: {round} has {pushes}");
    }
}
