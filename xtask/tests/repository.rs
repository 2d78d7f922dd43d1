//! Runs the checks of `cargo xtask tidy` and `cargo xtask generate --check` as tests.
//! Tests of `bufferlab-conformance` check the parameters on the policies' pages.

use std::collections::BTreeSet;
use xtask::{cargo, generate, output, tidy};

#[test]
fn the_repository_is_tidy() {
    tidy::check().unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn derived_files_are_fresh() {
    let derived = generate::derived().unwrap_or_else(|problem| panic!("{problem}"));
    let stale: Vec<_> = generate::stale(&derived).into_iter().map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "stale: {stale:?}; hint: run `cargo xtask generate`");
}

/// Returns packages with their enabled features, for a cargo command on the packages that
/// `arguments` select.
fn built_with(arguments: &[&str]) -> BTreeSet<String> {
    let mut tree = cargo(&["tree", "--offline", "--prefix", "none", "--format", "{p} [{f}]"]);
    let text = output(tree.args(arguments)).unwrap_or_else(|problem| panic!("{problem}"));
    let text = String::from_utf8(text).expect("package names are text");
    text.lines().map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", "")).collect()
}

/// All builds must enable equal features. Otherwise cargo would rebuild half of the dependencies
/// for the program, the Python package, xtask, and the walk-throughs in `docs/extend`.
#[test]
fn tests_and_programs_share_what_is_built() {
    let programs: [(&[&str], &str); 8] = [
        (&["--package", "bufferlab-cli"], "normal,build"),
        (&["--package", "bufferlab-cli", "--features", "dctcp"], "normal,build"),
        (&["--package", "bufferlab-python"], "normal,build"),
        (&["--package", "bufferlab-fuzz"], "normal,build"),
        (&["--package", "bufferlab-circuits"], "normal,build"),
        (&["--package", "bufferlab-circuits"], "normal,build,dev"),
        (&["--package", "xtask"], "normal,build"),
        (&["--package", "bufferlab-results"], "normal,build,dev"),
    ];
    // CI also builds the testbed's DCTCP, if the machine can build it.
    for features in [&[][..], &["--features", "bufferlab-cli/dctcp"]] {
        let workspace = ["--workspace", "--edges", "normal,build,dev"];
        let tests = built_with(&[&workspace[..], features].concat());
        for (package, edges) in programs {
            // These two crates declare the feature `dctcp`, and every CI step builds them with this
            // feature.
            let own = ["bufferlab-cli", "bufferlab-testbed"];
            let is_own = |line: &&String| own.iter().any(|own| line.starts_with(&format!("{own} ")));
            if features.is_empty() && package.contains(&"dctcp") {
                continue;
            }
            let program = built_with(&[package, &["--edges", edges]].concat());
            let apart: Vec<_> =
                program.difference(&tests).filter(|line| features.is_empty() || !is_own(line)).collect();
            assert!(
                apart.is_empty(),
                "{package:?} is built with other features than the tests {features:?}: {apart:#?}; hint: add what is missing to dev/workspace-hack/Cargo.toml"
            );
        }
    }
}
