//! Enumerations of the experiment format: keys whose values are fixed words.

use bufferlab_params::choices;
use serde::{Deserialize, Serialize};

choices! {
    /// Rule that combines the effects of several seeds into one number.
    #[derive(Default)]
    pub enum OverSeeds {
        #[default]
        Mean = "mean": "the effect of the means, with its interval",
        Each = "each": "the mean of the effects of single seeds, with its interval: for shares of the repetitions",
        Largest = "largest": "the largest effect of a seed, which has no interval",
    }
}

choices! {
    /// Side of a claim's tolerance band on which the tested scheme is better than the paper states.
    pub enum Better {
        Above = "above": "larger values are better",
        Below = "below": "smaller values are better",
    }
}

choices! {
    /// Quantity of a flow, a query or a buffer sample over which a statistic is computed.
    #[derive(Serialize, Deserialize)]
    pub enum Quantity {
        Slowdown = "slowdown": "completion time over its ideal, of finished flows or queries",
        TimeMs = "time_ms": "completion time (ms), of finished flows or queries",
        DroppedPackets = "dropped_packets": "packets lost",
        SentPackets = "sent_packets": "packets sent; flows only",
        RetransmittedPackets = "retransmitted_packets": "retransmitted packets; flows only",
        Timeouts = "timeouts": "timeouts",
        Bytes = "bytes": "size (bytes)",
        BufferPercent = "buffer_percent": "bytes stored for the priorities, headroom included (% of the switch's buffer); of `priorities` only",
    }
}

choices! {
    /// Statistic that combines the values of many flows, queries or samples into one number.
    #[derive(Serialize, Deserialize)]
    pub enum Take {
        Mean = "mean": "the mean",
        P50 = "p50": "the median, by nearest rank as all percentiles",
        P99 = "p99": "the 99th percentile",
        P999 = "p99_9": "the 99.9th percentile",
        Max = "max": "the largest",
        Sum = "sum": "the sum",
        Count = "count": "the number of values",
        ZeroPercent = "zero_percent": "the fraction of values that are zero (%)",
    }
}

choices! {
    /// Statistic of the goodput of several flows.
    #[derive(Default, Serialize, Deserialize)]
    pub enum GoodputOf {
        #[default]
        Sum = "sum": "the sum of the flows' goodput (Mb/s)",
        Jain = "jain": "Jain's index of the flows' goodput between two successive samples, the mean of the interval",
        JainMin = "jain_min": "the least such index of the interval",
    }
}

choices! {
    /// Counter of a queue from which a statistic is computed.
    #[derive(Serialize, Deserialize)]
    pub enum QueueCount {
        ArrivedPackets = "arrived_packets": "packets that arrived for the queue",
        DroppedPackets = "dropped_packets": "packets that were refused",
        EvictedPackets = "evicted_packets": "packets that were evicted",
        MarkedPackets = "marked_packets": "packets that were marked",
    }
}

choices! {
    /// Quantity of a switch or a flow that a run samples at intervals.
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Sampled {
        Occupancy = "occupancy": "bytes stored (KB), of the switch or of ports",
        Threshold = "threshold": "the policy's limit for a port's lowest priority in use (KB)",
        Goodput = "goodput": "payload received per time (Mb/s), of every flow",
        Jain = "jain": "Jain's index of the flows' goodput",
    }
}
