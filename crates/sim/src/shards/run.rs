//! Runs the shards of a network on several threads: windows, meetings and the end of the run.

use super::exchange::{Exchange, Mail};
use super::news::News;
use super::partition::{Partition, Shard};
use super::rows::{AnyRow, Keep, OrderedRow};
use crate::host::connections::COMMON;
use crate::host::slots::INTERVAL;
use crate::ids::{HostId, Id, ShardId, SwitchId};
use crate::world::calendar::LinkPlace;
use crate::world::timers::{Moment, Timer};
use crate::{Progress, SimError, Simulation};
use bufferlab_metrics::{RunSink, RunTotals};
use bufferlab_scenario::{Scenario, TieOrder};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Reason why a scenario needs one thread, if any: distant components change at one instant, or the
/// run writes rows before its end.
fn obstacle(scenario: &Scenario) -> Option<&'static str> {
    let obstacles = [
        (scenario.tie_order != TieOrder::Fair, "simultaneous events in the order of their insertion"),
        (scenario.topology.links.iter().any(|cable| !cable.down.is_empty()), "cables that go down"),
        (scenario.transports.iter().any(|spec| spec.persistent.is_some()), "persistent connections"),
        (
            scenario
                .workloads
                .iter()
                .any(|spec| spec.workload.largest_flow_bytes() == Some(FlowSpec::UNLIMITED)),
            "flows without an end",
        ),
        (scenario.output.sample_flows && scenario.output.sample_interval > Time::ZERO, "samples of flows"),
        (scenario.output.explain_losses.is_some(), "explanations"),
    ];
    obstacles.into_iter().find_map(|(is_there, name)| is_there.then_some(name))
}

