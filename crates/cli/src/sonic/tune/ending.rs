//! Signals that end a daemon: Ctrl-C, a service manager's SIGTERM, a closed terminal (SIGHUP),
//! SIGQUIT.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags that record requests to end the daemon.
pub(super) struct Ending {
    /// Flag that every signal to end the daemon sets.
    asked: Arc<AtomicBool>,
    /// Flag that only Ctrl-C sets. A second Ctrl-C stops the attempts to restore values. Signals of
    /// service managers do not set this flag, because a service manager often sends two signals.
    pressed: Arc<AtomicBool>,
}

impl Ending {
    /// Starts to listen for the signals that end the daemon.
    ///
    /// # Errors
    /// If a signal cannot be caught. The caller must then change no value, because the signal would
    /// end the daemon before it restores the value.
    pub(super) fn listen() -> io::Result<Self> {
        let ending = Self { asked: Arc::default(), pressed: Arc::default() };
        ending.register()?;
        Ok(ending)
    }

    #[cfg(unix)]
    fn register(&self) -> io::Result<()> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        use signal_hook::flag::register;
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            register(signal, Arc::clone(&self.asked))?;
        }
        register(SIGINT, Arc::clone(&self.pressed))?;
        Ok(())
    }

    #[cfg(not(unix))]
    fn register(&self) -> io::Result<()> {
        let (asked, pressed) = (Arc::clone(&self.asked), Arc::clone(&self.pressed));
        let handler = move || {
            asked.store(true, Ordering::Relaxed);
            pressed.store(true, Ordering::Relaxed);
        };
        ctrlc::set_handler(handler).map_err(io::Error::other)
    }

    pub(super) fn requested(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The flag that every signal to end the daemon sets.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Clears and returns the flag that the next Ctrl-C sets.
    pub(super) fn next_press(&self) -> Arc<AtomicBool> {
        self.pressed.store(false, Ordering::Relaxed);
        Arc::clone(&self.pressed)
    }
}
