//! Builds, installs and tests the Python package.
//!
//! All Python packages are installed in a virtual environment below the target folder, and nowhere
//! else.

use crate::program::{Build, beside_package};
use crate::{cargo, renew, root, run as spawn, skips, target};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// File with the Python packages for the checks of the package, with exact versions.
const REQUIREMENTS: &str = "python/requirements-dev.txt";

/// Builds the Python package, installs it into a virtual environment and checks it: types, stub,
/// tests, examples.
///
/// # Errors
/// If Python is missing, or a check of the package fails.
pub fn check(build: Build) -> Result<(), String> {
    let target = target()?;
    let environment = Environment::prepare(&target.join("python"), REQUIREMENTS)?;
    environment.install_package(build)?;
    environment.check_source_distribution(&target)?;
    // A test of the package compares the results of the command line and of Python for one
    // scenario.
    let program = beside_package(build)?;
    environment.run("mypy", &["python/bufferlab", "python/bufferlab_cli", "python/tests"])?;
    // The type stub and the Python module must declare equal items.
    environment.run("mypy.stubtest", &["bufferlab._bufferlab"])?;
    // "-rs" prints a line for each skipped test, which `listen` collects.
    let tests = ["--quiet", "-rs", "--doctest-modules", "--pyargs", "bufferlab", "python/tests"];
    skips::listen(environment.python("pytest").args(tests).env("BUFFERLAB_CLI", program))
}

/// A Python virtual environment for the checks of packages and circuits.
pub(crate) struct Environment {
    folder: PathBuf,
    python: PathBuf,
}

impl Environment {
    /// Creates or reuses the virtual environment, with exactly the versions of `requirements`.
    ///
    /// # Errors
    /// If Python is missing, or a package cannot be installed.
    pub(crate) fn prepare(folder: &Path, requirements: &str) -> Result<Self, String> {
        let venv = folder.join("venv");
        let bin = if cfg!(windows) { "Scripts" } else { "bin" };
        let python = venv.join(bin).join(format!("python{}", std::env::consts::EXE_SUFFIX));
        if !python.is_file() {
            let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
            spawn(Command::new(&system).args(["-m", "venv"]).arg(&venv)).map_err(|why| {
                format!(
                    "{why}\nhint: these checks need Python 3.11 or newer, with venv; PYTHON names another one"
                )
            })?;
        }
        let this = Self { folder: folder.to_owned(), python };
        let wanted = crate::read(requirements)?;
        let stamp = venv.join("requirements.txt");
        if std::fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
            this.run("pip", &["install", "--quiet", "--disable-pip-version-check", "-r", requirements])?;
            std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
        }
        Ok(this)
    }

    /// Builds the wheel of bufferlab and installs it over an earlier version.
    fn install_package(&self, build: Build) -> Result<(), String> {
        let wheels = self.folder.join("wheels");
        renew(&wheels)?;
        let mut maturin = self.python("maturin");
        maturin
            .args(["build", "--quiet", "--locked", "--profile", build.profile(), "--interpreter"])
            .arg(&self.python);
        spawn(maturin.arg("--out").arg(&wheels))?;
        let wheel = the_only(&wheels, "whl")?;
        let options = ["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
        spawn(self.python("pip").args(options).arg(wheel))
    }

    /// Packs the source distribution, and checks that the distribution can be compiled. The
    /// distribution must contain all files that its sources include and a usable lock file.
    fn check_source_distribution(&self, target: &Path) -> Result<(), String> {
        let folder = self.folder.join("sdist");
        renew(&folder)?;
        spawn(self.python("maturin").args(["sdist", "--out"]).arg(&folder))?;
        let packed = the_only(&folder, "gz")?;
        spawn(self.python("tarfile").arg("-e").arg(&packed).arg(&folder))?;
        std::fs::remove_file(&packed).map_err(|error| format!("{}: {error}", packed.display()))?;
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let unpacked = entries.flatten().map(|entry| entry.path()).find(|path| path.is_dir());
        let unpacked = unpacked.ok_or_else(|| format!("{} holds no folder", packed.display()))?;
        // All files of a source distribution have one constant old date,
        // so cargo would reuse crates of an earlier distribution.
        make_new(&unpacked)?;
        // The check reuses built dependencies. The workspace's crates are compiled, because their
        // folder is new.
        let mut check = cargo(&["check", "--locked", "--package", "bufferlab-python", "--target-dir"]);
        let checked = spawn(check.arg(target).current_dir(&unpacked).env("PYO3_BUILD_EXTENSION_MODULE", "1"));
        forget_builds_of(&unpacked, target)?;
        checked.map_err(|why| {
            format!("{why}\nhint: a source distribution has the files that Git knows (git add)")
        })
    }

    /// Returns the command `python -m module`, run at the root of the repository.
    pub(crate) fn python(&self, module: &str) -> Command {
        let mut command = self.interpreter();
        command.args(["-m", module]);
        command
    }

    /// Returns the command for the virtual environment's Python interpreter, run at the root of the
    /// repository.
    pub(crate) fn interpreter(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.current_dir(root());
        // Python ignores the user's installed packages, and plots open no window.
        command.env("PYTHONNOUSERSITE", "1").env("MPLBACKEND", "agg").env_remove("PYTHONPATH");
        command
    }

    /// Returns the folders of programs: the virtual environment's before the caller's.
    ///
    /// # Errors
    /// If a folder's name contains the separator of PATH.
    pub(crate) fn path(&self) -> Result<OsString, String> {
        let own = self.python.parent().map(Path::to_path_buf);
        let system = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system)))
            .map_err(|error| format!("PATH: {error}"))
    }

    fn run(&self, module: &str, arguments: &[&str]) -> Result<(), String> {
        spawn(self.python(module).args(arguments))
    }
}

/// Removes cargo's records about builds of the sources in `folder`. Cargo gives these builds the
/// names of the repository's builds, and would not notice later changes of the repository.
fn forget_builds_of(folder: &Path, target: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let inside = folder.strip_prefix(target).unwrap_or(folder).to_string_lossy().into_owned();
    let records = target.join("debug/.fingerprint");
    for record in std::fs::read_dir(&records).map_err(|error| failed(&records, error))?.flatten() {
        let files = std::fs::read_dir(record.path()).into_iter().flatten().flatten();
        let sources = files.filter(|file| file.file_name().to_string_lossy().starts_with("dep-"));
        let names_it = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(&inside);
        if sources.filter_map(|file| std::fs::read(file.path()).ok()).any(names_it) {
            std::fs::remove_dir_all(record.path()).map_err(|error| failed(&record.path(), error))?;
        }
    }
    Ok(())
}

/// Sets the date of every file below a folder to the present time.
fn make_new(folder: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let now = std::time::SystemTime::now();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, error))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            make_new(&path)?;
        } else {
            let file = std::fs::File::options().append(true).open(&path);
            file.and_then(|file| file.set_modified(now)).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}

/// Returns the path of the only file with the extension `extension` in a folder.
pub(crate) fn the_only(folder: &Path, extension: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    files
        .find(|path| path.extension() == Some(OsStr::new(extension)))
        .ok_or_else(|| format!("maturin left no .{extension} in {}", folder.display()))
}