impl Simulation {
    /// Reason why this simulation of `scenario` runs on one thread, even if [`Self::run_on`] may
    /// use more threads. `None` if the simulation can use several threads.
    #[must_use]
    pub fn needs_one_thread(&self, scenario: &Scenario) -> Option<&'static str> {
        let of_the_run = [
            (self.verify, "verification after every event"),
            (self.records.explainer.is_some(), "explanations"),
            (self.demand.has_closed_loops(), "closed loops"),
            (self.is_stepped, "steps of the caller"),
        ];
        let of_the_run = of_the_run.into_iter().find_map(|(is_there, name)| is_there.then_some(name));
        let in_circles = || {
            self.may_wait_in_circles()
                .then_some("pauses that can wait for each other in a circle of switches")
        };
        let of_the_run = of_the_run.or_else(|| obstacle(scenario)).or_else(in_circles);
        of_the_run.or_else(|| self.partition(scenario, 2).err())
    }

    /// Divides the network into at most `parts` shards.
    ///
    /// # Errors
    /// The reason why this network cannot be divided.
    fn partition(&self, scenario: &Scenario, parts: usize) -> Result<Partition, &'static str> {
        let (topology, links) = (&self.plan.topology, self.world.links());
        if !self.demand.has_schedules() {
            let partition = Partition::new(topology, links, None, parts);
            return partition.ok_or("a network with one rack, or with cables that have no delay");
        }
        let groups = self.demand.schedules.groups(topology.hosts.len());
        let Some(partition) = Partition::new(topology, links, Some(&groups), parts) else {
            return Err("ranks that wait for each other without a message between racks");
        };
        let obstacles = [
            (
                !self.hosts.has_slots_by_host(),
                "schedules in which some ranks send far more at once than others",
            ),
            (self.hosts.have_paced_flows(), "flows at a constant rate beside schedules"),
            (scenario.output.packets.is_some(), "records of packets of schedules"),
            (
                self.demand.schedules.shortest_pause().is_some_and(|pause| pause < partition.lookahead),
                "executions of a schedule without a pause of a cable's delay between them",
            ),
            (
                !scenario.faults.is_empty() && partition.splits_racks(links),
                "pause storms of hosts in servers with several racks",
            ),
        ];
        match obstacles.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, reason)) => Err(reason),
            None => Ok(partition),
        }
    }

    /// Runs like [`Self::run_while`], but on several threads. The result tables equal the tables of
    /// a run on one thread, byte for byte. `scenario` must be the scenario from which this
    /// simulation was built.
    ///
    /// One thread does all the work if the network cannot be divided ([`Self::needs_one_thread`]).
    /// The number of threads is at most the number of racks.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_while`].
    pub fn run_on(
        self,
        threads: NonZero<usize>,
        scenario: &Scenario,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<RunTotals, SimError> {
        if threads.get() == 1 || self.needs_one_thread(scenario).is_some() {
            return self.run_while(sink, go_on);
        }
        match self.partition(scenario, threads.get()) {
            Ok(partition) => {
                let helpers = partition.parts - 1;
                self.run_divided((&Arc::new(partition), helpers), scenario, sink, go_on)
            }
            Err(_) => self.run_while(sink, go_on),
        }
    }

    /// Runs all shards of the network on this thread and on helping threads.
    fn run_divided(
        mut self,
        (partition, helpers): (&Arc<Partition>, usize),
        scenario: &Scenario,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<RunTotals, SimError> {
        let exchange = Exchange::new(partition.parts);
        self.become_shard(Shard { part: ShardId::FIRST, partition: Arc::clone(partition) });
        let mut first = Part::new(self, &exchange);
        let others = (1..partition.parts).map(|_| Mutex::default()).collect();
        let crew = Crew { scenario, partition, exchange: &exchange, others };
        let mut clerk = Clerk { sink: &mut *sink, go_on, reported: 0 };
        let ending = thread::scope(|scope| {
            let crew = &crew;
            let help = |home| scope.spawn(move || crew.help(ShardId::from_index(home)));
            let helpers: Vec<_> = (1..=helpers).map(help).collect();
            let ending = crew.lead(&mut first, &mut clerk);
            for helper in helpers {
                helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            ending
        });
        let ending = ending?;
        let others = crew.others.into_iter().map(Other::into_simulation).collect::<Result<Vec<_>, _>>()?;
        let mut this = first.simulation;
        let end = match ending {
            Ending::Over(end) => end,
            Ending::Cut => this.plan.end,
            // Another shard stopped the run, but no shard has reported a reason for the stop.
            Ending::Stopped => return Err(SimError::Interrupted),
        };
        for (index, other) in others.into_iter().enumerate() {
            this.adopt(ShardId::from_index(index + 1), other.expect("every shard has run"));
        }
        this.world.advance_to(end);
        for (at, account) in exchange.accounts().drain(..) {
            this.records.note_end(at, account);
        }
        this.flush_rows(Time::MAX, sink)?;
        write_rows(&mut exchange.rows(), Time::MAX, sink)?;
        this.write_results(sink)
    }

    /// Restricts this simulation to one shard of the network.
    fn become_shard(&mut self, shard: Shard) {
        self.is_plain = !self.records.measures_delays();
        self.world.set_border(&shard);
        self.hosts.set_shard(shard.clone());
        if let Some(pfc) = &mut self.pfc {
            pfc.become_shard();
        }
        if self.demand.has_schedules() {
            let hosts = shard.partition.hosts.iter().map(|&part| part == shard.part).collect();
            let is_first = shard.part == ShardId::FIRST;
            self.demand.schedules.become_shard(is_first, hosts, self.records.downlinks.clone());
            self.starts = Some(Vec::new());
        }
        self.part = Some(shard);
    }

    /// Whether paused links can wait for each other in a circle. Only a view of the whole network
    /// at one instant finds such a circle.
    fn may_wait_in_circles(&self) -> bool {
        self.pfc.is_some() && self.world.routes().have_circles(self.world.links())
    }

    /// Handles the events before `end`. `rare` receives the moments of events that are
    /// not link events.
    fn run_window(&mut self, end: Time, rare: &mut Rare) -> Result<(), SimError> {
        let records_packets = self.records.output.packets.is_some();
        loop {
            if records_packets {
                self.handle_recorded_link_events(end, &mut rare.rows)?;
            } else {
                self.handle_link_events(end - Time(1), u64::MAX)?;
            }
            let rare_event = self.next_rare_event();
            if rare_event >= end {
                return Ok(());
            }
            self.world.advance_to(rare_event);
            if let Some(moment) = self.handle_rare_event_of_part(&mut rare.rows)? {
                self.events += 1;
                rare.events.push(moment);
            }
        }
    }

    /// Handles link events like [`Self::handle_link_events`], and adds the rows of their packets to
    /// `rows`.
    #[cold]
    fn handle_recorded_link_events(&mut self, end: Time, rows: &mut Vec<OrderedRow>) -> Result<(), SimError> {
        loop {
            let (next, handled) = (self.world.next_link_event(), self.events);
            let place = self.world.place_of(next);
            self.handle_link_events(end - Time(1), handled + 1)?;
            if self.events == handled {
                return Ok(());
            }
            let moment = Moment { at: next.time, timer: None };
            self.keep_packets(&mut Keep { moment, place, rows });
        }
    }

    /// Keeps the rows of packet events that the current event has added.
    fn keep_packets(&mut self, keep: &mut Keep<'_>) {
        self.records.packets.drain(..).for_each(|row| keep.keep(AnyRow::Packet(Box::new(row))));
    }

    /// The shard of the network that this simulation runs.
    fn shard(&self) -> &Shard {
        self.part.as_ref().expect("the network is divided")
    }

    /// Whether a timer that has expired concerns this shard.
    fn is_here(&self, timer: Timer) -> bool {
        let shard = self.shard();
        match timer {
            Timer::Policy(switch) => shard.has_switch(switch),
            Timer::Sample => shard.has_switch(SwitchId(self.records.output.sample_switch)),
            Timer::Pause(timer) => self.pfc.as_ref().is_some_and(|pfc| pfc.is_in(shard, timer)),
            _ => true,
        }
    }

    /// Handles a rare event as in a run on one thread, and returns the event's moment. `None` if
    /// another shard counts the event.
    fn handle_rare_event_of_part(&mut self, rows: &mut Vec<OrderedRow>) -> Result<Option<Moment>, SimError> {
        let at = self.world.now();
        if self.world.timers().next_time() > self.world.now() {
            let flow = self.demand.take_flow();
            let is_here = self.shard().has_host(HostId::new(flow.src));
            if is_here || self.starts.is_none() {
                self.start_flow(flow, COMMON)?;
            } else if self.shard().part == ShardId::FIRST {
                self.demand.queries.note_start(&flow);
            }
            return Ok(is_here.then_some(Moment { at, timer: None }));
        }
        let timer = self.world.timers().pop().expect("a timer is due");
        if !self.is_here(timer) {
            return Ok(None);
        }
        let moment = Moment { at, timer: Some(timer) };
        let mut keep = Keep { moment, place: LinkPlace::default(), rows };
        self.hosts.set_timer(Some(timer));
        self.demand.set_timer(at, Some(timer));
        if let Some(pfc) = self.pfc.as_mut().filter(|_| matches!(timer, Timer::Pause(_) | Timer::Policy(_))) {
            pfc.note_timer(moment);
        }
        self.handle_timer(timer, &mut keep)?;
        self.hosts.set_timer(None);
        self.demand.set_timer(at, None);
        if let Some(pfc) = self.pfc.as_mut().filter(|pfc| pfc.has_rows()) {
            let (spans, storms) = pfc.take_rows();
            spans.for_each(|row| keep.keep(AnyRow::PauseSpan(row)));
            storms.for_each(|row| keep.keep(AnyRow::Watchdog(row)));
        }
        self.keep_packets(&mut keep);
        let is_common = matches!(timer, Timer::PhaseEnd | Timer::ScheduleBegin(_));
        let is_counted = !is_common || self.shard().part == ShardId::FIRST;
        Ok(is_counted.then_some(moment))
    }
}

/// Writes the rows of events before `until`, in the order of the events.
fn write_rows(rows: &mut Vec<OrderedRow>, until: Time, sink: &mut dyn RunSink) -> Result<(), SimError> {
    rows.sort_by_key(|row| (row.moment, row.place));
    let due = rows.partition_point(|row| row.moment.at < until);
    rows.drain(..due).try_for_each(|row| row.write(sink))
}

/// Events of an interval that other shards must know.
#[derive(Debug, Default)]
struct Rare {
    /// Moments of rare events: all events except link events.
    events: Vec<Moment>,
    rows: Vec<OrderedRow>,
}

/// Guard that stops the other threads if its thread panics.
struct Leaver<'a>(&'a Exchange);

impl Drop for Leaver<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.break_up();
        }
    }
}

