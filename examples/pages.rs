//! Writes the man pages and the completions for bash, zsh and fish, as the packages have them:
//! `cargo run --example pages -- FOLDER`. The program itself does not carry what is needed for that.

use std::{env, fs, io, path::PathBuf};

use clap_complete::Shell;

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other(
            "say into which folder: cargo run --example pages -- FOLDER",
        ));
    };
    let man = folder.join("man");
    fs::create_dir_all(&man)?;
    // `help` of each command says the same as its page.
    clap_mangen::generate_to(dgt2mqtt::cli::command().disable_help_subcommand(true), man)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let folder = folder.join(shell.to_string());
        fs::create_dir_all(&folder)?;
        clap_complete::generate_to(shell, &mut dgt2mqtt::cli::command(), "dgt2mqtt", folder)?;
    }
    Ok(())
}
