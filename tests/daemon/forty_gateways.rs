//! Forty daemons out of one file, each with its board, at one broker.

use std::{fmt::Write as _, fs, path::Path, process::Command, time::Duration};

use crate::{
    broker::{Mosquitto, Subscriber},
    hall::{Daemon, Simulator, program, until, vienna},
};

const GATEWAYS: usize = 40;
/// Forty starts on a machine with two cores take their time.
const PATIENCE: Duration = Duration::from_secs(120);

fn hall(broker: u16, ports: &[String], more: &str) -> String {
    let mut text =
        format!("[broker]\nurls = [\"mqtt://127.0.0.1:{broker}\"]\n[event]\ntime_control = \"standard\"\n");
    for (index, port) in ports.iter().enumerate() {
        let gateway = index + 1;
        writeln!(
            text,
            "[gateways.row-{gateway}]\njournal.path = \"row-{gateway}.sqlite\""
        )
        .unwrap();
        writeln!(
            text,
            "[[gateways.row-{gateway}.board]]\nid = \"t\"\nport = \"{port}\""
        )
        .unwrap();
    }
    text + more
}

fn command(args: &[&str], config: &Path) -> (Option<i32>, String) {
    let output = program().args(args).arg("--config").arg(config).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_gateways_come_up_from_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let broker = Mosquitto::start(folder.path(), "");
    let subscriber = Subscriber::new(broker.port, "dgt2mqtt/#").await;
    let simulator = Simulator::start(&["--speed", "1"], &vec![vienna(); GATEWAYS]);
    let config = folder.path().join("hall.toml");
    fs::write(&config, hall(broker.port, &simulator.ports, "")).unwrap();
    let (code, said) = command(&["check"], &config);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("A hall of 40 gateways with 40 boards."), "{said}");

    let names: Vec<_> = (1..=GATEWAYS).map(|gateway| format!("row-{gateway}")).collect();
    // By the option and by the variable.
    let start = |(index, name): (usize, &String)| {
        Daemon::start_with(&config, |command: &mut Command| {
            match index % 2 {
                0 => command.args(["--gateway", name]),
                _ => command.env("DGT2MQTT_GATEWAY", name),
            };
        })
    };
    let daemons: Vec<_> = names.iter().enumerate().map(start).collect();
    let is_told = |topic: &str, text: &str| {
        let last = subscriber.all().into_iter().rev().find(|got| got.topic == topic);
        last.is_some_and(|got| got.text() == text)
    };
    for name in &names {
        for what in ["status", "board/t/status"] {
            let topic = format!("dgt2mqtt/{name}/{what}");
            until(&topic, PATIENCE, || is_told(&topic, "online").then_some(()));
        }
    }

    // A reload reads the table of one's own gateway.
    let more = "[[gateways.row-1.board]]\nid = \"u\"\nport = \"usb:nowhere\"\n";
    fs::write(
        &config,
        hall(broker.port, &simulator.ports, "").replacen(
            "[gateways.row-2]",
            &format!("{more}[gateways.row-2]"),
            1,
        ),
    )
    .unwrap();
    daemons[0].signal("HUP");
    daemons[1].signal("HUP");
    until("a new board", PATIENCE, || {
        is_told("dgt2mqtt/row-1/board/u/status", "offline").then_some(())
    });
    // Without one's own table nothing is taken over.
    fs::write(&config, hall(broker.port, &simulator.ports[..2], "")).unwrap();
    daemons[2].signal("HUP");
    until("a refusal", PATIENCE, || {
        let log = fs::read_to_string(folder.path().join("daemon.log")).unwrap();
        log.contains("there is no gateway \"row-3\" in the hall's file")
            .then_some(())
    });
    assert!(
        subscriber
            .all()
            .iter()
            .all(|got| got.topic != "dgt2mqtt/row-2/board/u/status")
    );
    assert!(daemons.into_iter().all(Daemon::stop));
}

#[test]
fn a_hall_whose_gateways_are_at_odds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("hall.toml");
    let ports = ["tcp://box:4001".to_owned(), "tcp+cap://Box:4001".to_owned()];
    let text = hall(1883, &ports, "").replacen("[broker]", "[broker]\nclient_id = \"hall\"", 1);
    fs::write(&config, &text).unwrap();
    let (code, said) = command(&["check"], &config);
    assert_eq!(code, Some(78), "{said}");
    for part in [
        "tcp://box:4001 is the port of several gateways, row-1 and row-2",
        "\"hall\" is the `client_id` of several",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Each alone is good.
    assert_eq!(command(&["check", "--gateway", "row-1"], &config).0, Some(0));
    let (code, said) = command(&["run"], &config);
    assert_eq!(code, Some(78));
    assert!(
        said.contains("--gateway NAME") && said.contains("row-1, row-2"),
        "{said}"
    );
    let (code, said) = command(&["journal", "--gateway", "row-3"], &config);
    assert_eq!(code, Some(78));
    assert!(said.contains("no gateway \"row-3\""), "{said}");
}