/// The threads of a run, and the shards that any of the threads may run.
struct Crew<'a> {
    scenario: &'a Scenario,
    partition: &'a Arc<Partition>,
    exchange: &'a Exchange,
    /// All shards except the first, which only the leading thread runs.
    others: Vec<Mutex<Other<'a>>>,
}

/// A shard that any thread may run.
#[derive(Default)]
struct Other<'a> {
    /// `None` until a thread has built the shard.
    part: Option<Part<'a>>,
    failure: Option<SimError>,
}

impl Other<'_> {
    /// The simulation of the shard at the end of the run. `None` if the run has failed before.
    ///
    /// # Errors
    /// The failure of the shard.
    fn into_simulation(this: Mutex<Self>) -> Result<Option<Simulation>, SimError> {
        let Self { part, failure } = this.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or_else(|| Ok(part.map(|part| part.simulation)), Err)
    }
}

impl Crew<'_> {
    /// Runs the first shard in every round, and then the shards that no other thread has taken.
    fn lead(&self, first: &mut Part<'_>, clerk: &mut Clerk<'_>) -> Result<Ending, SimError> {
        let _leaver = Leaver(self.exchange);
        for round in 0.. {
            let ending = first.advance(Some(clerk));
            if ending.is_some() {
                self.exchange.end();
            }
            self.exchange.complete(round);
            self.run_others(ShardId::FIRST, round);
            let is_complete = self.exchange.wait_for(round).is_ok();
            match ending {
                Some(ending) => return ending,
                None if is_complete => {}
                None => return Ok(Ending::Stopped),
            }
        }
        unreachable!("rounds are counted without an end")
    }

    /// Runs shards that no other thread has taken, first shard `home`, until the run is over.
    fn help(&self, home: ShardId) {
        let _leaver = Leaver(self.exchange);
        let mut seen = 0;
        while !self.exchange.is_over() {
            let round = self.exchange.rounds();
            self.run_others(home, round);
            if self.exchange.wait_for(round).is_err() {
                return;
            }
            self.exchange.rest(&mut seen);
        }
    }

    /// Runs the shards that no thread has taken for round `round`, from shard `home` on.
    fn run_others(&self, home: ShardId, round: u64) {
        let others = self.others.len();
        let start = home.index().max(1) - 1;
        for place in (start..others).chain(0..start) {
            let part = ShardId::from_index(1 + place);
            if self.exchange.take(part, round) && self.advance(part) {
                self.exchange.complete(round);
            }
        }
    }

    /// Runs shard `part` in a round. Returns false if a thread cannot build the shard, so that no
    /// thread waits for the round.
    fn advance(&self, part: ShardId) -> bool {
        let mut other = self.others[part.index() - 1].lock().unwrap_or_else(PoisonError::into_inner);
        let Other { part: place, failure } = &mut *other;
        let running = match place {
            Some(running) => running,
            None => match Simulation::new(self.scenario) {
                Ok(mut simulation) => {
                    simulation.become_shard(Shard { part, partition: Arc::clone(self.partition) });
                    place.insert(Part::new(simulation, self.exchange))
                }
                Err(error) => {
                    *failure = Some(error);
                    self.exchange.break_up();
                    return false;
                }
            },
        };
        match running.advance(None) {
            Some(Err(error)) => *failure = Some(error),
            Some(Ok(_)) => {}
            None => return true,
        }
        self.exchange.end();
        true
    }
}

