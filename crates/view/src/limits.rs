//! Limits of a page's requests: their size and their duration.

use crate::window::POINTS_MAX;
use bufferlab_params::Limit;

/// Size of a request body in bytes; the playground's choices take less than a kilobyte.
pub(crate) const BODY: Limit = Limit {
    name: "bytes of a request's body",
    most: 65_536,
    unit: "B",
    place: "`POST` to `play`",
    effect: "refused with status 413",
};

/// Maximum time until the header of a request is complete, and then until its body is complete.
pub(crate) const REQUEST_SECONDS: Limit = Limit {
    name: "seconds until a request is complete",
    most: 10,
    unit: "s",
    place: "connections to `view` and `play`",
    effect: "the connection is closed, after status 408 if only the body is missing",
};

/// All limits on requests that the server of pages enforces.
pub const LIMITS: &[Limit] = &[
    BODY,
    REQUEST_SECONDS,
    Limit {
        name: "points of a window",
        most: POINTS_MAX,
        unit: "",
        place: "`points` of a request to `view`",
        effect: "as many are sent as the limit allows",
    },
];
