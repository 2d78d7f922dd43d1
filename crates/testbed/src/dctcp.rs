//! DCTCP for kernels that lack DCTCP: the testbed compiles and loads a BPF congestion control (RFC
//! 8257).
//!
//! The kernel unloads the BPF program when the process ends, even after a crash.

use std::path::Path;

/// Name of DCTCP in scenarios, and in kernels that have DCTCP.
pub(crate) const NAME: &str = "dctcp";
/// Name of the testbed's DCTCP in the kernel. The kernel does not allow a longer name.
pub(crate) const OWN_NAME: &str = "bufferlab_dctcp";
/// File with the type information of the running kernel.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Name of the compiler for the testbed's BPF program.
const COMPILER: &str = "clang";

/// Returns the missing requirement for loading DCTCP, with advice; `None` if every requirement is
/// met.
pub(crate) fn missing() -> Option<&'static str> {
    if !cfg!(feature = "dctcp") {
        return Some("build with `--features dctcp` (needs apt-get install libelf-dev zlib1g-dev)");
    }
    if !Path::new(TYPES).exists() {
        return Some("a kernel with CONFIG_DEBUG_INFO_BTF, or with DCTCP: `modprobe tcp_dctcp`");
    }
    if !crate::machine::is_root() {
        return Some("run it as root: only root may load congestion controls");
    }
    (!crate::machine::find(COMPILER)).then_some("apt-get install clang")
}

#[cfg(feature = "dctcp")]
pub(crate) use with_bpf::Dctcp;

#[cfg(feature = "dctcp")]
mod with_bpf {
    use super::COMPILER;
    use crate::error::TestbedError;
    use libbpf_rs::{Link, MapCore, MapType, ObjectBuilder};
    use std::io;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Source code of the BPF program for DCTCP.
    const SOURCE: &str = include_str!("../dctcp/dctcp.bpf.c");

    /// A DCTCP that is loaded into the kernel. Dropping this value or ending the process unloads
    /// the DCTCP.
    #[derive(Debug)]
    pub(crate) struct Dctcp {
        _held: Vec<Link>,
    }

    impl Dctcp {
        /// Compiles and loads the BPF program. `folder` receives the compiled files.
        pub(crate) fn load(folder: &Path) -> Result<Self, TestbedError> {
            let (source, object) = (folder.join("dctcp.bpf.c"), folder.join("dctcp.bpf.o"));
            std::fs::write(&source, SOURCE).map_err(TestbedError::Io)?;
            let mut command = Command::new(COMPILER);
            command.args(["-O2", "-g", "-target", "bpf", "-c"]).arg(&source).arg("-o").arg(&object);
            let failed =
                |why: String| TestbedError::Command { line: format!("{COMPILER} {}", source.display()), why };
            let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
            if !output.status.success() {
                return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
            }
            hold(&object).map_err(|error| TestbedError::Dctcp(error.to_string()))
        }
    }

    fn hold(object: &Path) -> Result<Dctcp, libbpf_rs::Error> {
        let mut object = ObjectBuilder::default().open_file(object)?.load()?;
        let mut held = Vec::new();
        for mut map in object.maps_mut() {
            if map.map_type() == MapType::StructOps {
                held.push(map.attach_struct_ops()?);
            }
        }
        if held.is_empty() {
            return Err(io::Error::other("the program registers nothing").into());
        }
        Ok(Dctcp { _held: held })
    }
}
