//! Tests that enter a running testbed from another process.

use crate::testbed::allowed;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bufferlab");

struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(testbed: u32, args: &[&str], folder: &Path) -> Output {
    let testbed = testbed.to_string();
    Command::new(PROGRAM)
        .args(["testbed", "shell", "--testbed", &testbed])
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn a_standing_testbed_is_entered_by_the_names_of_its_hosts() {
    if !allowed("entering a testbed") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut up = Command::new(PROGRAM);
    up.args(["testbed", "up", "demo", "--", "sleep", "60"]);
    let up =
        Up(up.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    let id = up.0.id();
    let since = Instant::now();
    let address = ["h3", "--", "ip", "-4", "-o", "addr", "show", "e0"];
    let told = loop {
        let output = shell(id, &address, folder.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() && text.contains("10.77.0.") {
            break text;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{}", String::from_utf8_lossy(&output.stderr));
        sleep(Duration::from_millis(100));
    };
    assert!(told.contains("10.77.0.4/24"), "{told}");
    // The shell runs in the folder of the caller, knows its host,
    // and returns the exit code of the command.
    let output = shell(id, &["h0", "--", "sh", "-c", "pwd; echo $BUFFERLAB_HOST; exit 7"], folder.path());
    let real = folder.path().canonicalize().expect("it is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\nh0\n", real.display()));
    assert_eq!(output.status.code(), Some(7));
    let output = shell(id, &["h9"], folder.path());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no host h9") && told.contains("hosts are h0 to h7"), "{told}");
    // A process on a host ends with the testbed.
    let mut left = Command::new(PROGRAM)
        .args(["testbed", "shell", "--testbed", &id.to_string(), "h1", "--", "sleep", "60"])
        .spawn()
        .expect("it starts");
    sleep(Duration::from_millis(500));
    drop(up);
    let since = Instant::now();
    while left.try_wait().expect("it can be asked").is_none() {
        assert!(since.elapsed() < Duration::from_secs(5), "the shell lives on");
        sleep(Duration::from_millis(20));
    }
    let output = shell(id, &["h0"], folder.path());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && (told.contains("no testbed")), "{told}");
}
