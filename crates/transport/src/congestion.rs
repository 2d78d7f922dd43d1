//! Congestion control: the interface and the registry.

mod cubic;
mod dcqcn;
mod dctcp;
mod ecn_star;
mod hpcc;
mod hystart;
mod new_reno;
mod power_tcp;
mod rate;
mod swift;
mod theta_power_tcp;
mod timely;

use crate::telemetry::HopReport;
use crate::{CongestionStates, TcpConfig};
use bufferlab_params::{BuildError, ParamInfo, ParamValue, Params, Profile, RegisterError, Registry};
use bufferlab_units::Time;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

pub use cubic::Cubic;
pub use dcqcn::{Dcqcn, DcqcnParameters, DcqcnReaction, DcqcnSet};
pub use dctcp::Dctcp;
pub use hpcc::Hpcc;
pub use hystart::HyStart;
pub use new_reno::NewReno;
pub use power_tcp::{FirstAck, PowerTcp};
pub use swift::Swift;
pub use theta_power_tcp::ThetaPowerTcp;
pub use timely::Timely;

/// Every congestion control of bufferlab: the one list behind scenario files, schema, documentation
/// and reports.
pub static CONGESTION_CONTROLS: &[&CongestionControlInfo] = &[
    &new_reno::INFO,
    &cubic::INFO,
    &dctcp::INFO,
    &ecn_star::INFO,
    &timely::INFO,
    &swift::INFO,
    &hpcc::INFO,
    &power_tcp::INFO,
    &theta_power_tcp::INFO,
    &dcqcn::INFO,
];

/// [`CONGESTION_CONTROLS`], and what a program brings along.
pub static CONTROLS: Registry<CongestionControlInfo> = Registry::new(CONGESTION_CONTROLS);

/// The congestion control called `name`, built in or registered.
#[must_use]
pub fn find_congestion_control(name: &str) -> Option<&'static CongestionControlInfo> {
    CONTROLS.find(name)
}

/// Adds a congestion control from outside of this crate ([`Registry::register`]).
///
/// ```
/// use bufferlab_transport::*;
/// use bufferlab_units::Time;
///
/// /// Sends a fixed window, whatever happens.
/// #[derive(Clone, Debug)]
/// struct Fixed;
///
/// impl Controller for Fixed {
///     fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, _: &AckEvent<'_>) {
///         window.size = f64::from(config.initial_window);
///     }
/// }
///
/// register_congestion_control(CongestionControlInfo {
///     name: "fixed",
///     title: "Fixed window",
///     summary: "The first window, for ever.",
///     source: "An example.",
///     governs_window: true,
///     build: &|_, _| Ok(Box::new(|_, _| CongestionControl::boxed(Fixed))),
///     ..CongestionControlInfo::PLAIN
/// })?;
/// assert!(find_congestion_control("fixed").is_some());
/// # Ok::<(), bufferlab_params::RegisterError>(())
/// ```
///
/// # Errors
/// If a name is taken or breaks the rules of names, a text is missing, or a parameter's default
/// lies outside its domain.
pub fn register_congestion_control(
    info: CongestionControlInfo,
) -> Result<&'static CongestionControlInfo, RegisterError> {
    CONTROLS.register(info)
}

/// Like [`register_congestion_control`], but takes the place of an own control of the same name
/// ([`Registry::replace`]).
///
/// # Errors
/// As [`register_congestion_control`]; if one of the names belongs to another control.
pub fn replace_congestion_control(
    info: CongestionControlInfo,
) -> Result<&'static CongestionControlInfo, RegisterError> {
    CONTROLS.replace(info)
}

/// The state of a control at the start of a flow, which may change the first window. Made once per
/// transport; it holds the parameters.
pub type Starter = Box<dyn Fn(&TcpConfig, &mut Window) -> CongestionControl + Send + Sync>;

/// Makes a [`Starter`] of complete parameters, for the path that the configuration describes (line
/// rate, base round trip).
pub type ControlConstructor =
    &'static (dyn Fn(&Params, &TcpConfig) -> Result<Starter, BuildError> + Send + Sync);

/// A registry entry.
pub struct CongestionControlInfo {
    /// Name in scenario files.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Name in full.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether it wants its packets marked rather than dropped.
    pub uses_ecn: bool,
    /// Whether every switch on the way must report its queue ([`HopReport`]).
    pub wants_telemetry: bool,
    /// Whether it alone sets the window: losses change it only as far as the control wants, and no
    /// proportional rate reduction takes place. A timeout still leaves one segment until the next
    /// ACK.
    pub governs_window: bool,
    /// Whether a flow begins with one bandwidth-delay product in flight, where the scenario does
    /// not say otherwise.
    pub starts_at_line_rate: bool,
    /// Whether it needs the notifications of queue pairs. Those take every control that governs its
    /// window.
    pub rdma_only: bool,
    /// Its parameters.
    pub params: &'static [ParamInfo],
    /// The constructor. `Params` is complete and every value is in its domain.
    pub build: ControlConstructor,
}

