//! The exported C functions: they read pointers, stop panics and call the caller's function for
//! events.
//!
//! Only this module has `unsafe` code, for two reasons: symbols without mangling, and pointers from
//! C. Every pointer is checked for null. The C header states the duties of the caller. A pointer
//! that is not null points to a valid value, and one thread at a time uses a switch.
//!
//! Callbacks run after the last use of a reference to the switch, so callbacks may use or free the
//! switch.
#![allow(unsafe_code)]

use crate::abi::{ABI, Callback, Code, Config, Departure, Packet, Param, REASONS, Verdict};
use crate::config::{self, Plain};
use crate::error::{self, Failure, guard};
use crate::handle::{Handle, code_of};
use std::ffi::{CStr, c_char, c_void};
use std::slice;

/// Names of the symbols that the library exports.
pub const EXPORTS: [&str; 15] = [
    "bufferlab_v1_abi",
    "bufferlab_v1_last_error",
    "bufferlab_v1_name",
    "bufferlab_v1_new",
    "bufferlab_v1_from_toml",
    "bufferlab_v1_free",
    "bufferlab_v1_observe",
    "bufferlab_v1_arrive",
    "bufferlab_v1_depart",
    "bufferlab_v1_pause",
    "bufferlab_v1_next_timer",
    "bufferlab_v1_timer",
    "bufferlab_v1_threshold",
    "bufferlab_v1_occupancy",
    "bufferlab_v1_verify",
];

/// Reads the text that a C string contains.
///
/// # Safety
/// A pointer that is not null points to a string that ends with a null byte and lives for `'a`.
unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("{what} is null")));
    }
    // SAFETY: the pointer is not null, and the caller promises that it is valid.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::invalid(format!("{what} is not UTF-8")))
}

/// Reads an array from a pointer, which may be null if the array is empty.
///
/// # Safety
/// A pointer that is not null points to `count` valid values that live for `'a`.
unsafe fn array<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || !pointer.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::invalid(format!("{what} is no array of {count} values")));
    }
    // SAFETY: the array is not null, aligned and of a possible size. The caller promises that the
    // array is valid.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Returns a reference to the value at a C pointer.
///
/// # Safety
/// A pointer that is not null points to a valid value that lives for `'a`.
unsafe fn value<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller promises that all pointers that are not null are valid.
    let value = unsafe { pointer.as_ref() };
    value.ok_or_else(|| Failure::invalid(format!("{what} is null")))
}

/// Writes the result of a C function to the caller's memory.
///
/// # Safety
/// A pointer that is not null may be written to.
unsafe fn write<T>(pointer: *mut T, result: T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid("the place of the result is null"));
    }
    // SAFETY: the pointer is not null, and the caller promises that it is valid.
    unsafe { pointer.write(result) };
    Ok(())
}

/// Runs the body of a call that may change a switch. `out` is checked before the body runs, so that
/// no packet is lost. At the end of the call, the callback receives the events of the call.
///
/// # Safety
/// A pointer `handle` that is not null is from [`bufferlab_new`] or [`bufferlab_from_toml`], was
/// not freed, and no other thread uses it. A pointer `out` that is not null may be written to.
unsafe fn change<T>(
    handle: *mut Handle,
    out: *mut T,
    body: impl FnOnce(&mut Handle) -> Result<Option<T>, Failure>,
) -> i32 {
    let mut events = (Vec::new(), None);
    let code = guard(|| {
        // SAFETY: the caller promises that all pointers that are not null are valid.
        let handle = unsafe { handle.as_mut() }.ok_or_else(|| Failure::invalid("the switch is null"))?;
        if out.is_null() {
            return Err(Failure::invalid("the place of the result is null"));
        }
        let answer = handle.call(body)?;
        events = (handle.take_events(), handle.callback);
        let code = code_of(&answer);
        if let Some(answer) = answer {
            // SAFETY: the pointer is not null, and the caller promises that it is valid.
            unsafe { write(out, answer) }?;
        }
        Ok(code)
    });
    if let (list, Some((callback, user))) = events {
        for event in &list {
            // SAFETY: the program that set the callback promises that the callback accepts these
            // arguments.
            unsafe { callback(user, event) };
        }
    }
    code
}

