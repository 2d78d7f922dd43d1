//! Tests of calls from C: wrong arguments, panics, callbacks that call the library, pauses.
// The tests call the exported functions with the arguments that a C program would pass.
#![allow(unsafe_code, clippy::multiple_unsafe_ops_per_block)]

use bufferlab_capi::{
    Code, Config, Departure, Event, Handle, NO_REASON, Packet, Param, Verdict, bufferlab_arrive,
    bufferlab_depart, bufferlab_free, bufferlab_from_toml, bufferlab_last_error, bufferlab_name,
    bufferlab_new, bufferlab_next_timer, bufferlab_observe, bufferlab_occupancy, bufferlab_pause,
    bufferlab_threshold, bufferlab_timer, bufferlab_verify, event_code, reason_code,
};
use bufferlab_core::{
    Account, Arrival, Buffer, DropReason, PacketEvent, Policy, PolicyInfo, Verdict as Answer, register_policy,
};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

fn last_error() -> String {
    // SAFETY: the pointer is never null and lives until the next call.
    unsafe { CStr::from_ptr(bufferlab_last_error()) }.to_str().expect("UTF-8").to_owned()
}

fn build(policy: &CStr, params: &[(&CStr, &CStr)]) -> Result<*mut Handle, (i32, String)> {
    let rates = [10_000_000_000_u64; 4];
    let config = Config {
        capacity: 30_000,
        port_rates: rates.as_ptr(),
        ports: 4,
        queues_per_port: 2,
        max_packet: 1_500,
        lossless_priorities: 0,
        seed: 1,
    };
    let params: Vec<Param> =
        params.iter().map(|(name, value)| Param { name: name.as_ptr(), value: value.as_ptr() }).collect();
    let mut handle = null_mut();
    // SAFETY: all pointers in this call are valid.
    let code = unsafe {
        bufferlab_new(&raw const config, policy.as_ptr(), params.as_ptr(), params.len(), &raw mut handle)
    };
    if code == Code::Ok as i32 { Ok(handle) } else { Err((code, last_error())) }
}

fn from_toml(text: &CStr) -> Result<*mut Handle, (i32, String)> {
    let rates = [10_000_000_000_u64; 4];
    let mut handle = null_mut();
    // SAFETY: all pointers in this call are valid.
    let code = unsafe { bufferlab_from_toml(text.as_ptr(), rates.as_ptr(), rates.len(), &raw mut handle) };
    if code == Code::Ok as i32 { Ok(handle) } else { Err((code, last_error())) }
}

fn arrive(handle: *mut Handle, now: u64, packet: &Packet) -> (i32, Verdict) {
    let mut verdict = Verdict::default();
    // SAFETY: all pointers in this call are valid.
    let code = unsafe { bufferlab_arrive(handle, now, packet, &raw mut verdict) };
    (code, verdict)
}

fn packet(id: u32) -> Packet {
    Packet { id, size: 1_000, ..Packet::default() }
}

#[test]
fn a_wrong_configuration_is_refused_with_a_text() {
    let refused = Code::Refused as i32;
    let (code, text) = build(c"amb", &[]).expect_err("no such policy");
    assert_eq!(code, refused);
    assert!(text.contains("\"amb\"") && text.contains("abm"), "{text}");
    let (code, text) = build(c"dt", &[(c"alhpa", c"1")]).expect_err("no such parameter");
    assert_eq!((code, text.as_str()), (refused, "dt has no parameter \"alhpa\"; known: alpha"));
    let (_, text) = build(c"dt", &[(c"alpha", c"much")]).expect_err("no number");
    assert_eq!(text, "alpha = \"much\": expected a number");
    let (_, text) = from_toml(c"[switch]\nbuffer = \"30 KB\"\npolicy = \"amb\"\n").expect_err("no policy");
    assert!(text.starts_with("<text>:3: switch.policy: "), "{text}");
    let (_, text) = from_toml(c"[switch\n").expect_err("no TOML");
    assert!(text.starts_with("<text>:1: "), "{text}");
    let sliced = c"[switch]\nbuffer = \"30 KB\"\npolicy = \"dt\"\nhardware = { slices = 2 }\n";
    let (_, text) = from_toml(sliced).expect_err("two memories");
    assert!(text.starts_with("hardware.slices: "), "{text}");
}