bufferlab_params::entry!(CongestionControlInfo, "congestion control");

impl fmt::Debug for CongestionControlInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CongestionControlInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CongestionControlInfo {
    /// Neither names nor texts, no parameters, no wishes; NewReno's reaction: the base of an own
    /// entry.
    pub const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        summary: "",
        source: "",
        uses_ecn: false,
        wants_telemetry: false,
        governs_window: false,
        starts_at_line_rate: false,
        rdma_only: false,
        params: &[],
        build: &|_, _| Ok(Box::new(|_, _| CongestionControl::NewReno(NewReno))),
    };

    /// The control with these parameters, on the path of `config`.
    ///
    /// # Errors
    /// The parameter that does not fit the others.
    pub fn configure(
        &'static self,
        params: &Params,
        config: &TcpConfig,
    ) -> Result<ConfiguredControl, BuildError> {
        Ok(ConfiguredControl { info: self, start: Arc::new((self.build)(params, config)?) })
    }

    /// [`Self::configure`] with the defaults of `profile` but for the values that are `given`.
    ///
    /// # Errors
    /// A value that is no parameter of this control or lies outside its domain.
    pub fn configure_with(
        &'static self,
        profile: Profile,
        given: &[(String, ParamValue)],
        config: &TcpConfig,
    ) -> Result<ConfiguredControl, BuildError> {
        let params = Params::resolve(self.params, profile, given)
            .map_err(|error| BuildError { param: "congestion_control", message: error.to_string() })?;
        self.configure(&params, config)
    }
}

/// A congestion control with its parameters, from which flows take their state.
#[derive(Clone)]
pub struct ConfiguredControl {
    info: &'static CongestionControlInfo,
    start: Arc<Starter>,
}

impl fmt::Debug for ConfiguredControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfiguredControl").field(&self.info.name).finish()
    }
}

impl ConfiguredControl {
    /// What it is.
    #[must_use]
    pub fn info(&self) -> &'static CongestionControlInfo {
        self.info
    }

    /// The state of a flow that begins; may change its first window.
    #[must_use]
    pub fn start(&self, config: &TcpConfig, window: &mut Window) -> CongestionControl {
        (self.start)(config, window)
    }
}

/// What a sender may send: a window and, for some, a pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The congestion window (segments), at least 1.
    pub size: f64,
    /// Below it the window grows exponentially (segments).
    pub slow_start_threshold: f64,
    /// Least time between two segments; zero: as fast as the card takes them.
    pub pacing_gap: Time,
}

/// What an ACK tells.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// When it came.
    pub now: Time,
    /// The round trip of the segment that caused it: time of arrival less the echoed time of
    /// sending (RFC 7323).
    pub rtt: Time,
    /// Segments that it reports as arrived for the first time.
    pub delivered: u32,
    /// It echoes a congestion mark.
    pub marked: bool,
    /// Segments acknowledged cumulatively so far.
    pub acknowledged: u32,
    /// Next new segment.
    pub next: u32,
    /// Segments in the network just before it came.
    pub in_flight: u32,
    /// The window may grow: no recovery, no reduction by a mark is under way, and the window was
    /// full at some time in the last round trip: what held the sender back was neither the
    /// application nor the card (RFC 7661, RFC 9438 section 5.8).
    pub may_grow: bool,
    /// What the switches on the way of that segment reported, in their order. Empty unless the
    /// control asks for it.
    pub telemetry: &'a [HopReport],
}

/// Controls that in the public ns-3 code set the window with the update of each round trip only, so
/// that in between it stays as recoveries and timeouts left it.
const NS3_ONCE_PER_ROUND_TRIP: [&str; 2] = [theta_power_tcp::INFO.name, timely::INFO.name];

impl CongestionControlInfo {
    /// Whether the sender's recovery leaves the window alone.
    pub(crate) fn governs_window_in(&self, states: CongestionStates) -> bool {
        let shares = states == CongestionStates::Ns3 && NS3_ONCE_PER_ROUND_TRIP.contains(&self.name);
        self.governs_window && !shares
    }
}

/// A reason to slow down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// Loss found by SACKs: fast recovery begins.
    Loss,
    /// A congestion mark, at most once per round trip.
    Mark,
    /// The retransmission timer expired.
    Timeout,
}