/// Writes rows and reports the progress of the run.
struct Clerk<'a> {
    sink: &'a mut dyn RunSink,
    go_on: &'a mut dyn FnMut(&Progress) -> bool,
    /// Number of events of the reporting shard at the previous progress report.
    reported: u64,
}

/// Reason for the end of a run that is divided into shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The run ended at the given time, because no work was left.
    Over(Time),
    /// The run has reached its time limit.
    Cut,
    /// Another shard stopped the run and reports the reason.
    Stopped,
}

/// A shard of the network while the shard runs.
struct Part<'a> {
    simulation: Simulation,
    exchange: &'a Exchange,
    shard: Shard,
    stage: Stage,
    /// Number of the present window.
    window: u64,
    /// End of the present window.
    end: Time,
    failure: Option<SimError>,
    rare: Rare,
    /// End time of the flow that ended last in this shard.
    last_end: Moment,
    /// News of this shard about flows and schedules, in the current window.
    news: News,
}

/// Data that a shard has published last.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No data, because the run begins.
    Begin,
    /// Data of a window.
    Window,
    /// Flows that ended in an interval. The next window begins with the event at `next`.
    Interval { next: Time },
}

impl<'a> Part<'a> {
    fn new(simulation: Simulation, exchange: &'a Exchange) -> Self {
        let shard = simulation.part.clone().expect("it has become a part");
        Self {
            simulation,
            exchange,
            shard,
            stage: Stage::Begin,
            window: 0,
            end: Time::ZERO,
            failure: None,
            rare: Rare::default(),
            last_end: Moment::ZERO,
            news: News::default(),
        }
    }

