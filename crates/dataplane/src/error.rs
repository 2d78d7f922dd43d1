//! Errors of the program that switches real packets.

use bufferlab_core::BuildError;
use nix::errno::Errno;

/// Reason why a switch for real packets cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// An interface in the switch file does not exist.
    #[error("there is no interface \"{name}\" here; `ip link` shows: {known}")]
    NoInterface {
        /// Name of the interface in the switch file.
        name: String,
        /// Names of the interfaces that exist on this machine.
        known: String,
    },
    /// The operating system refused an operation on an interface.
    #[error("{what} of \"{interface}\": {source}{}", advice(*source))]
    System {
        /// Description of the operation that the system refused.
        what: &'static str,
        /// Name of the interface that the operation was for.
        interface: String,
        /// Error that the operating system reported.
        source: Errno,
    },
    /// The policy, its scheduler or its marking rule does not fit the switch.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The policy failed while the switch ran.
    #[error("the policy failed: {0}")]
    Policy(String),
    /// The server that shows counters cannot start.
    #[error("cannot show metrics: {0}")]
    Metrics(std::io::Error),
    /// The process that renames captures cannot start.
    #[error("cannot start the process that renames captures: {0}")]
    Captures(std::io::Error),
    /// The process cannot give up the rights of root.
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
