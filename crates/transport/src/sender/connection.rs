//! State that a connection keeps between its messages.
//!
//! Each message is a separate flow, whose segments count from 0. The connection keeps the sender's
//! knowledge of the path: window and slow-start threshold, round-trip estimate and the state of the
//! congestion control.

use super::{Phase, Sender};
use crate::TcpConfig;
use crate::congestion::{CongestionControl, NewReno, Window};
use crate::rtt::RttEstimator;
use bufferlab_units::Time;

/// State of an open connection between two messages.
#[derive(Clone, Debug)]
pub struct Connection {
    window: Window,
    rtt: RttEstimator,
    congestion: CongestionControl,
    next_send_at: Time,
    /// Time of the last transmission or acknowledgement on the connection.
    since: Time,
}

impl Sender {
    /// Removes the connection from the sender at `now`, when the message has been acknowledged. The
    /// connection then has the congestion control's state. The sender sends no more segments.
    #[must_use]
    pub fn connection(&mut self, now: Time) -> Connection {
        debug_assert!(self.is_done(), "a connection carries one message at a time");
        let mut window = self.window;
        // A reduction is the only phase that continues after the last ACK. The next ACK would have
        // set the window to the slow-start threshold.
        if self.phase == Phase::Reduction && !self.control_owns_window {
            window.size = window.slow_start_threshold.max(1.0);
        }
        Connection {
            window,
            rtt: self.rtt,
            congestion: std::mem::replace(&mut self.congestion, CongestionControl::NewReno(NewReno)),
            next_send_at: self.next_send_at,
            since: now,
        }
    }

    /// Sends this new message over an open connection without a handshake. No segment of the
    /// message may have been sent. The window, the slow-start threshold, the round-trip estimate
    /// and the control's state remain from the previous message.
    ///
    /// `idle_restart` concerns a connection that was idle for longer than its retransmission
    /// timeout. After this time, a connection begins with the smaller of its window and the initial
    /// window (RFC 5681 section 4.1). The slow-start threshold stays. Controls that set their
    /// window ignore the restart: these controls pace their packets, so the burst that the restart
    /// prevents does not happen.
    pub fn resume(&mut self, config: &TcpConfig, connection: Connection, now: Time) {
        debug_assert!(self.next == 0, "a message changes its connection before it is sent");
        let Connection { mut window, rtt, mut congestion, next_send_at, since } = connection;
        let idle = now.saturating_sub(since);
        if config.idle_restart
            && !self.control_owns_window
            && idle > rtt.timeout(config.min_rto, config.initial_rto)
        {
            window.size = window.size.min(f64::from(config.initial_window));
        }
        congestion.begin_message(idle);
        self.skip_handshake();
        // The sender knows the receiver's window from earlier messages of the connection.
        self.window_is_known = true;
        (self.window, self.rtt, self.congestion) = (window, rtt, congestion);
        self.next_send_at = next_send_at;
    }
}
