//! Tests of the switch for real packets, without sockets.

mod captures;
mod format;
mod hostile;
mod independent;
mod pipeline;

use bufferlab_dataplane::{SwitchFile, load_text};
use std::path::Path;

/// Creates a switch with `ports` ports of 100 Mb/s. The host behind port h has the address
/// 02:00:00:00:00:0h.
fn switch(ports: usize, rest: &str) -> SwitchFile {
    let port = |h: usize| {
        format!(
            "[[port]]\ninterface = \"p{h}\"\nrate = \"100 Mb/s\"\naddresses = [\"02:00:00:00:00:{h:02x}\"]\n"
        )
    };
    let text: String = (0..ports).map(port).chain([rest.to_owned()]).collect();
    load_text(Path::new("switch.toml"), &text).unwrap_or_else(|error| panic!("{}", error.in_lines()))
}

/// Builds an IPv4 frame between hosts with `class` as the second byte of the IP header. The
/// header's checksum is zero, because no test reads it.
fn frame(from: u8, to: u8, class: u8, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    frame[12..16].copy_from_slice(&[8, 0, 0x45, class]);
    frame[16..18].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    frame[26..34].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, to]);
    frame
}
