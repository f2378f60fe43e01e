//! `dgt2mqtt init`: finds boards and a broker, and writes the first configuration.

mod ask;
mod find;
mod text;

use std::{
    fs::{self, File},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, builder::PossibleValuesParser};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{check, names, output::replaceable, reach};
use crate::{
    config::{BrokerUrl, Config, Env, Id, OF_THE_UNIT, STATE_OF_THE_UNIT},
    families::Protocol,
    mqtt::host,
};
use ask::Dialog;
use find::{AtPort, Named, PortCandidate};
use text::Wanted;

/// What a person must do before the daemon can open a board by Chessnut.
const HID: &str = "Before that: the unit opens no HID devices, among which keyboards are. For the board by Chessnut write\n\n    \
                   [Service]\n    DeviceAllow=char-hidraw rw\n\ninto what opens with: sudo systemctl edit dgt2mqtt";

/// Find boards and a broker, and write a configuration with comments.
///
/// At a terminal it asks; elsewhere, and with --yes, it takes what it finds and what the options say.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// Where to write; else $DGT2MQTT_CONFIG, for root the one in /etc, for others the one of the user
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of this gateway in topics; else made of the machine's name
    #[arg(long)]
    name: Option<Id>,
    /// A board's port, as in the configuration; may be given several times. Who is there is found out, unless it is said before: dgt=PORT,
    /// line=PORT, chesslink=PORT, chessnut=PORT, occ1=PORT. Without it ports that look like a board are asked
    #[arg(long, short, value_name = "[WHAT=]PORT")]
    port: Vec<Named>,
    /// Address of the broker; may be given several times. Else one is looked for on this machine, and at a terminal also where others usually are
    #[arg(long, value_name = "URL")]
    broker: Vec<BrokerUrl>,
    /// User at the broker
    #[arg(long)]
    username: Option<String>,
    /// File that holds the password and nothing else
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,
    /// Let the password go to a broker without TLS on another machine: in a network that nobody else can enter
    #[arg(long, requires = "password_file")]
    password_in_clear: bool,
    /// Time control: decides which rules apply
    #[arg(long, value_parser = PossibleValuesParser::new(names::TIME_CONTROLS))]
    time_control: Option<String>,
    /// Take the commands of arbiters
    #[arg(long)]
    commands: bool,
    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
    /// Ask nothing
    #[arg(long, short)]
    yes: bool,
}

impl Init {
    pub(super) fn run(self) -> anyhow::Result<()> {
        if !self.yes && io::stdin().is_terminal() && io::stderr().is_terminal() {
            self.write(Dialog::With(&mut io::stdin().lock()))
        } else {
            self.write(Dialog::None)
        }
    }

    fn write(self, mut dialog: Dialog<'_>) -> anyhow::Result<()> {
        let env = Env::from_process();
        let path = match &self.config {
            Some(path) => path.clone(),
            None => usual_place(&env),
        };
        let replace = self.may_replace(&path, &mut dialog)?;
        let wanted = self.wanted(&mut dialog)?;
        let text = wanted.text();
        let has_hid = wanted.has_hid();
        // The file does not have what the environment of this shell overrides.
        let config = Config::from_text(&text, &path, &Env::from([("STATE_DIRECTORY", STATE_OF_THE_UNIT)]))?;
        try_brokers(&config);
        if !dialog.agrees(&format!("Write {}?", path.display()), true)? {
            bail!("nothing was written");
        }
        put(&path, &text, replace)?;
        eprintln!("\n{} is written. {}", path.display(), next(&path));
        if has_hid && path == Path::new(OF_THE_UNIT) {
            eprintln!("{HID}");
        }
        Ok(())
    }

    /// True where an existing file may be replaced. Without an answer to that the file stays.
    fn may_replace(&self, path: &Path, dialog: &mut Dialog<'_>) -> anyhow::Result<bool> {
        if self.force || fs::symlink_metadata(path).is_err() {
            return Ok(self.force);
        }
        if matches!(dialog, Dialog::With(_))
            && dialog.agrees(
                &format!("{} is there already. Replace it?", path.display()),
                false,
            )?
        {
            return Ok(true);
        }
        bail!(
            "{} is there already and was left as it is; --force replaces it, --config FILE writes another one",
            path.display()
        )
    }

