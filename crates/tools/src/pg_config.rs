//! `pg_config`: where things are, and how they were made.

const NAME: &str = "pg_config";

/// The program.
pub fn main(args: &[String]) -> i32 {
    if args.iter().any(|a| a == "--help" || a == "-?") {
        println!();
        print!("{}", include_str!("../data/help/pg_config.txt").trim_start());
        return 0;
    }
    let all = base::build::settings();
    if args.is_empty() {
        all.iter().for_each(|(name, value)| println!("{name} = {value}"));
        return 0;
    }
    for arg in args {
        let wanted = arg.strip_prefix("--").unwrap_or_default().to_uppercase();
        match all.iter().find(|(name, _)| *name == wanted) {
            Some((_, value)) => println!("{value}"),
            None => {
                eprintln!("{NAME}: invalid argument: {arg}");
                eprintln!("Try \"{NAME} --help\" for more information.");
                return 1;
            }
        }
    }
    0
}