#[test]
fn a_whole_scenario_is_read_as_the_simulator_reads_it() {
    let text = include_str!("../../../../scenarios/star-incast.toml");
    let text = std::ffi::CString::new(text).expect("no null byte");
    let (code, text_of_error) = from_toml(&text).expect_err("rates beside a topology");
    assert_eq!(code, Code::Refused as i32);
    assert_eq!(text_of_error, "the text has a topology: give no rates of ports");
    let mut handle = null_mut();
    // SAFETY: all pointers are valid, and the test gives no rates.
    let code = unsafe { bufferlab_from_toml(text.as_ptr(), null(), 0, &raw mut handle) };
    assert_eq!(code, 0, "{}", last_error());
    let mut bytes = 0;
    // SAFETY: the handle is valid. The scenario's buffer has 400 KB, and alpha is 0.5 by default.
    let code = unsafe { bufferlab_threshold(handle, 7, 0, 0, &raw mut bytes) };
    assert_eq!((code, bytes), (0, 200_000));
    // SAFETY: the handle is valid and is freed once.
    unsafe { bufferlab_free(handle) };
}

#[test]
fn wrong_arguments_are_refused_and_change_nothing() {
    let handle = build(c"dt", &[]).expect("a switch");
    let invalid = Code::Invalid as i32;
    let wrong = [
        Packet { egress_port: 4, ..packet(0) },
        Packet { ingress_port: 9, ..packet(0) },
        Packet { size: 0, ..packet(0) },
        Packet { ecn: 3, ..packet(0) },
        Packet { priority: 64, ..packet(0) },
    ];
    for packet in wrong {
        assert_eq!(arrive(handle, 0, &packet).0, invalid, "{packet:?}");
    }
    assert_eq!(arrive(null_mut(), 0, &packet(0)).0, invalid);
    assert_eq!(last_error(), "the switch is null");
    let (mut verdict, mut departure, mut word) = (Verdict::default(), Departure::default(), 0);
    // SAFETY: every pointer in these calls is null or valid.
    unsafe {
        assert_eq!(bufferlab_arrive(handle, 0, null(), &raw mut verdict), invalid);
        assert_eq!(bufferlab_arrive(handle, 0, &packet(0), null_mut()), invalid);
        assert_eq!(bufferlab_depart(handle, 0, 4, &raw mut departure), invalid);
        assert_eq!(bufferlab_pause(handle, 0, 2, 1), invalid);
        assert_eq!(bufferlab_threshold(handle, 0, 2, 0, &raw mut word), invalid);
        assert_eq!(bufferlab_occupancy(handle, 5, -1, &raw mut word), invalid);
        assert_eq!(bufferlab_occupancy(handle, -1, 0, &raw mut word), invalid);
        assert_eq!(bufferlab_occupancy(handle, -1, -1, null_mut()), invalid);
        assert_eq!(bufferlab_next_timer(handle, null_mut()), invalid);
        assert_eq!(bufferlab_next_timer(handle, &raw mut word), Code::None as i32);
        assert_eq!(bufferlab_occupancy(handle, -1, -1, &raw mut word), 0);
        assert_eq!((bufferlab_verify(handle), word), (0, 0));
    }
    assert_eq!(arrive(handle, 5, &packet(1)).0, 0);
    assert_eq!(arrive(handle, 4, &packet(2)).0, invalid);
    assert_eq!(last_error(), "time goes back from 5 ps to 4 ps");
    // SAFETY: the handle is valid and is freed once; null is ignored.
    unsafe {
        assert_eq!(bufferlab_timer(handle, 4), invalid);
        bufferlab_free(handle);
        bufferlab_free(null_mut());
    }
}

#[test]
fn reasons_have_names_and_unknown_codes_have_none() {
    let name = bufferlab_name(reason_code(DropReason::Expelled));
    // SAFETY: the name of a reason is a string that lives forever.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"expelled");
    assert!(bufferlab_name(NO_REASON).is_null());
}

/// A policy that panics at the third packet.
#[derive(Debug, Default)]
struct Panics(u32);

impl Policy for Panics {
    fn admit(&mut self, _: &Arrival, _: &Buffer) -> Answer {
        self.0 += 1;
        assert!(self.0 < 3, "the third packet");
        Answer::Admit(Account::Shared)
    }
}

#[test]
fn a_panic_becomes_a_code_and_the_switch_can_only_be_freed() {
    let info = PolicyInfo { name: "panics", build: &|_, _| Ok(Box::new(Panics::default())), ..PLAIN };
    register_policy(info).expect("a new name");
    let handle = build(c"panics", &[]).expect("a switch");
    let panic = Code::Panic as i32;
    assert_eq!((arrive(handle, 0, &packet(0)).0, arrive(handle, 0, &packet(1)).0), (0, 0));
    assert_eq!(arrive(handle, 0, &packet(2)).0, panic);
    assert_eq!(last_error(), "a defect of bufferlab: the third packet");
    assert_eq!(arrive(handle, 0, &packet(3)).0, panic);
    assert_eq!(last_error(), "an earlier call panicked: free the switch");
    let mut word = 0;
    // SAFETY: the handle is valid and is freed once.
    unsafe {
        assert_eq!(bufferlab_occupancy(handle, -1, -1, &raw mut word), panic);
        bufferlab_free(handle);
    }
}