    /// What to write: from the arguments, from what was found, and from the answers.
    fn wanted(self, dialog: &mut Dialog<'_>) -> anyhow::Result<Wanted> {
        let (boards, silent) = boards(&self.port, dialog)?;
        let name = match self.name {
            Some(name) => name,
            None => dialog.value("Name of this gateway", named_after_machine(&host())?)?,
        };
        let time_control = match self.time_control {
            Some(control) => control,
            None => dialog.one_of("Time control", &names::TIME_CONTROLS)?.to_owned(),
        };
        let brokers = match self.broker.is_empty() {
            false => self.broker,
            true => vec![broker(dialog)?],
        };
        let password_in_clear = match brokers.iter().find(|url| url.is_readable()) {
            Some(open) if self.password_file.is_some() => {
                may_be_read(open, self.password_in_clear, dialog)?;
                true
            }
            _ => false,
        };
        let commands = self.commands || dialog.agrees("May arbiters send commands by MQTT?", false)?;
        let password_file = self.password_file.map(std::path::absolute).transpose();
        Ok(Wanted {
            name,
            boards,
            silent,
            time_control,
            brokers,
            username: self.username,
            password_file: password_file.context("the folder of the password cannot be found")?,
            password_in_clear,
            commands,
        })
    }
}

/// Ends with a message unless the password may go to `open`, a broker without TLS on another machine.
fn may_be_read(open: &BrokerUrl, is_allowed: bool, dialog: &mut Dialog<'_>) -> anyhow::Result<()> {
    let question = format!(
        "The password would go to {open} unencrypted, for anybody on the network to read. Is it a network that nobody else can enter?"
    );
    if is_allowed || dialog.agrees(&question, false)? {
        return Ok(());
    }
    bail!(
        "nothing was written: the password would go to {open} unencrypted, for anybody on the network to read. Name a broker \
         by mqtts://; in a network that nobody else can enter, --password-in-clear allows it"
    )
}

/// The broker: this offers one that it finds. Beyond this machine it looks for one only where a person sees the name
/// before it is taken.
fn broker(dialog: &mut Dialog<'_>) -> anyhow::Result<BrokerUrl> {
    let mut found = find::brokers(&find::BROKERS_HERE);
    if found.is_empty() && matches!(dialog, Dialog::With(_)) {
        eprintln!("No broker listens on this machine; looking where one usually is...");
        found = find::brokers(&find::BROKERS_ELSEWHERE);
    }
    for url in &found {
        eprintln!("{url}: something listens there");
    }
    let offered = found.into_iter().next().unwrap_or_default();
    dialog.value("Address of the broker", offered)
}

/// The boards, and the ports at which no board answered.
fn boards(
    given: &[Named],
    dialog: &mut Dialog<'_>,
) -> anyhow::Result<(Vec<PortCandidate>, Vec<PortCandidate>)> {
    let mut places = if given.is_empty() {
        find::attached()?
    } else {
        given.iter().map(find::given).collect()
    };
    for place in &mut places {
        eprintln!("{}: {}", place.port, place.said);
        if given.is_empty() {
            look_closer(place, dialog)?;
        }
    }
    let (mut boards, silent): (Vec<_>, Vec<_>) = places
        .into_iter()
        .partition(|place| place.answers || !given.is_empty() && matches!(place.what, AtPort::Board(_)));
    if boards.is_empty() {
        let Dialog::With(_) = dialog else {
            bail!(
                "no board was found, and nothing was written: plug one in and switch it on, or name its port with --port \
                 (dgt2mqtt ports lists what is there)"
            );
        };
        eprintln!("No board was found. In another terminal dgt2mqtt ports lists what is there.");
        boards.push(find::given(&dialog.required("Port of the board")?));
    }
    Ok((boards, silent))
}

/// Asks the person about a port that looks like a board's and at which no DGT board answers.
fn look_closer(place: &mut PortCandidate, dialog: &mut Dialog<'_>) -> anyhow::Result<()> {
    let others = "Ask there for boards that share a line, and as boards of other makers are asked? Not if something else may hang there.";
    if place.is_silent && place.what == AtPort::Board(Protocol::Dgt) {
        if matches!(dialog, Dialog::None) {
            eprintln!(
                "    --port {} asks there for boards that share a line and for those of other makers, too",
                place.port
            );
        } else if dialog.agrees(others, false)? {
            place.ask_others();
            eprintln!("{}: {}", place.port, place.said);
        }
    }
    if !place.answers && matches!(place.what, AtPort::Board(_)) {
        // The board may be switched on later.
        place.answers = dialog.agrees(&format!("Watch {} all the same?", place.port), false)?;
    }
    Ok(())
}

