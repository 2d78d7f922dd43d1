//! How a daemon hears that it shall end: Ctrl-C, a service manager's SIGTERM, a closed terminal
//! (SIGHUP), SIGQUIT.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the end was asked for.
pub(super) struct Ending {
    /// Set by every signal that asks for the end.
    asked: Arc<AtomicBool>,
    /// Set by Ctrl-C only: a second one, while everything is put back, gives that up. Other signals
    /// often come in pairs.
    pressed: Arc<AtomicBool>,
}

impl Ending {
    /// Listens from now on.
    ///
    /// # Errors
    /// A signal cannot be caught: then nothing must be changed that it would leave behind.
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

    /// What is set by every signal.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// What the next Ctrl-C sets.
    pub(super) fn next_press(&self) -> Arc<AtomicBool> {
        self.pressed.store(false, Ordering::Relaxed);
        Arc::clone(&self.pressed)
    }
}
