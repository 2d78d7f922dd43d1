//! Congestion control: the interface of congestion controls and their registry.

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
use bufferlab_params::{BuildError, ParamValue, Params, Profile, RegisterError, Registry};
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

/// Every congestion control of bufferlab. Scenario files, schema,
/// documentation and reports all read this list.
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

/// All congestion controls: [`CONGESTION_CONTROLS`], and the custom controls that
/// a program registers.
pub static CONTROLS: Registry<CongestionControlInfo> = Registry::new(CONGESTION_CONTROLS);

/// Finds the congestion control called `name` among built-in and registered controls.
#[must_use]
pub fn find_congestion_control(name: &str) -> Option<&'static CongestionControlInfo> {
    CONTROLS.find(name)
}

/// Registers a custom congestion control from outside this crate ([`Registry::register`]).
///
/// ```
/// use bufferlab_transport::*;
/// use bufferlab_units::Time;
///
/// /// Keeps a fixed congestion window.
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
///     owns_window: true,
///     build: &|_, _| Ok(Box::new(|_, _| CongestionControl::boxed(Fixed))),
///     ..CongestionControlInfo::PLAIN
/// })?;
/// assert!(find_congestion_control("fixed").is_some());
/// # Ok::<(), bufferlab_params::RegisterError>(())
/// ```
///
/// # Errors
/// If a name is taken or breaks the rules of names, a text is missing, or a parameter's default is
/// outside its domain.
pub fn register_congestion_control(
    info: CongestionControlInfo,
) -> Result<&'static CongestionControlInfo, RegisterError> {
    CONTROLS.register(info)
}

/// Registers a custom congestion control like [`register_congestion_control`],
/// but replaces a custom control of that name ([`Registry::replace`]).
///
/// # Errors
/// Returns the errors of [`register_congestion_control`]. Also fails if a different control has one
/// of the names.
pub fn replace_congestion_control(
    info: CongestionControlInfo,
) -> Result<&'static CongestionControlInfo, RegisterError> {
    CONTROLS.replace(info)
}

/// Creates the state of a congestion control at the start of a flow. The call may change the flow's
/// first window. A transport has one starter, which contains the control's parameters.
pub type Starter = Box<dyn Fn(&TcpConfig, &mut Window) -> CongestionControl + Send + Sync>;

/// Creates a [`Starter`] from complete parameters, for the path that the configuration describes
/// (line rate, base round trip).
pub type ControlConstructor =
    &'static (dyn Fn(&Params, &TcpConfig) -> Result<Starter, BuildError> + Send + Sync);

bufferlab_params::entry! {
    /// Registry entry of a congestion control.
    pub struct CongestionControlInfo("congestion control") {
        /// Whether switches should mark packets of this congestion control instead of dropping
        /// them.
        pub uses_ecn: bool,
        /// Whether every switch on the path must report its queue to the
        /// congestion control ([`HopReport`]).
        pub wants_telemetry: bool,
        /// Whether the congestion control alone sets the window. In this case, only the control
        /// changes the window after a loss, and no proportional rate reduction takes place. After a
        /// timeout the window is still one segment until the next ACK.
        pub owns_window: bool,
        /// Whether a flow by default begins with one bandwidth-delay product of data in flight.
        pub starts_at_line_rate: bool,
        /// Whether the congestion control needs the congestion notifications of queue pairs. Queue
        /// pairs accept every control that sets its window.
        pub rdma_only: bool,
        /// Constructor of the congestion control. The parameters are complete, and
        /// every value is in its domain.
        pub build: ControlConstructor,
    }
}

impl CongestionControlInfo {
    /// Base for a custom registry entry, without names, texts, parameters or special needs. A
    /// custom control with this base reacts to losses like NewReno.
    pub const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        summary: "",
        source: "",
        uses_ecn: false,
        wants_telemetry: false,
        owns_window: false,
        starts_at_line_rate: false,
        rdma_only: false,
        params: &[],
        build: &|_, _| Ok(Box::new(|_, _| CongestionControl::NewReno(NewReno))),
    };

    /// Configures the congestion control with these parameters, for the path that `config`
    /// describes.
    ///
    /// # Errors
    /// Returns the parameter that does not fit the other parameters.
    pub fn configure(
        &'static self,
        params: &Params,
        config: &TcpConfig,
    ) -> Result<ConfiguredControl, BuildError> {
        Ok(ConfiguredControl { info: self, start: Arc::new((self.build)(params, config)?) })
    }

    /// Configures the congestion control with the `given` values, and with the defaults of
    /// `profile` for all other parameters ([`Self::configure`]).
    ///
    /// # Errors
    /// Returns a value that is no parameter of this control or is outside its domain.
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

