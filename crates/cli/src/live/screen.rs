//! Takes over the terminal while the live view is shown, and restores the terminal in every case.

use super::board::{Board, Key, Quit, Title};
use super::draw::draw;
use bufferlab_dataplane::Watch;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest time until the view reacts to a key or to a new snapshot.
const PATIENCE: Duration = Duration::from_millis(50);

/// Reason why a terminal cannot show the live view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoTerminal {
    /// Standard output is redirected, so the view has no terminal for its output.
    #[error("standard output is no terminal")]
    Output,
    /// Standard input is redirected, so the view has no terminal for its keys.
    #[error("standard input is no terminal")]
    Input,
    /// The terminal cannot move its cursor.
    #[error("this terminal cannot show it (TERM=dumb)")]
    Dumb,
}

/// Checks whether the live view can be shown.
///
/// # Errors
/// Returns the reason why the terminal cannot show the view.
pub(crate) fn check_terminal() -> Result<(), NoTerminal> {
    if !io::stdout().is_terminal() {
        return Err(NoTerminal::Output);
    }
    if !io::stdin().is_terminal() {
        return Err(NoTerminal::Input);
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err(NoTerminal::Dumb);
    }
    Ok(())
}

/// A guard that restores the terminal when the guard is dropped.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the snapshots of `watch` until the flag `ended` or `stop` is set, or the user quits. Sets
/// `stop` if the switch must end: at Ctrl-C, and at q if [`Quit::Switch`] is set. The caller
/// handles signals. A signal handler that sets `stop` makes this function restore the terminal.
///
/// After a panic anywhere in the program, the terminal is restored before the message is printed.
///
/// # Errors
/// If the terminal cannot be written or read.
pub(crate) fn show(watch: &Watch, title: Title, ended: &AtomicBool, stop: &AtomicBool) -> io::Result<()> {
    let quit = title.quit;
    let mut board = Board::new(title);
    // The guard is created first, because taking over the terminal may fail after a part of the
    // changes.
    let _restore = Restore;
    let mut terminal = ratatui::try_init()?;
    let mut is_stale = true;
    while !ended.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
        is_stale |= watch.latest().is_some_and(|snapshot| board.update(snapshot));
        if is_stale {
            terminal.draw(|frame| draw(&board, frame))?;
            is_stale = false;
        }
        if !event::poll(PATIENCE)? {
            continue;
        }
        is_stale = true;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match meaning(key) {
                Some(Meaning::Board(key)) => board.press(key),
                Some(Meaning::Leave) => {
                    stop.fetch_or(quit == Quit::Switch, Ordering::Relaxed);
                    break;
                }
                Some(Meaning::Stop) => {
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
                None => {}
            },
            _ => {}
        }
    }
    Ok(())
}

/// Effect of a pressed key on the live view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Board(Key),
    /// The user leaves the view with q or Escape.
    Leave,
    /// The user presses Ctrl-C, which is an ordinary key while the view uses the terminal.
    Stop,
}

fn meaning(key: KeyEvent) -> Option<Meaning> {
    let board = |key| Some(Meaning::Board(key));
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Meaning::Stop),
        KeyCode::Char('q') | KeyCode::Esc => Some(Meaning::Leave),
        KeyCode::Char('p' | ' ') => board(Key::Pause),
        KeyCode::Down | KeyCode::Tab | KeyCode::Right | KeyCode::Char('j') => board(Key::Next),
        KeyCode::Up | KeyCode::BackTab | KeyCode::Left | KeyCode::Char('k') => board(Key::Previous),
        KeyCode::PageDown => board(Key::Page(10)),
        KeyCode::PageUp => board(Key::Page(-10)),
        KeyCode::Home | KeyCode::Char('g') => board(Key::First),
        KeyCode::End | KeyCode::Char('G') => board(Key::Last),
        KeyCode::Char('a') => board(Key::Queues),
        KeyCode::Char('s') => board(Key::Sort),
        KeyCode::Char('f') => board(Key::Follow),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_help_says() {
        let key = |code| meaning(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(key(KeyCode::Char('q')), Some(Meaning::Leave));
        assert_eq!(key(KeyCode::Char('p')), Some(Meaning::Board(Key::Pause)));
        assert_eq!(key(KeyCode::Down), Some(Meaning::Board(Key::Next)));
        assert_eq!(key(KeyCode::Tab), key(KeyCode::Down));
        assert_eq!(key(KeyCode::Char('c')), None, "Ctrl belongs to it");
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(meaning(ctrl_c), Some(Meaning::Stop));
    }
}
