//! Files that somebody else wrote: what they may not do to the reader of an error, or to the folder next door.

use crate::common::{owned, render};
use bufferlab_scenario::{LoadError, load_text};
use std::path::Path;

const BASE: &str = "duration = \"1 ms\"\n[topology]\nkind = \"single_switch\"\nhosts = 2\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n\
    [switch]\nbuffer = \"1 MB\"\npolicy = \"dt\"\n[[transport]]\ncongestion_control = \"newreno\"\n\
    [[workload]]\nkind = \"poisson\"\nload = 0.1\nsizes = \"web_search\"\n";

fn refusal(text: &str) -> LoadError {
    match load_text(Path::new("given.toml"), text, &owned(&[])) {
        Ok(_) => panic!("it loads, and was to be refused"),
        Err(error) => error,
    }
}

#[test]
fn a_name_is_never_a_path() {
    let long = "x".repeat(121);
    for name in ["../../x", "/abs/dir", "a/b", "a\\\\b", "..", ".", "", long.as_str()] {
        let error = refusal(&format!("name = \"{name}\"\n{BASE}"));
        let of_name = error.problems().iter().find(|problem| problem.key() == "name").expect(name);
        assert_eq!(of_name.line(), Some(1), "{name}");
    }
    let fitting = load_text(Path::new("given.toml"), &format!("name = \"a.b c-1\"\n{BASE}"), &owned(&[]));
    assert!(!matches!(fitting, Err(error) if error.problems().iter().any(|problem| problem.key() == "name")));
}

#[test]
fn what_steers_a_terminal_is_refused_and_never_repeated() {
    for key in
        ["name = \"\\u001b[2J\"", "description = \"a\\u202eb\"", "\"\\u001b[2J\" = 1", "name = \"a\\u0007\""]
    {
        let drawn = render(&refusal(&format!("{key}\n{BASE}")));
        let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!drawn.contains(steers), "{drawn:?}");
    }
}

/// A generated file may stand in one line. The mistake is drawn with what is near, and its line's number is right.
#[test]
fn a_mistake_in_a_line_of_any_length_is_drawn() {
    for flows in [100, 20_000] {
        let list = "{ src = \"h0\", dst = \"h1\", start = \"0 s\" }, ".repeat(flows);
        let text =
            format!("{BASE}[[workload]]\nkind = \"bursts\"\nclass = \"b\"\nbursts = [{list}{{ src = 7 }}]\n");
        let error = refusal(&text);
        let at =
            error.problems().iter().find(|problem| problem.key().contains("bursts")).expect("of the list");
        assert_eq!(at.line(), Some(19), "{at}");
        let drawn = render(&error);
        assert!(drawn.contains("src = 7"), "{}", &drawn[..drawn.len().min(2_000)]);
        assert!(drawn.len() < 20_000, "{} bytes", drawn.len());
    }
}