/// The reaction of one flow to what it hears of the network. A control is a value of its own per
/// flow and holds its parameters.
///
/// `config` describes the flow's transport and path; `window` is what the control moves. Windows
/// are in segments.
pub trait Controller: fmt::Debug + Send + CloneController {
    /// An ACK has come. Respect [`AckEvent::may_grow`].
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>);

    /// The flow must slow down at `now`, with `flight` segments in the network: sets the slow-start
    /// threshold. The caller sets the window itself, as the recovery demands, unless the control
    /// governs its window. Controls whose signals are queues, rates or delays may leave losses to
    /// the recovery.
    fn on_congestion(
        &mut self,
        _config: &TcpConfig,
        _window: &mut Window,
        _event: CongestionEvent,
        _flight: u32,
        _now: Time,
    ) {
    }

    /// A congestion notification has come in a frame of its own.
    fn on_notification(&mut self, _config: &TcpConfig, _window: &mut Window, _now: Time) {}

    /// A packet of `bytes` on the wire is about to be sent by a queue pair: lets time pass and
    /// counts it.
    fn on_sent(&mut self, _config: &TcpConfig, _window: &mut Window, _now: Time, _bytes: u32) {}

    /// The connection carries another message, whose segments count from 0, after it was `idle` for
    /// so long. What was learned of the path stays; what refers to segments starts over, and idle
    /// time does not count as time in which a window grew.
    fn begin_message(&mut self, _idle: Time) {}

    /// Internal state worth plotting or testing: estimates, rates. Never in the hot path.
    fn probe(&self, _sink: &mut dyn FnMut(&'static str, f64)) {}

    /// An error inside the control, once: what makes everything that follows meaningless. Asked
    /// when a flow ends, from time to time, and at the end of a run, which then has no result.
    /// Until then the control is called as before, and leaves the window alone.
    fn take_failure(&mut self) -> Option<ControlFailure> {
        None
    }
}

/// A defect of a congestion control, with the time at which it showed.
#[derive(Clone, Debug)]
pub struct ControlFailure {
    /// When; [`Time::ZERO`] if the flow could not begin.
    pub now: Time,
    /// Which method of [`Controller`] it was: `"on_ack"`.
    pub hook: &'static str,
    /// What happened, in one sentence.
    pub what: String,
    /// The error behind it, if the control had one.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl fmt::Display for ControlFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.hook, self.what)
    }
}

impl Error for ControlFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// Copies a boxed control with its state; every [`Controller`] that is [`Clone`] has it.
pub trait CloneController {
    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn Controller>;
}

impl<T: Controller + Clone + 'static> CloneController for T {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// State of a flow's congestion control. The two smallest and commonest stand in the flow itself,
/// so that the hot path branches instead of calling through a pointer, and flows of NewReno and
/// DCTCP do not carry the space of others. Every other one is a [`Controller`] behind a pointer,
/// built in or not.
#[derive(Debug)]
pub enum CongestionControl {
    /// NewReno, and ECN*.
    NewReno(NewReno),
    /// DCTCP.
    Dctcp(Dctcp),
    /// Any other.
    Boxed(Box<dyn Controller>),
}

impl Clone for CongestionControl {
    fn clone(&self) -> Self {
        match self {
            Self::NewReno(state) => Self::NewReno(*state),
            Self::Dctcp(state) => Self::Dctcp(*state),
            Self::Boxed(state) => Self::Boxed(state.boxed_clone()),
        }
    }
}

impl CongestionControl {
    /// A control of its own.
    #[must_use]
    pub fn boxed(controller: impl Controller + 'static) -> Self {
        Self::Boxed(Box::new(controller))
    }

    /// [`Controller::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        match self {
            Self::NewReno(state) => state.on_ack(window, ack),
            Self::Dctcp(state) => state.on_ack(config, window, ack),
            Self::Boxed(state) => state.on_ack(config, window, ack),
        }
    }

    /// [`Controller::on_notification`].
    pub fn on_notification(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        if let Self::Boxed(state) = self {
            state.on_notification(config, window, now);
        }
    }

    /// [`Controller::on_sent`].
    #[inline]
    pub fn on_sent(&mut self, config: &TcpConfig, window: &mut Window, now: Time, bytes: u32) {
        if let Self::Boxed(state) = self {
            state.on_sent(config, window, now, bytes);
        }
    }

    /// [`Controller::begin_message`].
    pub(crate) fn begin_message(&mut self, idle: Time) {
        match self {
            Self::NewReno(_) => {}
            Self::Dctcp(state) => state.begin_message(),
            Self::Boxed(state) => state.begin_message(idle),
        }
    }

    /// [`Controller::on_congestion`].
    #[inline]
    pub fn on_congestion(
        &mut self,
        config: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
        now: Time,
    ) {
        match self {
            Self::NewReno(state) => state.on_congestion(window, event, flight),
            Self::Dctcp(state) => state.on_congestion(config, window, event, flight),
            Self::Boxed(state) => state.on_congestion(config, window, event, flight, now),
        }
    }

    /// [`Controller::probe`].
    pub fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Self::NewReno(_) => {}
            Self::Dctcp(state) => sink("alpha", state.alpha()),
            Self::Boxed(state) => state.probe(sink),
        }
    }

    /// The value of one of [`Self::probe`]'s names.
    #[must_use]
    pub fn probed(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.probe(&mut |known, value| {
            if known == name {
                found = Some(value);
            }
        });
        found
    }

    /// [`Controller::take_failure`].
    pub fn take_failure(&mut self) -> Option<ControlFailure> {
        match self {
            Self::NewReno(_) | Self::Dctcp(_) => None,
            Self::Boxed(state) => state.take_failure(),
        }
    }
}