const PLAIN: PolicyInfo = PolicyInfo {
    name: "",
    aliases: &[],
    title: "Panics",
    summary: "Panics at the third packet.",
    source: "this test",
    params: &[],
    cost: "O(1)",
    build: &|_, _| Ok(Box::new(Panics::default())),
};

/// Receives events, and asks the switch for its occupancy during the callback.
struct Receiver {
    handle: *mut Handle,
    events: Vec<Event>,
    occupancies: Vec<u64>,
    frees: bool,
}

unsafe extern "C" fn receive(user: *mut c_void, event: *const Event) {
    // SAFETY: the test passes a receiver that outlives the switch, and the event is valid.
    let (receiver, event) = unsafe { (&mut *user.cast::<Receiver>(), *event) };
    receiver.events.push(event);
    let mut bytes = 0;
    // SAFETY: the handle is valid, and freed at most once.
    unsafe {
        assert_eq!(bufferlab_occupancy(receiver.handle, -1, -1, &raw mut bytes), 0);
        if std::mem::take(&mut receiver.frees) {
            bufferlab_free(receiver.handle);
        }
    }
    receiver.occupancies.push(bytes);
}

#[test]
fn a_callback_may_use_the_switch_and_even_free_it() {
    let handle = build(c"lqd", &[]).expect("a switch");
    let mut receiver = Receiver { handle, events: Vec::new(), occupancies: Vec::new(), frees: false };
    // SAFETY: the receiver of events outlives the switch.
    unsafe { assert_eq!(bufferlab_observe(handle, Some(receive), (&raw mut receiver).cast()), 0) };
    for id in 0..30 {
        assert_eq!(arrive(handle, 0, &packet(id)).0, 0);
    }
    let other = Packet { egress_port: 1, ..packet(30) };
    let (_, verdict) = arrive(handle, 7, &other);
    let admitted = event_code(PacketEvent::Admitted);
    assert_eq!(verdict, Verdict { event: admitted, reason: NO_REASON, ..Verdict::default() });
    let event = Event {
        now: 7,
        packet: 29,
        size: 1_000,
        event: event_code(PacketEvent::Evicted),
        reason: reason_code(DropReason::PushedOut),
        ..Event::default()
    };
    assert_eq!((receiver.events.as_slice(), receiver.occupancies.as_slice()), (&[event][..], &[30_000][..]));
    receiver.frees = true;
    assert_eq!(arrive(handle, 8, &Packet { id: 31, ..other }).0, 0);
    assert_eq!(receiver.events.len(), 2);
}

#[test]
fn pauses_reach_the_callback_and_pause_frames_stop_a_queue() {
    let text = c"[switch]\nbuffer = \"200 KB\"\nqueues_per_port = 2\n\
        policy = { name = \"sonic-dt\", headroom = \"20 KB\" }\npfc = { priorities = [1] }\n";
    let handle = from_toml(text).unwrap_or_else(|error| panic!("{error:?}"));
    let mut receiver = Receiver { handle, events: Vec::new(), occupancies: Vec::new(), frees: false };
    // SAFETY: the receiver of events outlives the switch.
    unsafe { assert_eq!(bufferlab_observe(handle, Some(receive), (&raw mut receiver).cast()), 0) };
    let lossless = Packet { ingress_port: 2, priority: 1, tags: 16, ..packet(0) };
    let mut stored = 0;
    while receiver.events.is_empty() && stored < 200 {
        assert_eq!(arrive(handle, 0, &Packet { id: stored, ..lossless }).1.event, 0);
        stored += 1;
    }
    let paused = receiver.events[0];
    assert_eq!((paused.event, paused.port, paused.queue), (event_code(PacketEvent::Paused), 2, 1));
    let mut departure = Departure::default();
    // SAFETY: all pointers in these calls are valid.
    unsafe {
        assert_eq!(bufferlab_pause(handle, 0, 1, 1), 0);
        assert_eq!(bufferlab_depart(handle, 1, 0, &raw mut departure), Code::None as i32);
        assert_eq!(bufferlab_pause(handle, 0, 1, 0), 0);
        while bufferlab_depart(handle, 2, 0, &raw mut departure) == 0 {}
    }
    assert_eq!(receiver.events.last().expect("events").event, event_code(PacketEvent::Resumed));
    // SAFETY: the handle is valid and is freed once.
    unsafe {
        assert_eq!(bufferlab_verify(handle), 0);
        bufferlab_free(handle);
    }
}