/// The path of the configuration: `$DGT2MQTT_CONFIG`. Else it is where the unit looks, for root, and where the user's
/// own programs look, for others.
fn usual_place(env: &Env) -> PathBuf {
    if let Some(path) = env.get("DGT2MQTT_CONFIG") {
        return PathBuf::from(path);
    }
    if rustix::process::geteuid().is_root() {
        return PathBuf::from(OF_THE_UNIT);
    }
    // The first candidate is in the working folder, and the last one in the system's.
    let candidates = env.config_candidates();
    candidates
        .into_iter()
        .nth(1)
        .unwrap_or_else(|| PathBuf::from(OF_THE_UNIT))
}

/// A name made from the machine's, without the characters that a topic cannot have.
fn named_after_machine(host: &str) -> anyhow::Result<Id> {
    let host = host.split('.').next().unwrap_or_default().to_lowercase();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = host.chars().filter(fits).take(32).collect();
    let name = if name.is_empty() { "hall".to_owned() } else { name };
    Ok(name.parse()?)
}

/// Tells which brokers accept us. A broker that does not may do so later, so the command goes on.
fn try_brokers(config: &Config) {
    for url in &config.broker.urls {
        match check::connect_tcp(url).and_then(|()| reach::session(config, url)) {
            Ok(words) => eprintln!("{url}: {words}"),
            Err(wrong) => {
                eprintln!("{url}: {wrong}\n    the daemon keeps what it sees until a broker takes it");
            }
        }
    }
}

/// Writes the file whole or not at all, and over an existing one only with `replace`. A link stays a link, and the file
/// behind it is replaced.
fn put(path: &Path, text: &str, replace: bool) -> anyhow::Result<()> {
    let real = match path.is_symlink() && replace {
        true => fs::canonicalize(path)
            .with_context(|| format!("{} is a link that leads nowhere: remove it", path.display()))?,
        false => path.to_owned(),
    };
    let path = real.as_path();
    replaceable(path)?;
    let what = || {
        format!(
            "cannot write {}: give another place with --config, or use sudo",
            path.display()
        )
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::create_dir_all(folder).with_context(what)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let flags = if replace {
        RenameFlags::empty()
    } else {
        RenameFlags::NOREPLACE
    };
    let written = File::create_new(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| Ok(renameat_with(CWD, &beside, CWD, path, flags)?));
    if written.is_err() {
        let _ = fs::remove_file(&beside); // it may not be there
    }
    written.with_context(what)
}

/// Tells what to do next.
fn next(path: &Path) -> String {
    if path == Path::new(OF_THE_UNIT) {
        return "Start the daemon: sudo systemctl start dgt2mqtt".to_owned();
    }
    format!("Start the daemon: dgt2mqtt run --config {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines_become_names_of_gateways() {
        for (host, name) in [
            ("raspberrypi", "raspberrypi"),
            ("Hall-2.club.example", "hall-2"),
            ("Зал", "hall"),
            ("another machine", "anothermachine"),
        ] {
            assert_eq!(named_after_machine(host).expect(host).as_str(), name);
        }
        let long = named_after_machine(&"a".repeat(64)).expect("a name");
        assert_eq!(long.as_str().len(), 32);
    }

    #[test]
    fn nothing_is_replaced_without_a_word() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/dgt2mqtt.toml");
        put(&path, "first", false).expect("written");
        put(&path, "second", false).expect_err("it is there");
        assert_eq!(fs::read_to_string(&path).expect("text"), "first");
        put(&path, "third", true).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("text"), "third");
        assert_eq!(
            fs::read_dir(folder.path().join("new")).expect("a folder").count(),
            1
        );
    }

    #[test]
    fn a_link_stays_one() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let (kept, link) = (
            folder.path().join("git/hall.toml"),
            folder.path().join("dgt2mqtt.toml"),
        );
        symlink(&kept, &link).expect("a link");
        let said = put(&link, "first", true)
            .expect_err("it leads nowhere")
            .to_string();
        assert!(said.contains("leads nowhere: remove it"), "{said}");
        put(&kept, "first", false).expect("written");
        put(&link, "second", false).expect_err("it is there");
        put(&link, "third", true).expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&kept).expect("text"), "third");
    }
}
