//! Tests that frames of hostile senders do not harm the switch.

use crate::{frame, switch};
use bufferlab_dataplane::{Discard, Pipeline};
use bufferlab_units::{RandomStream, Time};

/// The test's frames have random bytes, truncated and changed content, tags, and addresses of every
/// kind. `BUFFERLAB_HOSTILE_FRAMES` sets the number of frames; the default is 300,000.
#[test]
fn hostile_frames_are_counted_and_nothing_breaks() {
    let count: u64 =
        std::env::var("BUFFERLAB_HOSTILE_FRAMES").map_or(300_000, |text| text.parse().expect("a number"));
    let file = switch(
        4,
        "[switch]\nbuffer = \"60 KB\"\nqueues_per_port = 4\npolicy = \"abm\"\necn = { kind = \"step\", threshold = \"5 KB\" }\n\
         [forwarding]\naddresses_max = 64\nflood_limit = 100000\n",
    );
    let mut pipeline = Pipeline::new(&file, None).expect("the policy fits");
    let mut random = RandomStream::new(3, "hostile", 0);
    let (mut now, mut taken) = (Time::from_ms(1), 0_u64);
    for _ in 0..count {
        now += Time::from_ns(random.below(40_000));
        let frame = hostile(&mut random);
        taken += u64::from(pipeline.receive(random.below(4) as u16, now, &frame).is_ok());
        pipeline.advance(now);
        for port in 0..4 {
            while let Some(due) = pipeline.next_due(port, now) {
                assert!(pipeline.frame(due).len() <= 1_514 + 2 * 4, "with two tags");
                pipeline.handed_over(port, due, true);
            }
        }
    }
    pipeline.finish();
    pipeline.driver().core().verify().expect("the accounts are right");
    let total =
        |count: fn(&bufferlab_dataplane::Tallies) -> u64| pipeline.tallies().iter().map(count).sum::<u64>();
    let discarded = total(|tallies| tallies.discarded.iter().sum());
    assert_eq!(total(|tallies| tallies.received), count);
    assert_eq!(taken + discarded, count, "every frame was taken or has its reason");
    assert!(taken > count / 10, "{taken} taken");
    for why in [Discard::Truncated, Discard::Malformed, Discard::Jumbo, Discard::Vlan, Discard::GroupSource] {
        let found: u64 = pipeline.tallies().iter().map(|tallies| tallies.discarded(why)).sum();
        assert!(found > count / 1_000, "{why:?}: {found}");
    }
}

fn hostile(random: &mut RandomStream) -> Vec<u8> {
    let length = random.below(1_600) as usize;
    match random.below(6) {
        0 => (0..length).map(|_| random.next_u64() as u8).collect(),
        1 => {
            let mut bytes = frame(1, 2, 0, 200);
            bytes.truncate(random.below(200) as usize);
            bytes
        }
        2 => {
            let mut bytes =
                frame(random.below(4) as u8, random.below(4) as u8, random.next_u64() as u8, 34 + length);
            for _ in 0..random.below(4) {
                let at = random.below(34) as usize;
                bytes[at] = random.next_u64() as u8;
            }
            bytes
        }
        3 => {
            let mut bytes = frame(1, 2, 0, 100);
            let kind = [[0x81, 0], [0x88, 0xa8], [0x86, 0xdd], [8, 6]][random.below(4) as usize];
            bytes[12..14].copy_from_slice(&kind);
            bytes[14..60].fill_with(|| random.next_u64() as u8);
            // Insert up to three more VLAN tags into the frame.
            for at in [16, 20, 24].into_iter().take(random.below(4) as usize) {
                bytes[at..at + 2].copy_from_slice(&[0x81, 0]);
            }
            bytes
        }
        4 => {
            let mut bytes = frame(1, 2, 2, 60 + length);
            bytes[..12].fill_with(|| random.next_u64() as u8);
            bytes
        }
        _ => frame(random.below(4) as u8, random.below(4) as u8, random.next_u64() as u8, 1_514),
    }
}
