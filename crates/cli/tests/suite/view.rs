//! Tests of `run --packets` and `view`: recorded events, written files,
//! and messages about missing data.

use crate::support::Desk;

/// Output of a command that fails. The output is on stderr and has a hint.
fn refused(desk: &Desk, args: &[&str]) -> String {
    let output = desk.output(args);
    assert_eq!(output.status.code(), Some(1), "{}", desk.terminal(args));
    let said = crate::support::text(&output.stderr);
    assert!(said.contains("help: "), "{said}");
    said
}

#[test]
fn a_recorded_run_becomes_a_page_and_traces_and_what_is_missing_is_said() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--packets", "--out", "with"]);
    desk.succeed(&["run", "tiny.toml", "--out", "without"]);
    assert!(desk.path("with/packets.parquet").is_file() && !desk.path("without/packets.parquet").exists());
    for (args, file, content) in [
        (&["view", "with", "--out", "view.html"][..], "view.html", "id=\"view-data\""),
        (&["view", "with", "--trace", "perfetto", "--out", "trace.json"], "trace.json", "\"traceEvents\""),
    ] {
        assert_eq!(desk.succeed(args).trim(), file);
        let text = std::fs::read_to_string(desk.path(file)).expect("it is written");
        assert!(text.contains(content), "{file}");
        assert!(
            !text.contains("http://") || !text.contains("src=\"http"),
            "nothing is loaded from elsewhere"
        );
    }
    let said = refused(&desk, &["view", "tiny.toml"]);
    assert!(said.contains("bufferlab run tiny.toml --packets"), "{said}");
    let said = refused(&desk, &["view", "with", "--switch", "leaf"]);
    assert!(said.contains("no switch \"leaf\"") && said.contains("switches: switch"), "{said}");
    let said = refused(&desk, &["view", "without", "--trace", "pcapng", "--out", "run.pcapng"]);
    assert!(said.contains("run again with --packets") && !desk.path("run.pcapng").exists(), "{said}");
    let said = refused(&desk, &["view", "."]);
    assert!(said.contains("several runs") && said.contains("with"), "{said}");
    let said = refused(&desk, &["run", "tiny.toml", "--packets=leaf"]);
    assert!(said.contains("output.packets: there is no switch \"leaf\""), "{said}");
}

#[test]
fn a_run_with_packets_is_the_same_again_and_verifies() {
    let desk = Desk::with_tiny();
    for out in ["one", "two"] {
        desk.succeed(&["run", "tiny.toml", "--packets=switch", "--out", out]);
    }
    let (one, two) = (desk.files("one"), desk.files("two"));
    assert!(one["packets.parquet"].len() > 10_000 && one["packets.parquet"] == two["packets.parquet"]);
    desk.succeed(&["verify", "one"]);
}
