//! Errors of the switch for real packets.

use bufferlab_core::BuildError;
use nix::errno::Errno;

/// Reason why a switch cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// An interface in the switch file does not exist.
    #[error("there is no interface \"{name}\" here; `ip link` shows: {known}")]
    NoInterface {
        /// Name of the interface in the switch file.
        name: String,
        /// Names of the existing interfaces.
        known: String,
    },
    /// The operating system refused an operation.
    #[error("{what} of \"{interface}\": {source}{}", advice(*source))]
    System {
        /// Description of the attempted operation.
        what: &'static str,
        /// Name of the interface.
        interface: String,
        /// Error of the operating system.
        source: Errno,
    },
    /// The policy, its scheduler or its marking rule does not fit the switch.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The policy failed while the switch ran.
    #[error("the policy failed: {0}")]
    Policy(String),
    /// The server of counters cannot start.
    #[error("cannot show metrics: {0}")]
    Metrics(std::io::Error),
    /// The process that renames captures cannot start.
    #[error("cannot start the process that renames captures: {0}")]
    Captures(std::io::Error),
    /// The process cannot give up root's rights.
    #[error("cannot give up the rights of root: {0}")]
    Rights(Errno),
}

fn advice(source: Errno) -> &'static str {
    match source {
        Errno::EPERM | Errno::EACCES => {
            "\nraw sockets need CAP_NET_RAW: run it as root, or in a user namespace of your own"
        }
        _ => "",
    }
}
