//! The `galley` program.

fn main() {
    std::process::exit(galley_cli::main(std::env::args_os()))
}