    /// Runs the shard until it needs the data of all shards. Returns the ending of the run, if the
    /// run has ended.
    fn advance(&mut self, mut clerk: Option<&mut Clerk<'_>>) -> Option<Result<Ending, SimError>> {
        match self.stage {
            Stage::Begin => {
                self.complete_window(clerk);
                None
            }
            Stage::Window => {
                let (next, stops) = self.exchange.next(self.window);
                if stops {
                    return Some(self.failure.take().map_or(Ok(Ending::Stopped), Err));
                }
                if self.simulation.starts.is_some()
                    && let Err(error) = self.collect_news(self.window)
                {
                    self.failure.get_or_insert(error);
                }
                self.collect(self.window);
                let is_last = next > self.simulation.plan.end;
                if self.end > Time::ZERO && (is_last || interval(next) != interval(self.end - Time(1))) {
                    self.publish_retired();
                    self.stage = Stage::Interval { next };
                    return None;
                }
                self.go_on(next, clerk)
            }
            Stage::Interval { next } => {
                match self.settle(clerk.as_deref_mut()) {
                    Ok(Some(ending)) => return Some(self.simulation.check_all().map(|()| ending)),
                    Ok(None) => {}
                    Err(error) => self.failure = Some(error),
                }
                self.go_on(next, clerk)
            }
        }
    }

    /// Runs the window from the event at `next` on, unless that is too late.
    fn go_on(&mut self, next: Time, clerk: Option<&mut Clerk<'_>>) -> Option<Result<Ending, SimError>> {
        if next > self.simulation.plan.end {
            let checked = || self.simulation.check_all().map(|()| Ending::Cut);
            return Some(self.failure.take().map_or_else(checked, Err));
        }
        let window_end = Time(next.0.saturating_add(self.shard.partition.lookahead.0));
        let interval_end = Time((interval(next) + 1) * INTERVAL.0);
        self.end = window_end.min(interval_end).min(self.simulation.plan.end + Time(1));
        self.window += 1;
        if let Err(error) = self.simulation.run_window(self.end, &mut self.rare) {
            self.failure.get_or_insert(error);
        }
        self.complete_window(clerk);
        None
    }

