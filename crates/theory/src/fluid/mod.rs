//! A fluid model of shared buffers: exact, piecewise linear, from event to event.
