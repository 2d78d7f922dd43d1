//! Passes the git commit of the sources to the program. Builds from an archive set the commit
//! in the variable `BUFFERLAB_COMMIT`. Otherwise git gives the commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=BUFFERLAB_COMMIT");
    if std::env::var_os("BUFFERLAB_COMMIT").is_some() {
        // The compiler reads the variable `BUFFERLAB_COMMIT` itself.
        return;
    }
    // The log of HEAD grows with every commit and checkout. Git names the files, because a linked
    // worktree has separate files. A missing file would make cargo run this script in every build.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=BUFFERLAB_COMMIT={commit}");
    }
}

/// Output of git, or `None` without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
