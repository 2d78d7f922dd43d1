//! Threads that keep CPU cores out of idle states.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy,
};

/// Threads of the class `SCHED_IDLE`, one for each core that this process may use. A thread spins
/// while no other thread needs its core. So the core neither enters an idle state nor returns to a
/// hypervisor. Waking from either state takes tens to hundreds of microseconds. Dropping this value
/// ends the threads.
#[derive(Debug)]
pub(crate) struct Awake {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Starts a spinning thread for each CPU core.
    ///
    /// # Errors
    /// If the cores cannot be listed, no thread can be started, or a control group limits CPU time.
    /// Spinning would use up the limited CPU time.
    pub(crate) fn start() -> std::io::Result<Self> {
        let cores = cores()?;
        if std::thread::available_parallelism()?.get() < cores.len() {
            return Err(std::io::Error::other("a control group limits the CPU time"));
        }
        let mut awake = Self { ended: Arc::default(), threads: Vec::new() };
        for core in cores {
            let ended = Arc::clone(&awake.ended);
            let thread = std::thread::Builder::new().name(format!("awake-{core}"));
            awake.threads.push(thread.spawn(move || stay(core, &ended))?);
        }
        Ok(awake)
    }
}

/// Gives the calling thread normal priority, independent of the thread that started it.
pub fn take_usual_priority() {
    let usual = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    // The middle of the range is nice value 0. If the system refuses, the process was started with
    // a higher nice value, and the thread keeps this value.
    let middle = ThreadPriority::Crossplatform(50_u8.try_into().expect("50 lies between 0 and 99"));
    let _ = set_thread_priority_and_policy(thread_native_id(), middle, usual);
}

/// Numbers of the cores that this process may use.
fn cores() -> std::io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect())
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread only spins, so it cannot panic.
            let _ = thread.join();
        }
    }
}

/// Keeps a core awake. The function returns if the system refuses the class `SCHED_IDLE`, because
/// another class would take time from the measured program.
fn stay(core: usize, ended: &AtomicBool) {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    // An error may be about the nice value only, which has no meaning in the class `SCHED_IDLE`.
    // The next lines check the scheduling class.
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    let mut only = CpuSet::new();
    let is_alone = only.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only)).is_ok();
    if !is_alone || thread_schedule_policy() != Ok(idle) {
        return;
    }
    while !ended.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Returns state and scheduling class of each thread of this process with a given name. The
    /// kernel reports both values in proc(5), fields 3 and 41 of `stat`.
    fn threads() -> Vec<(String, u32)> {
        let tasks = std::fs::read_dir("/proc/self/task").expect("this process has threads").flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let ours = stats.filter(|stat| stat.contains("(awake-"));
        ours.map(|stat| {
            let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            (fields[0].to_owned(), fields[38].parse().expect("a class is a number"))
        })
        .collect()
    }

    #[test]
    fn every_core_has_an_idle_thread_until_it_is_dropped() {
        const SCHED_IDLE: u32 = 5;
        let cores = cores().expect("cores can be listed").len();
        let awake = match Awake::start() {
            Ok(awake) => awake,
            Err(error) => {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "SKIPPED threads that keep cores awake: {error}");
                return;
            }
        };
        let since = Instant::now();
        let spins = || {
            let all = threads();
            all.len() == cores && all.iter().all(|one| *one == ("R".to_owned(), SCHED_IDLE))
        };
        while !spins() {
            assert!(since.elapsed() < Duration::from_secs(20), "{:?}", threads());
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(awake);
        assert_eq!(threads(), []);
    }
}