/// Runs the body of a call that only reads a switch.
///
/// # Safety
/// The safety rules of [`change`] apply.
unsafe fn read<T>(
    handle: *const Handle,
    out: *mut T,
    body: impl FnOnce(&Handle) -> Result<Option<T>, Failure>,
) -> i32 {
    guard(|| {
        // SAFETY: the caller promises that all pointers that are not null are valid.
        let handle = unsafe { value(handle, "the switch") }?;
        handle.check_sound()?;
        let answer = body(handle)?;
        let code = code_of(&answer);
        match answer {
            // SAFETY: the caller promises that all pointers that are not null are valid.
            Some(answer) => unsafe { write(out, answer) }?,
            None if out.is_null() => return Err(Failure::invalid("the place of the result is null")),
            None => {}
        }
        Ok(code)
    })
}

/// Writes the handle of a new switch to the caller's memory.
///
/// # Safety
/// A pointer `out` that is not null may be written to.
unsafe fn give(
    out: *mut *mut Handle,
    build: impl FnOnce() -> Result<Handle, Failure>,
) -> Result<Code, Failure> {
    // SAFETY: the caller promises that all pointers that are not null are valid.
    unsafe { write(out, std::ptr::null_mut()) }?;
    let handle = Box::into_raw(Box::new(build()?));
    // SAFETY: the pointer is valid, because `write` has already written to `out`.
    unsafe { write(out, handle) }?;
    Ok(Code::Ok)
}

/// Returns the version of the C interface.
#[unsafe(export_name = "bufferlab_v1_abi")]
pub extern "C" fn bufferlab_abi() -> u32 {
    ABI
}

/// Returns the text of the last error in this thread.
#[unsafe(export_name = "bufferlab_v1_last_error")]
pub extern "C" fn bufferlab_last_error() -> *const c_char {
    error::last()
}

/// Returns the name of a drop reason; null if no reason has this code.
#[unsafe(export_name = "bufferlab_v1_name")]
pub extern "C" fn bufferlab_name(reason: u8) -> *const c_char {
    REASONS.get(usize::from(reason)).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Builds a switch with a registered buffer policy.
///
/// # Safety
/// Each pointer that is not null points to the value that the C header describes.
#[unsafe(export_name = "bufferlab_v1_new")]
pub unsafe extern "C" fn bufferlab_new(
    config: *const Config,
    policy: *const c_char,
    params: *const Param,
    count: usize,
    out: *mut *mut Handle,
) -> i32 {
    let build = || {
        // SAFETY: the caller promises that all pointers are valid.
        let config = unsafe { value(config, "the configuration") }?;
        // SAFETY: the caller promises that all pointers are valid.
        let rates = unsafe { array(config.port_rates, config.ports as usize, "port_rates") }?;
        // SAFETY: the caller promises that all pointers are valid.
        let policy = unsafe { text(policy, "the policy's name") }?;
        // SAFETY: the caller promises that all pointers are valid.
        let given = unsafe { array(params, count, "params") }?;
        let mut params = Vec::with_capacity(given.len());
        for param in given {
            // SAFETY: the caller promises that all pointers are valid.
            let name = unsafe { text(param.name, "a parameter's name") }?;
            // SAFETY: the caller promises that all pointers are valid.
            let value = unsafe { text(param.value, "a parameter's value") }?;
            params.push((name, value));
        }
        let plain = Plain {
            capacity: config.capacity,
            rates,
            queues_per_port: config.queues_per_port,
            max_packet: config.max_packet,
            lossless: config.lossless_priorities,
            seed: config.seed,
        };
        config::from_policy(&plain, policy, &params).map(Handle::new)
    };
    // SAFETY: the caller promises that all pointers are valid.
    guard(|| unsafe { give(out, build) })
}

/// Builds the first switch that a scenario describes.
///
/// # Safety
/// Each pointer that is not null points to the value that the C header describes.
#[unsafe(export_name = "bufferlab_v1_from_toml")]
pub unsafe extern "C" fn bufferlab_from_toml(
    toml: *const c_char,
    rates: *const u64,
    ports: usize,
    out: *mut *mut Handle,
) -> i32 {
    let build = || {
        // SAFETY: the caller promises that all pointers are valid.
        let toml = unsafe { text(toml, "the text") }?;
        // SAFETY: the caller promises that all pointers are valid.
        let rates = unsafe { array(rates, ports, "rates") }?;
        config::from_toml(toml, rates).map(Handle::new)
    };
    // SAFETY: the caller promises that all pointers are valid.
    guard(|| unsafe { give(out, build) })
}

/// Frees a switch of the C interface.
///
/// # Safety
/// The pointer is null, or from [`bufferlab_new`] or [`bufferlab_from_toml`] and not freed.
#[unsafe(export_name = "bufferlab_v1_free")]
pub unsafe extern "C" fn bufferlab_free(handle: *mut Handle) {
    if !handle.is_null() {
        guard(|| {
            // SAFETY: the pointer is from `Box::into_raw`, and the caller gives up the switch.
            drop(unsafe { Box::from_raw(handle) });
            Ok(Code::Ok)
        });
    }
}

/// Sets the function that receives the switch's events.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply. The switch may call the callback with `user`
/// until the callback is replaced.
#[unsafe(export_name = "bufferlab_v1_observe")]
pub unsafe extern "C" fn bufferlab_observe(
    handle: *mut Handle,
    callback: Option<Callback>,
    user: *mut c_void,
) -> i32 {
    let mut done = ();
    let set = |handle: &mut Handle| {
        handle.set_callback(callback.map(|callback| (callback, user)));
        Ok(Some(()))
    };
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, &raw mut done, set) }
}

