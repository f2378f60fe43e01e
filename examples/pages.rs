//! Writes the man pages and the completions for bash, zsh and fish, as the packages have them:
//! `cargo run --example pages -- FOLDER`. The program itself does not carry what is needed for that.

use std::{env, fs, io, path::PathBuf};

use clap::Command;
use clap_complete::Shell;

/// What the packaged program is built without, see `scripts/package.sh`.
const LEFT_OUT: &str = "demo";

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other(
            "say into which folder: cargo run --example pages -- FOLDER",
        ));
    };
    let man = folder.join("man");
    fs::create_dir_all(&man)?;
    // `help` of each command says the same as its page.
    clap_mangen::generate_to(packaged().disable_help_subcommand(true), man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let folder = folder.join(shell.to_string());
        fs::create_dir_all(&folder)?;
        clap_complete::generate_to(shell, &mut packaged(), "dgt2mqtt", folder)?;
    }
    Ok(())
}

/// The command line of the packaged program.
fn packaged() -> Command {
    let all = dgt2mqtt::cli::command();
    let commands = all
        .get_subcommands()
        .filter(|command| command.get_name() != LEFT_OUT);
    Command::new("dgt2mqtt")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(all.get_about().cloned().unwrap_or_default())
        .subcommand_required(true)
        .subcommands(commands.cloned().collect::<Vec<_>>())
}
