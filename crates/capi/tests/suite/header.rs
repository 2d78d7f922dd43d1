//! Compares the C header with the Rust library: symbols, codes and layouts.

use crate::support::{compile, crate_folder, has, libraries, stdout};
use bufferlab_capi::{
    ABI, Code, Config, Departure, EVENTS, EXPORTS, Event, NO_REASON, OTHER, Packet, Param, REASONS, Verdict,
};
use bufferlab_core::Tags;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

fn header() -> String {
    std::fs::read_to_string(crate_folder().join("include/bufferlab.h")).expect("the header")
}

#[test]
fn the_header_names_every_exported_symbol_with_its_version_and_declares_it() {
    let header = header();
    let prefix = format!("bufferlab_v{ABI}_");
    let defined: BTreeSet<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define bufferlab_")?.split_once(' ').map(|(_, symbol)| symbol))
        .collect();
    assert_eq!(defined, EXPORTS.into_iter().collect());
    assert!(EXPORTS.len() <= 15, "the interface is small");
    for symbol in EXPORTS {
        let name = symbol.strip_prefix(&prefix).expect("a versioned symbol");
        assert!(header.contains(&format!("#define bufferlab_{name} {symbol}")), "{symbol}");
        let declared = header.matches(&format!("bufferlab_{name}(")).count();
        assert_eq!(declared, 1, "{name} is declared once");
    }
}

#[test]
fn the_shared_library_exports_these_symbols_and_no_other() {
    let test = "symbols of the shared library";
    if !has("nm", test) {
        return;
    }
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=posix"])
        .arg(libraries().join("libbufferlab_capi.so"))
        .output()
        .expect("nm starts");
    let text = stdout(&output);
    let found: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let ours: BTreeSet<&str> = found.iter().copied().filter(|name| name.starts_with("bufferlab")).collect();
    assert_eq!(ours, EXPORTS.into_iter().collect());
    let others: Vec<_> = found.difference(&ours).filter(|name| !name.starts_with("rust_eh")).collect();
    assert!(others.is_empty(), "{others:?}");
}

macro_rules! layout {
    ($text:expr, $Type:ty, $name:literal, $($field:ident),+) => {
        let _ = writeln!($text, "_Static_assert(sizeof({0}) == {1}, \"{0}\");", $name, size_of::<$Type>());
        let _ = writeln!($text, "_Static_assert(_Alignof({0}) == {1}, \"{0}\");", $name, align_of::<$Type>());
        $(let _ = writeln!(
            $text,
            "_Static_assert(offsetof({0}, {1}) == {2} && sizeof((({0} *)0)->{1}) == {3}, \"{0}.{1}\");",
            $name, stringify!($field), offset_of!($Type, $field), size_of_field(|value: &$Type| &raw const value.$field)
        );)+
        let fields = [$(stringify!($field)),+];
        let declared = fields_of(&header(), $name);
        assert_eq!(declared, fields, "{}", $name);
    };
}

fn size_of_field<T, F>(_: impl Fn(&T) -> *const F) -> usize {
    size_of::<F>()
}

/// Returns the names of the fields of a structure in the C header.
fn fields_of(header: &str, name: &str) -> Vec<String> {
    let start = header.find(&format!("typedef struct {name} {{")).expect("the structure is declared");
    let body = header[start..].split_once('{').expect("a body").1;
    let body = body.split_once('}').expect("an end").0;
    let lines = body.lines().filter_map(|line| line.split_once(';')).map(|(field, _)| field);
    let names = lines.map(|field| field.rsplit([' ', '*']).next().unwrap_or_default());
    names.map(|name| name.split('[').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn structures_and_codes_of_the_header_are_those_of_the_library() {
    let test = "layouts of the header";
    if !has("cc", test) {
        return;
    }
    let mut text = "#include \"bufferlab.h\"\n".to_owned();
    layout!(
        text,
        Config,
        "bufferlab_config",
        capacity,
        port_rates,
        ports,
        queues_per_port,
        max_packet,
        lossless_priorities,
        seed
    );
    layout!(text, Param, "bufferlab_param", name, value);
    layout!(text, Packet, "bufferlab_packet", id, size, flow, ingress_port, egress_port, tags, priority, ecn);
    layout!(text, Verdict, "bufferlab_verdict", event, reason, marked, queue);
    layout!(text, Departure, "bufferlab_departure", packet, size, queue, marked, more, reserved);
    layout!(text, Event, "bufferlab_event", now, packet, size, port, queue, event, reason, reserved);
    let mut equal = |name: &str, value: i64| {
        let _ = writeln!(text, "_Static_assert({name} == {value}, \"{name}\");");
    };
    equal("BUFFERLAB_ABI", ABI.into());
    for (name, code) in [
        ("OK", Code::Ok),
        ("NONE", Code::None),
        ("INVALID", Code::Invalid),
        ("REFUSED", Code::Refused),
        ("FAILED", Code::Failed),
        ("PANIC", Code::Panic),
    ] {
        equal(&format!("BUFFERLAB_{name}"), code as i64);
    }
    for (code, name) in (0..).zip(EVENTS) {
        equal(&format!("BUFFERLAB_{}", name.to_uppercase()), code);
    }
    for (code, name) in (0..).zip(REASONS) {
        let name = name.to_str().expect("ASCII").to_uppercase().replace('-', "_");
        equal(&format!("BUFFERLAB_{name}"), code);
    }
    equal("BUFFERLAB_OTHER_EVENT", OTHER.0.into());
    equal("BUFFERLAB_OTHER_REASON", OTHER.1.into());
    equal("BUFFERLAB_NO_REASON", NO_REASON.into());
    for bit in 0..16 {
        for name in Tags(1 << bit).names() {
            equal(&format!("BUFFERLAB_{}", name.to_uppercase()), 1 << bit);
        }
    }
    text.push_str("int main(void) { return 0; }\n");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("layout.c");
    std::fs::write(&source, &text).expect("a file");
    let _ = stdout(&compile(&[&source], &[], &folder.path().join("layout")));
    let broken = text.replace("BUFFERLAB_EVICTED == 2", "BUFFERLAB_EVICTED == 3");
    std::fs::write(&source, broken).expect("a file");
    let output = compile(&[&source], &[], &folder.path().join("layout"));
    assert!(!output.status.success(), "a wrong code is noticed");
}
