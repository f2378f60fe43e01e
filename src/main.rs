//! The program: everything is in the library.

fn main() -> std::process::ExitCode {
    dgt2mqtt::cli::main()
}
