//! The udev rules are well formed and do what they say, by an evaluator of the few constructs that
//! they use; and by `udevadm verify` where it exists.

use std::{collections::BTreeMap, process::Command};

const RULES: &str = include_str!("../../udev/70-dgt2mqtt.rules");
const RULES_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/udev/70-dgt2mqtt.rules");

#[derive(Debug, Clone, PartialEq)]
struct Token {
    /// `SUBSYSTEM`, or `ATTRS{idVendor}`.
    key: String,
    operator: &'static str,
    value: String,
}

impl Token {
    fn is_match(&self) -> bool {
        matches!(self.operator, "==" | "!=")
    }
}

/// The tokens of one rule: `KEY OP "VALUE"`, separated by commas.
fn parse(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let end = rest
            .find(['=', '!', '+', ':', '-'])
            .ok_or_else(|| format!("no operator in {rest:?}"))?;
        let (key, after) = rest.split_at(end);
        let operator = ["==", "!=", "+=", "-=", ":=", "="]
            .into_iter()
            .find(|operator| after.starts_with(operator))
            .ok_or_else(|| format!("no operator in {rest:?}"))?;
        let quoted = after[operator.len()..]
            .strip_prefix('"')
            .ok_or_else(|| format!("no quote in {rest:?}"))?;
        let (value, after) = quoted
            .split_once('"')
            .ok_or_else(|| format!("an open quote in {rest:?}"))?;
        tokens.push(Token {
            key: key.to_owned(),
            operator,
            value: value.to_owned(),
        });
        rest = match after.trim_start().strip_prefix(',') {
            Some(next) if !next.trim().is_empty() => next.trim_start(),
            Some(_) => return Err(format!("a comma at the end of {line:?}")),
            None if after.trim().is_empty() => "",
            None => return Err(format!("no comma in {rest:?}")),
        };
        check(tokens.last().expect("just pushed"))?;
    }
    Ok(tokens)
}

/// Whether udev knows the key with this operator.
fn check(token: &Token) -> Result<(), String> {
    let name = token.key.split('{').next().unwrap_or_default();
    let with_attribute = token.key.ends_with('}');
    let fits = match name {
        "ACTION" | "KERNEL" | "SUBSYSTEM" | "DRIVER" => token.is_match() && !with_attribute,
        "ATTRS" => token.is_match() && with_attribute,
        "IMPORT" => token.operator == "=" && token.key == "IMPORT{builtin}",
        "ATTR" | "ENV" => with_attribute && matches!(token.operator, "==" | "!=" | "="),
        "GOTO" | "LABEL" | "GROUP" | "MODE" => token.operator == "=" && !with_attribute,
        "TAG" | "SYMLINK" => token.operator == "+=" && !with_attribute,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{token:?} is not what udev knows"))
    }
}

fn rules() -> Vec<Vec<Token>> {
    let lines = RULES
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|line| parse(line).unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

type Properties<'a> = BTreeMap<&'a str, &'a str>;

/// Shell patterns as far as the rules use them: `|`, `*`, `?`, `[0-9]`.
fn matches(pattern: &str, text: &str) -> bool {
    fn one(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|skip| one(rest, &text[skip..])),
            [b'?', rest @ ..] => !text.is_empty() && one(rest, &text[1..]),
            [b'[', b'0', b'-', b'9', b']', rest @ ..] => {
                text.first().is_some_and(u8::is_ascii_digit) && one(rest, &text[1..])
            }
            [letter, rest @ ..] => text.first() == Some(letter) && one(rest, &text[1..]),
        }
    }
    pattern
        .split('|')
        .any(|pattern| one(pattern.as_bytes(), text.as_bytes()))
}

/// What the rules give a device: every assignment as `KEY=VALUE`.
fn apply(device: &Properties<'_>) -> Vec<String> {
    let mut seen: BTreeMap<String, String> = device
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let mut given = Vec::new();
    let mut label = None;
    for rule in rules() {
        if let Some(wanted) = &label {
            if !rule
                .iter()
                .any(|token| token.key == "LABEL" && token.value == *wanted)
            {
                continue;
            }
            label = None;
        }
        let holds = |token: &Token| {
            let value = seen.get(&token.key).map_or("", String::as_str);
            matches(&token.value, value) == (token.operator == "==")
        };
        if !rule.iter().filter(|token| token.is_match()).all(holds) {
            continue;
        }
        for token in rule.iter().filter(|token| !token.is_match()) {
            match token.key.as_str() {
                "GOTO" => label = Some(token.value.clone()),
                // What the built-in programs find is given to the test's devices.
                "LABEL" | "IMPORT{builtin}" => {}
                key => {
                    let mut value = token.value.clone();
                    for (property, known) in &seen {
                        if let Some(name) = property.strip_prefix("ENV{") {
                            value = value.replace(&format!("$env{{{name}"), known);
                        }
                    }
                    assert!(!value.contains('$'), "{value} is not known");
                    seen.insert(key.to_owned(), value.clone());
                    given.push(format!("{key}={value}"));
                }
            }
        }
    }
    given
}

fn tty<'a>(kernel: &'a str, vendor: &'a str, product: &'a str) -> Properties<'a> {
    Properties::from([
        ("ACTION", "add"),
        ("SUBSYSTEM", "tty"),
        ("KERNEL", kernel),
        ("ATTRS{idVendor}", vendor),
        ("ATTRS{idProduct}", product),
        ("ENV{ID_SERIAL_SHORT}", "A9X"),
        ("ENV{ID_PATH_TAG}", "pci-0_1"),
    ])
}