    /// Publishes what the shard has done in the present window.
    fn complete_window(&mut self, clerk: Option<&mut Clerk<'_>>) {
        if let Err(error) = self.look_round(self.window, clerk) {
            self.failure.get_or_insert(error);
        }
        self.post(self.window, self.failure.is_some());
        self.stage = Stage::Window;
    }

    /// Checks the shard for failures and for an interruption, at intervals.
    fn look_round(&mut self, window: u64, clerk: Option<&mut Clerk<'_>>) -> Result<(), SimError> {
        const EVENTS: u64 = 1 << 18;
        let Some(clerk) = clerk.filter(|clerk| self.simulation.events >= clerk.reported + EVENTS) else {
            return Ok(());
        };
        clerk.reported = self.simulation.events;
        self.simulation.check_controls()?;
        self.simulation.check_cards()?;
        self.simulation.check_demand()?;
        self.simulation.check_marking()?;
        let packet_hops = self.exchange.hops(window.saturating_sub(1));
        let progress = Progress { packet_hops, ..self.simulation.progress_of_events() };
        if (clerk.go_on)(&progress) { Ok(()) } else { Err(SimError::Interrupted) }
    }

    /// Publishes the results of this window for the other shards.
    fn post(&mut self, window: u64, stops: bool) {
        self.news = self.simulation.take_news();
        let begin = self.simulation.demand.schedules.earliest_begin(&self.news.ended);
        let Self { simulation, exchange, news, .. } = self;
        for part in (0..self.shard.partition.parts).filter(|&part| part != self.shard.part.index()) {
            let mut mail = exchange.mail(window, self.shard.part, ShardId::from_index(part));
            let Mail { packets, reports, notes, timers, starts, ended, schedule } = &mut *mail;
            starts.clone_from(&news.starts);
            ended.clone_from(&news.ended);
            if part == ShardId::FIRST.index() {
                std::mem::swap(schedule, &mut news.notes);
            }
            let out = simulation.world.out(part);
            std::mem::swap(timers, &mut out.timers);
            std::mem::swap(packets, &mut out.packets);
            std::mem::swap(reports, &mut out.reports);
            std::mem::swap(notes, simulation.hosts.notes(part));
        }
        let own = simulation.world.next_link_event().time.min(simulation.demand.next_start());
        let crossing = simulation.world.take_first_crossing();
        let next = own.min(simulation.world.timers().next_time()).min(crossing).min(begin);
        exchange.give_notice(window, self.shard.part, next, stops, simulation.world.packet_hops());
    }

    /// Reads the data about flows and schedules that all shards have published in this window.
    fn collect_news(&mut self, window: u64) -> Result<(), SimError> {
        let Self { simulation, exchange, shard, news, .. } = self;
        let News { starts, mut ended, notes } = std::mem::take(news);
        let (mut starts, mut notes) = (vec![starts], vec![notes]);
        for part in (0..shard.partition.parts).filter(|&part| part != shard.part.index()) {
            let mut mail = exchange.mail(window, ShardId::from_index(part), shard.part);
            starts.push(std::mem::take(&mut mail.starts));
            notes.push(std::mem::take(&mut mail.schedule));
            ended.append(&mut mail.ended);
        }
        simulation.take_all_news((starts, notes), &ended)
    }

    /// Reads the data that other shards have published for this shard.
    fn collect(&mut self, window: u64) {
        let Self { simulation, exchange, shard, .. } = self;
        for part in (0..shard.partition.parts).filter(|&part| part != shard.part.index()) {
            let mut mail = exchange.mail(window, ShardId::from_index(part), shard.part);
            let Mail { packets, reports, notes, timers, .. } = &mut *mail;
            let mut reports = reports.drain(..);
            for crossing in packets.drain(..) {
                simulation.world.accept(crossing, reports.next());
            }
            for note in notes.drain(..) {
                simulation.hosts.take_note(&note);
            }
            for (at, timer) in timers.drain(..) {
                simulation.world.timers().push(at, timer);
            }
        }
    }