/// A congestion control with its parameters, from which each flow creates its control state.
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
    /// Returns the registry entry of this congestion control.
    #[must_use]
    pub fn info(&self) -> &'static CongestionControlInfo {
        self.info
    }

    /// State of the congestion control for a flow that begins. The call may
    /// change the flow's first window.
    #[must_use]
    pub fn start(&self, config: &TcpConfig, window: &mut Window) -> CongestionControl {
        (self.start)(config, window)
    }
}

/// Sending limits of a flow: a window and, for some controls, a pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window (segments), at least 1.
    pub size: f64,
    /// Threshold below which the window grows exponentially (segments).
    pub slow_start_threshold: f64,
    /// Least time between two segments. With zero, the NIC determines the departure times of
    /// segments.
    pub pacing_gap: Time,
}

/// Information about an ACK for a congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent<'a> {
    /// Time at which the ACK arrived at the sender.
    pub now: Time,
    /// Round trip of the segment that caused the ACK:
    /// the ACK's arrival time minus the echoed send time (RFC 7323).
    pub rtt: Time,
    /// Number of segments that the ACK reports as arrived for the first time.
    pub delivered: u32,
    /// Whether the ACK echoes a congestion mark.
    pub marked: bool,
    /// Number of segments that the receiver has acknowledged cumulatively so far.
    pub acknowledged: u32,
    /// Number of the next new segment that the sender will send.
    pub next: u32,
    /// Number of segments in the network just before the ACK arrived.
    pub in_flight: u32,
    /// Whether the window may grow: no recovery and no reduction by a mark is in progress, and the
    /// window was full within the last round trip. Neither the application nor the NIC limited the
    /// sender then (RFC 7661, RFC 9438 section 5.8).
    pub may_grow: bool,
    /// Reports of the switches on the path of the segment that caused the ACK, in order.
    /// Empty unless the control requests telemetry.
    pub telemetry: &'a [HopReport],
}

/// Congestion controls that set the window only once per round trip in the public ns-3 code.
/// Between two updates, only recoveries and timeouts change the window.
const NS3_ONCE_PER_ROUND_TRIP: [&str; 2] = [theta_power_tcp::INFO.name, timely::INFO.name];

impl CongestionControlInfo {
    /// Whether the sender's loss recovery leaves the window to the congestion control.
    pub(crate) fn owns_window_in(&self, states: CongestionStates) -> bool {
        let shares = states == CongestionStates::Ns3 && NS3_ONCE_PER_ROUND_TRIP.contains(&self.name);
        self.owns_window && !shares
    }
}

/// Event to which a congestion control reacts with a lower rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionEvent {
    /// SACKs revealed a lost segment, so fast recovery begins.
    Loss,
    /// An ACK echoed a congestion mark. At most one event of this kind occurs per round trip.
    Mark,
    /// The sender's retransmission timer expired.
    Timeout,
}

