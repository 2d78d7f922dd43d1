//! The command `cargo xtask`; [`USAGE`] lists the tasks.

use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use xtask::generate::Parts;
use xtask::{
    bench, ci, commits, container, debian, dist, generate, instructions, mutants, program, prose, python,
    rtl, same_tables, tidy, wheel,
};

const USAGE: &str = "\
cargo xtask ci                   run all checks that a change must pass
cargo xtask STEP                 run one step of ci: fmt, clippy, test, dctcp, fuzz, circuits, doc, smoke, count, python, site
cargo xtask smoke --release      run the step smoke with the release build
cargo xtask python --release     run the step python with the release build of the extension module
cargo xtask generate [--check] [--all|PART...]
                                 write the generated documents, or report stale ones; PART is a crate whose tests
                                 compare documents, --all means all crates; the default is those that take seconds
cargo xtask mutants [OPTION]...  check that the tests detect changes of the pure crates' sources (docs/internals/vectors.md):
    --sample N [--seed S]        N mutants chosen by a seed (20, 1)     --all      every mutant
    --package NAME               only this crate; may repeat            --resume   only mutants that earlier runs lack
    --timeout S                  a test that runs longer hangs (300)    --list     only print the mutants
cargo xtask same-tables [--quick] OLD_CHECKOUT [SCENARIO...]
                                 run the scenarios here and there, and compare their tables byte for byte
cargo xtask same-threads [--quick] [SCENARIO...]
                                 run the scenarios on 1, 2, 3 and 8 threads, and compare their tables byte for byte
cargo xtask bench                run the fixed set of benchmarks; write docs/evidence/benchmark.md and xtask/bench.csv (twenty minutes on an idle machine)
cargo xtask bench --peer 'COMMAND' [--runs N]
                                 simulate three flow lists here and with COMMAND in turn, and print the ratios of CPU times;
                                 {list} and {flows} in COMMAND are the name and the file of a list (5)
cargo xtask dist [--wheel]       build the program or the wheel with the profile of a training run, in target/dist (docs/evidence/performance.md)
cargo xtask wheel                build the Python wheel for an old glibc, check its symbols and size, and try it without Rust
cargo xtask deb [--try]          build the Debian packages in target/debian (docs/internals/publishing.md); --try, as root: install them in
                                 a new Debian system, run commands there, and check that the removed packages leave nothing
cargo xtask container [--program FILE]
                                 as root, execute the steps of packaging/Containerfile in Debian systems, and try the image;
                                 --program takes a built program instead of compiling
cargo xtask instructions [--record]
                                 compare instructions per packet-hop with xtask/instructions.toml, or record them (docs/evidence/performance.md)
cargo xtask fuzz [--subject scenarios|parsers] [--seed N|--fresh] [--budget 10m] [--cases N] [--jobs N]
                                 search for defects with unusual scenarios and damaged files; `play FILE`, `input FILE` and `batch SEED N`
                                 repeat a case; `faults` makes calls of the program fail, `fault SEED N` repeats one;
                                 without options, run the step of `ci` in the build of the tests (docs/internals/vectors.md)
cargo xtask soak [--budget 2h] [--seed N] [--resume]
                                 run all searches, faults and kills in turn, with fresh seeds; write a table of cases and findings to target/soak
cargo xtask headroom-search [NETWORKS [SEED]]
                                 try to lose a lossless packet with the model's headroom (1000, 1; docs/concepts/lossless.md)
cargo xtask rtl [STEP] [--quick] [CIRCUIT...]
                                 compare circuits with their policies: lint, cosim, prove, mutants, cost, depth (docs/internals/circuits.md)
cargo xtask site                 build the documentation as a site in target/site/html, with search, menu and gallery; check every link
cargo xtask commit-message FILE  check the message of a commit; to install the hook: git config core.hooksPath .githooks
cargo xtask prose [PART]         list violations of the language rules; --record writes lower numbers into xtask/prose.csv,
                                 --sample SEED draws lines and sentences for a person to judge
cargo xtask tidy                 check links, references, sizes, long functions, words, pages, vectors and dependencies between crates
";

/// Runs the engine's headroom test with many networks, in the build profile `search`.
fn headroom_search(networks: &str, seed: &str) -> Result<(), String> {
    let test = [
        "test",
        "--profile",
        "search",
        "-p",
        "bufferlab-sim",
        "--test",
        "suite",
        "--",
        "headroom_search::",
        "--nocapture",
    ];
    xtask::run(xtask::cargo(&test).env("HEADROOM_NETWORKS", networks).env("HEADROOM_SEED", seed))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("\"{text}\", expected a number"))
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["ci"] => ci::all(),
        ["generate"] => generate::write(Parts::Quick),
        ["generate", "--all"] => generate::write(Parts::All),
        ["generate", "--check"] => generate::check(Parts::Quick),
        ["generate", "--check", "--all"] => generate::check(Parts::All),
        ["generate", "--check", ref parts @ ..] => generate::check(Parts::Of(parts)),
        ["generate", ref parts @ ..] => generate::write(Parts::Of(parts)),
        ["mutants", ref options @ ..] => mutants::Options::parse(options).and_then(|o| mutants::run(&o)),
        ["same-tables", "--quick", old, ref only @ ..] => same_tables::check(Path::new(old), only, true),
        ["same-tables", old, ref only @ ..] => same_tables::check(Path::new(old), only, false),
        ["same-threads", "--quick", ref only @ ..] => same_tables::check_threads(&[2, 3, 8], only, true),
        ["same-threads", ref only @ ..] => same_tables::check_threads(&[2, 3, 8], only, false),
        ["bench"] => bench::run(3),
        ["bench", "--peer", command] => bench::beside(command, const { NonZero::new(5).unwrap() }),
        ["bench", "--peer", command, "--runs", runs] => {
            let runs = runs.parse().map_err(|_| format!("--runs \"{runs}\": expected a number from 1 on"));
            runs.and_then(|runs| bench::beside(command, runs))
        }
        ["dist"] => dist::build(false),
        ["dist", "--wheel"] => dist::build(true),
        ["wheel"] => wheel::build(),
        ["deb"] => debian::build(false),
        ["deb", "--try"] => debian::build(true),
        ["container"] => container::build(None),
        ["container", "--program", file] => container::build(Some(Path::new(file))),
        ["instructions"] => instructions::check(false),
        ["instructions", "--record"] => instructions::check(true),
        ["headroom-search"] => headroom_search("1000", "1"),
        ["headroom-search", networks] => headroom_search(networks, "1"),
        ["headroom-search", networks, seed] => headroom_search(networks, seed),
        ["fuzz", _, ..] => ci::fuzz("search", &arguments[1..]),
        ["soak", ref options @ ..] => ci::soak(options),
        ["rtl", ref arguments @ ..] => rtl::run(arguments),
        ["tidy"] => tidy::check(),
        ["commit-message", file] => commits::check_message(file),
        ["prose", "--record"] => prose::record(),
        ["prose", "--sample", seed] => number(seed).and_then(prose::show),
        ["prose"] => prose::list(""),
        ["prose", part] => prose::list(part),
        ["smoke", "--release"] => ci::smoke(program::Build::Release),
        ["python", "--release"] => python::check(program::Build::Release),
        [name] if ci::step(name).is_some() => ci::step(name).map_or(Ok(()), ci::run),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