    /// Publishes the flows of this shard that ended in the interval of flow slots.
    fn publish_retired(&mut self) {
        let mut retired = self.exchange.retired(self.shard.part);
        retired.clear();
        self.simulation.hosts.take_retired(&mut retired);
    }

    /// Ends the interval of flow slots: the shard learns which flows of all shards are over.
    /// Returns the end time of the run, if the run has ended.
    fn settle(&mut self, clerk: Option<&mut Clerk<'_>>) -> Result<Option<Ending>, SimError> {
        let Self { simulation, exchange, shard, .. } = self;
        let start = Time(interval(self.end - Time(1)) * INTERVAL.0);
        let mut ends = Vec::new();
        for part in (0..shard.partition.parts).map(ShardId::from_index) {
            for retired in exchange.retired(part).iter() {
                ends.push(retired.at.at);
                self.last_end = self.last_end.max(retired.at);
                if let Some(account) = simulation.hosts.end(retired) {
                    exchange.accounts().push((retired.at.at, account));
                }
            }
        }
        simulation.hosts.note_peak(&mut ends);
        let is_over = simulation.is_over();
        if let Some(clerk) = clerk {
            for (at, account) in exchange.accounts().drain(..) {
                simulation.records.note_end(at, account);
            }
            // Other shards may still publish flows that ended in this interval.
            simulation.flush_rows(start, clerk.sink)?;
            write_rows(&mut exchange.rows(), start, clerk.sink)?;
        }
        let phase_end = Moment { at: simulation.plan.duration, timer: Some(Timer::PhaseEnd) };
        let end = self.last_end.max(phase_end).max(simulation.demand.schedules.last_moment());
        let Rare { events, rows } = &mut self.rare;
        if is_over {
            // A run on one thread would not reach events after the end of the run.
            let late = events.iter().filter(|moment| **moment > end).count();
            simulation.events -= late as u64;
            rows.retain(|row| row.moment <= end);
        }
        if let Some(pfc) = &mut simulation.pfc {
            if is_over {
                pfc.undo_after(end);
            }
            pfc.clear_journal();
        }
        events.clear();
        exchange.rows().append(rows);
        Ok(is_over.then_some(Ending::Over(end.at)))
    }
}

/// Number of the interval of flow slots that contains `time`.
fn interval(time: Time) -> u64 {
    time.0 / INTERVAL.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_metrics::FlowRow;
    use std::path::Path;

    #[derive(Default)]
    struct Flows(Vec<String>);

    impl RunSink for Flows {
        fn flow(&mut self, row: &FlowRow) -> std::io::Result<()> {
            self.0.push(format!("{row:?}"));
            Ok(())
        }
    }

    #[test]
    fn a_run_needs_no_helping_thread_to_get_a_core() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/reverie-reduced.toml");
        let overrides = [("duration", "\"1 ms\""), ("drain", "\"1 ms\"")];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let scenario = bufferlab_scenario::load(&path, &overrides).expect("the scenario is valid").scenario;
        let results = |helpers: Option<usize>| {
            let (simulation, mut flows) = (Simulation::new(&scenario).expect("it fits"), Flows::default());
            let totals = match helpers {
                None => simulation.run(&mut flows, &mut |_| ()),
                Some(helpers) => {
                    let partition = simulation.partition(&scenario, 4).expect("it has four racks");
                    assert_eq!(partition.parts, 4);
                    let crew = (&Arc::new(partition), helpers);
                    simulation.run_divided(crew, &scenario, &mut flows, &mut |_| true)
                }
            };
            (RunTotals { peak_packets: 0, ..totals.expect("the run succeeds") }, flows.0)
        };
        let whole = results(None);
        assert!(whole.1.len() > 20, "{} flows", whole.1.len());
        for helpers in 0..4 {
            assert_eq!(results(Some(helpers)), whole, "{helpers} helping threads");
        }
    }
}
