//! `cargo xtask`: see [`USAGE`].

use std::path::Path;
use std::process::ExitCode;
use xtask::generate::Parts;
use xtask::{
    bench, ci, commits, dist, generate, instructions, mutants, prose, python, rtl, same_tables, tidy,
};

const USAGE: &str = "\
cargo xtask ci                   everything that must pass before a change lands
cargo xtask STEP                 one of its steps: fmt, clippy, test, dctcp, fuzz, circuits, doc, smoke, count, python, site
cargo xtask smoke --release      the same with the program as people use it
cargo xtask python --release     the same with the extension module as people install it
cargo xtask generate [--check] [--all|PART...]
                                 write the generated documents, or report which are stale; PART is a crate whose tests
                                 know documents, --all is every one; without either, those that take seconds
cargo xtask mutants [OPTION]...  whether the tests notice changes of the pure crates' sources (docs/internals/vectors.md):
    --sample N [--seed S]        N mutants chosen by a seed (20, 1)     --all      every mutant
    --package NAME               of this crate only; may repeat         --resume   what an earlier run has not done
    --timeout S                  a test that runs longer hangs (300)    --list     print them only
cargo xtask same-tables [--quick] OLD_CHECKOUT [SCENARIO...]
                                 run the scenarios here and there, and compare their tables byte for byte
cargo xtask same-threads [--quick] [SCENARIO...]
                                 run the scenarios on 1, 2, 3 and 8 threads, and compare their tables byte for byte
cargo xtask bench                the fixed set of runs, as docs/evidence/benchmark.md and xtask/bench.csv: twenty minutes on an idle machine
cargo xtask dist [--wheel]       the program or the wheel, compiled with the profile of a training run, in target/dist (docs/evidence/performance.md)
cargo xtask instructions [--record]
                                 instructions per packet-hop against xtask/instructions.toml, or record them (docs/evidence/performance.md)
cargo xtask fuzz [--subject scenarios|parsers] [--seed N|--fresh] [--budget 10m] [--cases N] [--jobs N]
                                 scenarios that nobody would write and damaged files, with every check on; `play FILE`, `input FILE` and
                                 `batch SEED N` repeat a case; `faults` lets calls of the program fail, `fault SEED N` repeats one;
                                 without options the step of `ci` in the build of the tests (docs/internals/vectors.md)
cargo xtask soak [--budget 2h] [--seed N] [--resume]
                                 all searches, faults and kills in turn, with fresh seeds; a table of cases and findings in target/soak
cargo xtask headroom-search [NETWORKS [SEED]]
                                 try to lose a lossless packet with the model's headroom (1000, 1; docs/concepts/lossless.md)
cargo xtask rtl [STEP] [--quick] [CIRCUIT...]
                                 circuits against the policies: lint, cosim, prove, mutants, cost, depth (docs/internals/circuits.md)
cargo xtask site                 the documentation as a site, in target/site/html: search, menu, gallery; every link is checked
cargo xtask commit-message FILE  whether the message of a commit keeps the rules; a hook: git config core.hooksPath .githooks
cargo xtask prose [PART]         where the language breaks the rules that a program can check; --record writes lower numbers into
                                 xtask/prose.csv, --sample SEED draws lines and sentences to be judged by a person
cargo xtask tidy                 links, references, sizes, long functions, words, pages and vectors, the arrows between crates
";

/// The engine's test of headroom at length, in the build of searches.
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
        ["dist"] => dist::build(false),
        ["dist", "--wheel"] => dist::build(true),
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
        ["smoke", "--release"] => ci::smoke(python::Build::Release),
        ["python", "--release"] => python::check(python::Build::Release),
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
