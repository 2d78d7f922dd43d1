//! How a daemon hears that it shall end: Ctrl-C, and on Linux the request of a service manager (SIGTERM).

use crate::interrupt;

#[cfg(target_os = "linux")]
use nix::sys::signal::{SigSet, Signal};
#[cfg(target_os = "linux")]
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Whether the end was asked for.
pub(super) struct Ending {
    #[cfg(target_os = "linux")]
    signals: Option<SignalFd>,
    asked: bool,
}

impl Ending {
    /// Listens from now on. Threads that are started later leave the signal to this one.
    pub(super) fn listen() -> Self {
        #[cfg(target_os = "linux")]
        let signals = {
            let mut mask = SigSet::empty();
            mask.add(Signal::SIGTERM);
            // Where it cannot be caught, it ends the process at once, and the journal remembers what was configured.
            let blocked = mask.thread_block();
            blocked
                .and_then(|()| SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC))
                .ok()
        };
        interrupt::listen_quietly();
        Self {
            #[cfg(target_os = "linux")]
            signals,
            asked: false,
        }
    }

    pub(super) fn requested(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(signals) = &self.signals
            && matches!(signals.read_signal(), Ok(Some(_)))
        {
            self.asked = true;
        }
        self.asked || interrupt::requested()
    }
}
