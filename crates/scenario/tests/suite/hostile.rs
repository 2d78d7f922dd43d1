//! Tests that hostile files do not harm the reader of an error, and do not read files
//! of other folders.

use crate::common::{owned, render};
use bufferlab_scenario::{LoadError, load, load_text};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
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

/// A generated file may be one long line. The error shows the text near the mistake, and the
/// right line number.
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

/// Writes the scenario `text` to the file `name` in `folder`, and loads the scenario.
fn loaded_from(folder: &Path, name: &str, text: &str) -> Result<(), LoadError> {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("writable");
    load(&path, &owned(&[])).map(drop)
}

fn said(outcome: Result<(), LoadError>) -> String {
    // The lines are joined, because the positions of line breaks depend on the path.
    render(&outcome.expect_err("it was to be refused")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The scenario of the test has an error for every host without a cable.
#[test]
fn of_very_many_errors_the_first_are_told_and_the_others_counted() {
    let one = "kind = \"single_switch\"\nhosts = 2\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n";
    let cable = "{ a = \"h0\", b = \"s0\", rate = \"1 Gb/s\", delay = \"1 us\" }";
    let many = format!("kind = \"graph\"\nhosts = 65535\nswitches = 1\nlinks = [{cable}]\n");
    let text = BASE.replace(one, &many);
    let error = refusal(&text);
    assert_eq!(error.to_string(), "given.toml has 65534 errors");
    assert_eq!(error.problems().len(), 201);
    let last = error.problems().last().expect("there are some").in_one_line();
    assert!(last.starts_with("65334 errors more are not shown (fix those above first"), "{last}");
}

#[test]
fn a_chain_of_extends_has_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |number: usize, text: &str| {
        std::fs::write(folder.path().join(format!("{number}.toml")), text).expect("writable");
    };
    for number in 1..40 {
        write(number, &format!("extends = \"{}.toml\"\n", number + 1));
    }
    write(32, BASE);
    loaded_from(folder.path(), "0.toml", "extends = \"1.toml\"\n").expect("32 files may be extended");
    write(32, "extends = \"33.toml\"\n");
    write(33, BASE);
    let said = said(loaded_from(folder.path(), "0.toml", "extends = \"1.toml\"\n"));
    assert!(said.contains("more than 32 files extend each other") && said.contains("32.toml:1:1"), "{said}");
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("there is mkfifo").success());
    let workload = |file: &str| {
        let head = BASE.split("[[workload]]").next().unwrap_or_default();
        format!("{head}[[workload]]\nkind = \"flow_list\"\nfile = \"{file}\"\n")
    };
    for text in ["extends = \"pipe\"\n".to_owned(), workload("pipe"), workload("/dev/zero")] {
        let said = said(loaded_from(folder.path(), "given.toml", &text));
        assert!(said.contains("it is not a regular file"), "{said}");
    }
}

#[test]
fn a_flow_list_without_line_ends_is_refused_before_it_is_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    // The file is one line of 200 MB, which takes a few hundred kilobytes when compressed.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"src,dst,size_bytes,start_ns\n# all well\n0,1,1000,0\n").expect("writable");
    for _ in 0..200 {
        packed.write_all(&[b'7'; 1_000_000]).expect("writable");
    }
    std::fs::write(folder.path().join("flows.csv.gz"), packed.finish().expect("packed")).expect("writable");
    let head = BASE.split("[[workload]]").next().unwrap_or_default();
    let text = format!("{head}[[workload]]\nkind = \"flow_list\"\nfile = \"flows.csv.gz\"\n");
    let said = said(loaded_from(folder.path(), "given.toml", &text));
    assert!(said.contains("line 4: longer than 65536 bytes"), "{said}");
    assert!(said.contains("expected a flow per line"), "{said}");
}