/// Handles the arrival of a packet at the switch.
///
/// # Safety
/// The switch is null, or valid and used by this thread only. Each other pointer that is not null
/// points to the value that the C header describes.
#[unsafe(export_name = "bufferlab_v1_arrive")]
pub unsafe extern "C" fn bufferlab_arrive(
    handle: *mut Handle,
    now: u64,
    packet: *const Packet,
    verdict: *mut Verdict,
) -> i32 {
    let arrive = |handle: &mut Handle| {
        // SAFETY: the caller promises that all pointers are valid.
        let packet = unsafe { value(packet, "the packet") }?;
        handle.arrive(now, packet).map(Some)
    };
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, verdict, arrive) }
}

/// Takes the next packet of an idle port.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_depart")]
pub unsafe extern "C" fn bufferlab_depart(
    handle: *mut Handle,
    now: u64,
    port: u16,
    departure: *mut Departure,
) -> i32 {
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, departure, |handle| handle.depart(now, port)) }
}

/// Handles a pause frame of a neighbour.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_pause")]
pub unsafe extern "C" fn bufferlab_pause(handle: *mut Handle, port: u16, priority: u8, paused: i32) -> i32 {
    let mut done = ();
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, &raw mut done, |handle| handle.pause(port, priority, paused != 0).map(Some)) }
}

/// Returns the time of the switch's next timer.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_next_timer")]
pub unsafe extern "C" fn bufferlab_next_timer(handle: *const Handle, at: *mut u64) -> i32 {
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { read(handle, at, |handle| Ok(handle.next_timer())) }
}

/// Handles the switch's timers that are due.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_timer")]
pub unsafe extern "C" fn bufferlab_timer(handle: *mut Handle, now: u64) -> i32 {
    let mut done = ();
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, &raw mut done, |handle| handle.timer(now).map(Some)) }
}

/// Returns the policy's limit for the length of a queue.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_threshold")]
pub unsafe extern "C" fn bufferlab_threshold(
    handle: *const Handle,
    port: u16,
    queue: u8,
    tags: u16,
    bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { read(handle, bytes, |handle| handle.threshold(port, queue, tags)) }
}

/// Returns the stored bytes of a queue, a port or the whole buffer.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_occupancy")]
pub unsafe extern "C" fn bufferlab_occupancy(
    handle: *const Handle,
    port: i32,
    queue: i32,
    bytes: *mut u64,
) -> i32 {
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { read(handle, bytes, |handle| handle.occupancy(port, queue).map(Some)) }
}

/// Checks the ledger, and reports a failure of the policy.
///
/// # Safety
/// The safety rules of [`bufferlab_arrive`] apply.
#[unsafe(export_name = "bufferlab_v1_verify")]
pub unsafe extern "C" fn bufferlab_verify(handle: *mut Handle) -> i32 {
    let mut done = ();
    // SAFETY: the caller promises that all pointers are valid.
    unsafe { change(handle, &raw mut done, |handle| handle.verify().map(Some)) }
}
