//! Errors that occur when a workload builds its traffic source.

use crate::Pattern;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A custom workload that failed to describe its traffic.
#[derive(Clone, Debug)]
pub struct CustomError {
    /// Name of the custom workload in the registry.
    pub workload: String,
    /// Description of the custom workload's failure in one sentence.
    pub what: String,
    /// Underlying error, if the workload's failure has one.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for CustomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workload {} failed: {}", self.workload, self.what)
    }
}

impl Error for CustomError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// Two errors are compared by their messages, because their causes cannot be compared.
impl PartialEq for CustomError {
    fn eq(&self, other: &Self) -> bool {
        (&self.workload, &self.what) == (&other.workload, &other.what)
    }
}

/// A traffic source that cannot be built from its parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The traffic source has fewer than two hosts.
    #[error("traffic needs at least two hosts, there are {hosts}; add hosts to the topology")]
    TooFewHosts {
        /// Number of hosts of the traffic source.
        hosts: usize,
    },
    /// The pattern sends between racks, but fewer than two racks have hosts.
    #[error(
        "pattern {pattern} needs at least two racks with hosts, there are {racks}; use all_to_all or add a rack"
    )]
    TooFewRacks {
        /// Pattern by which the source selects receivers.
        pattern: Pattern,
        /// Number of racks that have hosts.
        racks: usize,
    },
    /// The list of racks contains a host twice, in one rack or in two racks.
    #[error("host {host} is listed twice; every host belongs to exactly one rack")]
    HostTwice {
        /// Number of the host that is listed twice.
        host: u32,
    },
    /// The rate of arrivals is not valid.
    #[error("{rate} arrivals per second and host is not a rate between 0 and 1e12")]
    Rate {
        /// Rejected rate of arrivals [1/s].
        rate: f64,
    },
    /// A query has more servers than some client can reach.
    #[error(
        "fan_in = {fan_in} but pattern {pattern} leaves only {available} servers for some client; \
         lower fan_in or use another pattern"
    )]
    FanIn {
        /// Requested number of servers per query.
        fan_in: u32,
        /// Pattern that selects the servers of a query.
        pattern: Pattern,
        /// Number of servers that the client with the fewest servers can reach.
        available: usize,
    },
    /// A query of an incast has no servers or no bytes to answer.
    #[error("a query needs fan_in and request_bytes of at least 1, not {fan_in} and {request_bytes}")]
    EmptyQuery {
        /// Requested number of servers per query.
        fan_in: u32,
        /// Size of all answers of a query (bytes).
        request_bytes: u64,
    },
    /// A closed loop has no clients, threads, items or bytes.
    #[error("a closed loop needs clients, threads, items and bytes per item, at least one of each")]
    EmptyLoop,
    /// A client of a closed loop has too few servers.
    #[error("a query asks {fan_in} servers, and client {client} has only {available}, itself left out")]
    LoopFanIn {
        /// Requested number of servers per query.
        fan_in: u32,
        /// Host number of the client with the fewest servers.
        client: u32,
        /// Number of servers that the client can reach.
        available: usize,
    },
    /// The workload of on-off sources lists no pair of hosts.
    #[error("there is no pair of hosts; name at least one, as [from, to]")]
    NoPairs,
    /// A pair of hosts names one host as both sender and receiver.
    #[error("host {host} would send to itself")]
    SelfPair {
        /// Number of the host that would send to itself.
        host: u32,
    },
    /// A pair of hosts is listed twice: both sources would send equal bursts at equal times.
    #[error("the pair of host {src} and host {dst} is listed twice")]
    PairTwice {
        /// Number of the sending host of the pair.
        src: u32,
        /// Number of the receiving host of the pair.
        dst: u32,
    },
    /// The parameters allow no bursts: no kind of burst exists, or a kind has no length, rate,
    /// weight or pause.
    #[error(
        "bursts need at least one kind, and times, rates and weights above zero (a Pareto shape above 1)"
    )]
    Bursts,
    /// A custom workload failed to describe its traffic.
    #[error(transparent)]
    Custom(#[from] CustomError),
    /// The run has more queries than 32-bit numbers can count.
    #[error(
        "about {expected:.0} queries do not fit into 32-bit numbers; lower the query rate or the duration"
    )]
    TooManyQueries {
        /// Expected number of queries of the run.
        expected: f64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_errors_are_the_same_by_their_words_whatever_their_cause() {
        let error = |workload: &str, what: &str, cause: Option<Arc<dyn Error + Send + Sync>>| CustomError {
            workload: workload.to_owned(),
            what: what.to_owned(),
            cause,
        };
        let first = error("bursts", "no hosts", Some(Arc::new(fmt::Error)));
        assert_eq!(first, error("bursts", "no hosts", None));
        assert_ne!(first, error("bursts", "no size", Some(Arc::new(fmt::Error))));
        assert_ne!(first, error("queries", "no hosts", Some(Arc::new(fmt::Error))));
        assert_eq!(first.to_string(), "workload bursts failed: no hosts");
        assert!(first.source().is_some_and(|cause| cause.is::<fmt::Error>()));
    }
}
