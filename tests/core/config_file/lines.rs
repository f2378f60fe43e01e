//! Lines that boards share, and lines that gather.

use super::{SMALL, good, problem, problems};

const LINE: &str = "[gateway]\nname = \"g\"\n[[line]]\nname = \"hall\"\nport = \"/dev/ttyUSB7\"\nboards = [\"01026\", \"01027\"]\n";

#[test]
fn boards_of_a_line_have_places_at_it() {
    let own = "[[board]]\nid = \"7\"\nline = \"hall\"\nserial = \"1025\"\ntime_control = \"blitz\"\n";
    let config = good(&format!("{LINE}{own}"));
    let places: Vec<_> = config
        .boards
        .iter()
        .map(|board| (board.id.as_str(), board.port.as_str()))
        .collect();
    let wanted = [
        ("7", "bus:1025@/dev/ttyUSB7"),
        ("01026", "bus:01026@/dev/ttyUSB7"),
        ("01027", "bus:01027@/dev/ttyUSB7"),
    ];
    assert_eq!(places, wanted);
    assert!(
        config
            .boards
            .iter()
            .all(|board| (300..600).contains(&board.gathered_ms))
    );
    let known = good(&format!("{LINE}{own}gathered_ms = 900\n"));
    assert_eq!(
        (known.boards[0].gathered_ms, known.boards[1].gathered_ms),
        (900, config.boards[1].gathered_ms)
    );
}

#[test]
fn what_is_wrong_with_a_line_is_said() {
    let said = |more: &str| problems(&format!("{LINE}{more}")).to_string();
    for (board, words) in [
        ("line = \"hal\"\nserial = \"1\"", "there is no line \"hal\""),
        ("line = \"hall\"", "told from the others by its serial number"),
        (
            "line = \"hall\"\nserial = \"x\"",
            "no place where a board can be attached",
        ),
        ("line = \"hall\"\nserial = \"17410\"", "have one address"),
        (
            "line = \"hall\"\nserial = \"1\"\nport = \"/dev/ttyS0\"",
            "has a port and is on a line",
        ),
        (
            "line = \"hall\"\nserial = \"1\"\nprotocol = \"occ1\"",
            "only DGT boards share a line",
        ),
        (
            "serial = \"1\"\nport = \"/dev/ttyS0\"",
            "says nothing of a board with a port of its own",
        ),
        ("port = \"/dev/ttyUSB7\"", "the port of the line is the port"),
    ] {
        let said = said(&format!("[[board]]\nid = \"7\"\n{board}\n"));
        assert!(said.contains(words), "{board}: {said}");
    }
}

#[test]
fn a_line_that_gathers_is_told_to_the_watcher() {
    let with = |line: &str| format!("{SMALL}{line}\n");
    let config = good(&with("gathered_ms = 1000"));
    assert_eq!(config.settings(&config.boards[0]).gathered_ms, 1000);
    let config = good(SMALL);
    assert_eq!(config.settings(&config.boards[0]).gathered_ms, 0);
    let (line, _, said) = problem(&with("gathered_ms = 2001"));
    assert!(line == 6 && said.contains("0 to 2000 ms"), "{said}");
    let (line, _, said) = problem(&with("protocol = \"occ1\"\ngathered_ms = 500"));
    assert!(line == 7 && said.contains("leave `gathered_ms` out"), "{said}");
}