/// Reaction of one flow to signals from the network.
/// Each flow has a separate control state, which contains the control's parameters.
///
/// `config` describes the flow's transport and path, and the control sets `window`.
/// All windows are in segments.
pub trait Controller: fmt::Debug + Send + CloneController {
    /// Updates the window after an ACK. The control must respect [`AckEvent::may_grow`].
    fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>);

    /// Reduces the flow's rate at `now`, with `flight` segments in the network, by setting the
    /// slow-start threshold. The caller then sets the window by the rules of the recovery, unless
    /// the control sets the window. Controls that react to queues, rates or delays may ignore
    /// losses, because the recovery handles losses.
    fn on_congestion(
        &mut self,
        _config: &TcpConfig,
        _window: &mut Window,
        _event: CongestionEvent,
        _flight: u32,
        _now: Time,
    ) {
    }

    /// Handles a congestion notification that arrived in a separate frame.
    fn on_notification(&mut self, _config: &TcpConfig, _window: &mut Window, _now: Time) {}

    /// Advances the timers of the congestion control and counts a packet. The queue pair calls this
    /// method before it sends a packet of `bytes` on the wire.
    fn on_sent(&mut self, _config: &TcpConfig, _window: &mut Window, _now: Time, _bytes: u32) {}

    /// Starts another message on the connection after an `idle` time. The message's segments count
    /// from 0. The control keeps its state about the path and resets its state about segments. The
    /// window did not grow during the idle time.
    fn begin_message(&mut self, _idle: Time) {}

    /// Reports internal values of the congestion control for plots and tests, such as estimates.
    /// The hot path never calls this method.
    fn probe(&self, _sink: &mut dyn FnMut(&'static str, f64)) {}

    /// Returns an error of the congestion control once. After an error, results of the control have
    /// no meaning. The simulator calls this method when a flow ends, at intervals, and at the end
    /// of a run. A run with an error has no result. Before the simulator reads the error, the
    /// simulator still calls the control, which leaves the window unchanged.
    fn take_failure(&mut self) -> Option<ControlFailure> {
        None
    }
}

/// A failure of a congestion control, with the time of the failure.
#[derive(Clone, Debug)]
pub struct ControlFailure {
    /// Time at which the congestion control failed. [`Time::ZERO`] if the flow could not begin.
    pub now: Time,
    /// Method of the congestion control that failed ([`Controller`]), such as `"on_ack"`.
    pub hook: &'static str,
    /// Description of the congestion control's failure in one sentence.
    pub what: String,
    /// Underlying error of the congestion control, if any.
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

/// Copies a boxed congestion control with its state. Every [`Controller`] that is
/// [`Clone`] implements this trait.
pub trait CloneController {
    /// Copies the congestion control with its present state.
    fn boxed_clone(&self) -> Box<dyn Controller>;
}

impl<T: Controller + Clone + 'static> CloneController for T {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// State of a flow's congestion control. The flow itself contains the states of the two smallest
/// and most common controls. So the hot path branches instead of calling through a pointer, and
/// flows of NewReno and DCTCP are small. Every other control is a boxed [`Controller`], built in or
/// custom.
#[derive(Debug)]
pub enum CongestionControl {
    /// State of the congestion controls NewReno and ECN*.
    NewReno(NewReno),
    /// State of the congestion control DCTCP.
    Dctcp(Dctcp),
    /// State of any other congestion control, built in or custom.
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
    /// Boxes a congestion control of any type.
    #[must_use]
    pub fn boxed(controller: impl Controller + 'static) -> Self {
        Self::Boxed(Box::new(controller))
    }

    /// Passes an ACK to [`Controller::on_ack`] of the flow's congestion control.
    #[inline]
    pub fn on_ack(&mut self, config: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        match self {
            Self::NewReno(state) => state.on_ack(window, ack),
            Self::Dctcp(state) => state.on_ack(config, window, ack),
            Self::Boxed(state) => state.on_ack(config, window, ack),
        }
    }

    /// Passes a congestion notification to [`Controller::on_notification`] of
    /// the flow's congestion control.
    pub fn on_notification(&mut self, config: &TcpConfig, window: &mut Window, now: Time) {
        if let Self::Boxed(state) = self {
            state.on_notification(config, window, now);
        }
    }

    /// Passes a sent packet to [`Controller::on_sent`] of the flow's congestion control.
    #[inline]
    pub fn on_sent(&mut self, config: &TcpConfig, window: &mut Window, now: Time, bytes: u32) {
        if let Self::Boxed(state) = self {
            state.on_sent(config, window, now, bytes);
        }
    }

    /// Passes the start of a message to [`Controller::begin_message`] of
    /// the flow's congestion control.
    pub(crate) fn begin_message(&mut self, idle: Time) {
        match self {
            Self::NewReno(_) => {}
            Self::Dctcp(state) => state.begin_message(),
            Self::Boxed(state) => state.begin_message(idle),
        }
    }

    /// Passes a loss, mark or timeout to [`Controller::on_congestion`] of
    /// the flow's congestion control.
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

    /// Reports the internal values of the flow's congestion control, as [`Controller::probe`] does.
    pub fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Self::NewReno(_) => {}
            Self::Dctcp(state) => sink("alpha", state.alpha()),
            Self::Boxed(state) => state.probe(sink),
        }
    }

    /// Internal value that the congestion control reports under `name` ([`Self::probe`]).
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

    /// Returns a failure of the congestion control once, as [`Controller::take_failure`] does.
    pub fn take_failure(&mut self) -> Option<ControlFailure> {
        match self {
            Self::NewReno(_) | Self::Dctcp(_) => None,
            Self::Boxed(state) => state.take_failure(),
        }
    }
}
