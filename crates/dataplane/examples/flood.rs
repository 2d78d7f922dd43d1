//! Sends frames as fast as one CPU core can, to measure a switch or to attack it.
//!
//! ```console
//! $ cargo run --release -p bufferlab-dataplane --example flood -- \
//!     e0 02:00:00:00:00:01 --frames 1000000 --bytes 1514
//! $ cargo run --release -p bufferlab-dataplane --example flood -- \
//!     e0 02:00:00:00:00:01 --frames 1000000 --hostile
//! ```

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("frames are sent on Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use bufferlab_dataplane::MacAddress;
    use bufferlab_units::RandomStream;
    use nix::ifaddrs::getifaddrs;
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, send, socket};
    use std::env;
    use std::os::fd::AsRawFd;
    use std::time::Instant;

    pub(super) fn main() -> Result<(), Box<dyn std::error::Error>> {
        let words: Vec<String> = env::args().skip(1).collect();
        let usage = "flood INTERFACE ADDRESS [--frames N] [--bytes N] [--rate FRAMES_PER_S] [--hostile]";
        let (interface, to) = (words.first().ok_or(usage)?, words.get(1).ok_or(usage)?);
        let to: MacAddress = to.parse()?;
        let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
        let number = |name, default: u64| option(name).map_or(Ok(default), |text| text.parse());
        let (frames, bytes) = (number("--frames", 1_000_000)?, number("--bytes", 1_514)? as usize);
        let rate = number("--rate", 0)?;
        let hostile = words.iter().any(|word| word == "--hostile");
        let flags = SockFlag::SOCK_CLOEXEC;
        // A socket with protocol 0 receives no frames, and this program only sends.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None::<SockProtocol>)?;
        let address = getifaddrs()?
            .filter(|one| one.interface_name == *interface)
            .find_map(|one| one.address?.as_link_addr().copied())
            .ok_or("no such interface")?;
        bind(socket.as_raw_fd(), &address)?;
        let mut random = RandomStream::new(u64::from(std::process::id()), "flood", 0);
        let mut frame = frame(to, bytes);
        let (began, mut refused) = (Instant::now(), 0_u64);
        for index in 0..frames {
            if hostile {
                frame = attack(to, &mut random);
            }
            while rate > 0
                && began.elapsed().as_nanos() * u128::from(rate) < u128::from(index) * 1_000_000_000
            {
                std::hint::spin_loop();
            }
            refused += u64::from(send(socket.as_raw_fd(), &frame, MsgFlags::empty()).is_err());
        }
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{frames} frames in {seconds:.2} s, {:.0} per second, {refused} refused",
            frames as f64 / seconds
        );
        Ok(())
    }

    /// Builds an IPv4 frame of a protocol that no host answers.
    fn frame(to: MacAddress, bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; bytes.max(34)];
        frame[..6].copy_from_slice(&to.0);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0xff, 1]);
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        let length = (frame.len() - 14) as u16;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[23] = 253;
        frame[26..34].copy_from_slice(&[10, 77, 0, 250, 10, 77, 0, 251]);
        frame
    }

    /// Builds a frame of random bytes, tags, wrong lengths and addresses of all kinds.
    fn attack(to: MacAddress, random: &mut RandomStream) -> Vec<u8> {
        let mut frame = frame(to, 14 + random.below(1_500) as usize);
        match random.below(6) {
            0 => frame.fill_with(|| random.next_u64() as u8),
            1 => frame[12..14].copy_from_slice(&[0x81, 0]),
            2 => frame[14..34].fill_with(|| random.next_u64() as u8),
            3 => frame[6..12].fill_with(|| random.next_u64() as u8),
            4 => frame[..6].fill_with(|| random.next_u64() as u8),
            _ => frame[16] = random.next_u64() as u8,
        }
        frame
    }
}
