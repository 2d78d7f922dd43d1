//! Tests the C example: installed, compiled with pkg-config, and with the address sanitizer.

use crate::support::{compile, crate_folder, has, libraries, run, shared, skip, stdout};
use std::path::Path;
use std::process::Command;

/// Output of the example program. The queue stops growing when q + 1,500 B would exceed the
/// threshold α(B − Q). The condition q + 1,500 ≤ (200,000 − q) / 2 is true up to q = 64,500 B. With
/// the next packet, the queue stores 66,000 B.
const OUTPUT: &str = "stored 143, dropped 557, sent 100, peak 66000 B, threshold 67750 B\n";

fn example() -> std::path::PathBuf {
    crate_folder().join("examples/incast.c")
}

#[test]
fn the_example_compiles_without_warnings_and_meets_the_limit_of_dynamic_thresholds() {
    if !has("cc", "the C example") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("incast");
    let shared = shared();
    let link: Vec<&str> = shared.iter().map(String::as_str).collect();
    let _ = stdout(&compile(&[&example()], &link, &program));
    assert_eq!(stdout(&run(&program, folder.path(), &[])), OUTPUT);
}

#[test]
fn an_installed_library_is_found_by_pkg_config() {
    let test = "pkg-config";
    if !has("cc", test) || !has("pkg-config", test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("usr");
    let mut install = Command::new("sh");
    install.arg(crate_folder().join("install.sh")).arg(&prefix).arg(libraries());
    let _ = stdout(&install.output().expect("sh starts"));
    let ask = |what: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(what).arg("bufferlab").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        stdout(&command.output().expect("pkg-config starts"))
    };
    assert_eq!(ask(&["--modversion"]).trim(), env!("CARGO_PKG_VERSION"));
    let flags = ask(&["--cflags", "--libs"]);
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let program = folder.path().join("incast");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror"]).arg(example()).args(flags).arg("-o").arg(&program);
    let _ = stdout(&compiler.output().expect("cc starts"));
    let mut installed = Command::new(&program);
    installed.env("LD_LIBRARY_PATH", prefix.join("lib"));
    assert_eq!(stdout(&installed.output().expect("the example starts")), OUTPUT);
}

/// Whether the compiler has the address sanitizer, and a program with the sanitizer can start.
fn has_sanitizer(folder: &Path) -> bool {
    let source = folder.join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let program = folder.join("empty");
    let compiled = compile(&[&source], &["-fsanitize=address,undefined"], &program).status.success();
    compiled && Command::new(&program).status().is_ok_and(|status| status.success())
}

#[test]
fn the_sanitizers_find_nothing_in_the_example_and_notice_a_switch_that_is_never_freed() {
    let test = "the C example under sanitizers";
    if !has("cc", test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if !has_sanitizer(folder.path()) {
        return skip(test, "cc has no -fsanitize=address");
    }
    let archive = libraries().join("libbufferlab_capi.a");
    let archive = archive.to_str().expect("a path in UTF-8");
    let sanitize = [archive, "-lpthread", "-ldl", "-lm", "-g", "-fsanitize=address,undefined"];
    let program = folder.path().join("incast");
    let _ = stdout(&compile(&[&example()], &sanitize, &program));
    assert_eq!(stdout(&Command::new(&program).output().expect("the example starts")), OUTPUT);

    // The changed program leaks memory, which the sanitizer reports at the end.
    let text = std::fs::read_to_string(example()).expect("the example");
    let leaks = text.replace("bufferlab_free(sw);", "sw = NULL;");
    assert_ne!(leaks, text);
    let source = folder.path().join("leak.c");
    std::fs::write(&source, leaks).expect("a file");
    let program = folder.path().join("leak");
    let _ = stdout(&compile(&[&source], &sanitize, &program));
    let output = Command::new(&program).output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("LeakSanitizer"), "{errors}");
}