#[test]
fn every_jump_has_its_label_further_down() {
    let rules = rules();
    assert!(rules.len() > 10);
    for (at, rule) in rules.iter().enumerate() {
        for jump in rule.iter().filter(|token| token.key == "GOTO") {
            let lands = |rule: &Vec<Token>| {
                rule.iter()
                    .any(|token| token.key == "LABEL" && token.value == jump.value)
            };
            assert!(rules[at..].iter().any(lands), "{jump:?}");
        }
    }
}

#[test]
fn a_board_gets_permission_names_and_peace() {
    for device in [tty("ttyUSB0", "0403", "6001"), tty("ttyACM3", "045b", "8111")] {
        let given = apply(&device);
        for wanted in [
            "ENV{ID_MM_PORT_IGNORE}=1",
            "GROUP=dialout",
            "MODE=0660",
            "TAG=uaccess",
            "SYMLINK=dgt2mqtt/usb-A9X",
            "SYMLINK=dgt2mqtt/path-pci-0_1",
        ] {
            assert!(
                given.iter().any(|got| got == wanted),
                "{wanted} is not in {given:?}"
            );
        }
    }
}

#[test]
fn a_board_by_chessnut_gets_permission_and_names_and_no_other_hid_device_does() {
    let hid = |vendor, product| {
        let mut device = tty("hidraw3", vendor, product);
        device.insert("SUBSYSTEM", "hidraw");
        device.insert("ATTRS{idProduct}", product);
        device
    };
    let given = apply(&hid("2d80", "8003"));
    for wanted in [
        "GROUP=dialout",
        "MODE=0660",
        "TAG=uaccess",
        "SYMLINK=dgt2mqtt/hid-A9X",
        "SYMLINK=dgt2mqtt/hid-path-pci-0_1",
    ] {
        assert!(
            given.iter().any(|got| got == wanted),
            "{wanted} is not in {given:?}"
        );
    }
    // A keyboard, and a tablet of the same vendor id.
    for (vendor, product) in [("046d", "c31c"), ("2d80", "3013")] {
        assert_eq!(apply(&hid(vendor, product)), [""; 0]);
    }
}

#[test]
fn an_adapter_without_serial_number_is_named_by_its_socket_only() {
    let mut device = tty("ttyUSB0", "0403", "6001");
    device.remove("ENV{ID_SERIAL_SHORT}");
    let names: Vec<_> = apply(&device)
        .into_iter()
        .filter(|got| got.starts_with("SYMLINK"))
        .collect();
    assert_eq!(names, ["SYMLINK=dgt2mqtt/path-pci-0_1"]);
}

#[test]
fn other_devices_and_removals_are_left_alone() {
    assert_eq!(apply(&tty("ttyUSB0", "067b", "2303")), [""; 0]);
    assert_eq!(apply(&tty("ttyS0", "0403", "6001")), [""; 0]);
    let mut removed = tty("ttyUSB0", "0403", "6001");
    removed.insert("ACTION", "remove");
    assert_eq!(apply(&removed), [""; 0]);
}

#[test]
fn modem_manager_is_told_of_the_whole_device() {
    let device = |vendor, product| {
        Properties::from([
            ("ACTION", "add"),
            ("SUBSYSTEM", "usb"),
            ("ENV{DEVTYPE}", "usb_device"),
            ("ATTR{idVendor}", vendor),
            ("ATTR{idProduct}", product),
        ])
    };
    for (vendor, product) in [("0403", "6001"), ("045b", "8111"), ("04d8", "000a")] {
        assert_eq!(apply(&device(vendor, product)), ["ENV{ID_MM_DEVICE_IGNORE}=1"]);
    }
    assert_eq!(apply(&device("12d1", "1506")), [""; 0]);
    // A board by Chessnut has no serial port.
    assert_eq!(apply(&device("2d80", "8003")), [""; 0]);
}

#[test]
fn ftdi_passes_bytes_on_sooner_and_bluetooth_is_no_modem() {
    let port = Properties::from([
        ("ACTION", "add"),
        ("SUBSYSTEM", "usb-serial"),
        ("DRIVER", "ftdi_sio"),
        ("ATTRS{idVendor}", "0403"),
        ("ATTRS{idProduct}", "6001"),
    ]);
    assert_eq!(apply(&port), ["ATTR{latency_timer}=4"]);
    let bluetooth = Properties::from([("ACTION", "add"), ("SUBSYSTEM", "tty"), ("KERNEL", "rfcomm0")]);
    let given = apply(&bluetooth);
    assert!(
        given.contains(&"ENV{ID_MM_PORT_IGNORE}=1".to_owned()),
        "{given:?}"
    );
}

#[test]
fn the_syntax_check_finds_mistakes() {
    for wrong in [
        "SUBSYSTEM=\"tty\"",
        "SUBSYSTEM==tty",
        "SUBSYSTEM==\"tty\" MODE=\"0660\"",
        "SUBSYSTEM==\"tty\",",
        "SUBSISTEM==\"tty\"",
        "ATTRS==\"x\"",
        "MODE==\"0660\"",
        "TAG=\"uaccess\"",
        "KERNEL==\"ttyUSB0",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn udev_accepts_the_rules() {
    let knows_verify = Command::new("udevadm")
        .args(["verify", "--help"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !knows_verify {
        skipped!("this udevadm has no verb verify (systemd 254 has)");
        return;
    }
    let output = Command::new("udevadm")
        .args(["verify", "--no-style", RULES_PATH])
        .output()
        .expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
