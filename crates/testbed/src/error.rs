//! Errors of a testbed run with real hosts.

/// The reason why a run with real hosts ended early.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A command of the operating system failed.
    #[error("`{line}` failed: {why}\nhint: `bufferlab testbed check` says what this machine lacks")]
    Command {
        /// Text of the command line that failed.
        line: String,
        /// Error message that the command printed.
        why: String,
    },
    /// The kernel cannot load the testbed's DCTCP.
    #[error(
        "DCTCP cannot be loaded: {0}\nhint: another testbed with DCTCP may run: `bufferlab testbed down` ends all of them"
    )]
    Dctcp(String),
    /// A file or socket of the testbed failed.
    #[error("{0}")]
    Io(std::io::Error),
    /// A workload of the scenario cannot start.
    #[error("{0}")]
    Workload(String),
    /// A connection between two hosts broke.
    #[error("a connection between two hosts broke")]
    Broken,
    /// A program that carries workloads failed.
    #[error("{program} failed: {why}")]
    Program {
        /// Name of the program that failed.
        program: String,
        /// Description of the program's failure.
        why: String,
    },
    /// The user interrupted the run with Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The captures of frames could not be written.
    #[error("cannot write the captures: {0}")]
    Capture(std::io::Error),
    /// The switch of real packets failed.
    #[error("the switch: {0}")]
    Switch(String),
    /// The results of the run cannot be written.
    #[error("{0}")]
    Results(#[from] bufferlab_results::ResultsError),
    /// The header of the results cannot be created.
    #[error("{0}")]
    Head(#[from] bufferlab_lab::RunError),
    /// The record of the switch cannot be read.
    #[error("{0}")]
    Record(#[from] bufferlab_dataplane::RecordError),
}
