//! Calculator for buffer per port and Gb/s, with the figures of known chips and switches.

use self::Published::{PerGbps, Whole};
use super::input::{self, PORT_RATE, PORTS, SIZE, param};
use super::{CalculatorInfo, Derivation, Table, bytes, number};
use crate::forms::Domain;
use crate::forms::dimensions::{buffer_bytes, buffer_per_port_per_gbps};
use bufferlab_params::{ParamValue, Params};

/// The calculator gives the answer `per port and Gb/s` for a buffer.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "chips",
    aliases: &[],
    title: "Buffers of chips",
    summary: "List the buffers of known chips, per port and Gb/s.",
    source: "The papers, vendors' documents, SONiC's device files and a public list of switch buffers; each row of the table names its source.",
    params: &[
        PORTS,
        PORT_RATE,
        param("buffer", SIZE, ParamValue::Optional, "Buffer of your switch, to rank it among the others."),
    ],
    rules: &[],
    examples: &[&[("ports", "40"), ("buffer", "3.84 MB")]],
    run,
};

/// A chip with a published buffer size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chip {
    /// Name of the chip in the table of chips.
    name: &'static str,
    /// Published figure about the chip's buffer.
    buffer: Published,
    /// Publication that states the size of the chip's buffer.
    source: &'static str,
}

/// A buffer size that a publication states, per port rate or in total.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Published {
    /// Bytes of buffer per port and per Gb/s of the port's rate.
    PerGbps(f64),
    /// Size of the whole memory or of its largest pool (bytes), and rate of all ports together
    /// (Gb/s).
    Whole(f64, f64),
}

impl Published {
    fn per_gbps(self) -> f64 {
        match self {
            Self::PerGbps(bytes) => bytes,
            Self::Whole(bytes, gbps) => bytes / gbps,
        }
    }

    /// Table cells with the size of the whole memory and the rate of all ports together.
    fn whole(self) -> [String; 2] {
        match self {
            Self::PerGbps(_) => ["-", "-"].map(str::to_owned),
            Self::Whole(memory, gbps) => [bytes(memory), super::rate(gbps * 1e9)],
        }
    }
}

const fn chip(name: &'static str, buffer: Published, source: &'static str) -> Chip {
    Chip { name, buffer, source }
}

/// Chips with a publication that states their buffer size. The pools in SONiC's device files
/// (sonic-buildimage at 086b03b) are somewhat smaller than the memory.
const CHIPS: [Chip; 20] = [
    chip("Broadcom Trident+", PerGbps(19_200.0), "public list of switch buffers"),
    chip("Broadcom Trident2", PerGbps(9_600.0), "ABM section 4.1"),
    chip("Broadcom Trident3", Whole(32e6, 3_200.0), "Juniper QFX5120; public list of switch buffers"),
    chip("Broadcom Trident4 X11", Whole(132e6, 12_800.0), "Juniper QFX5130; public list of switch buffers"),
    chip("Broadcom Tomahawk", PerGbps(5_120.0), "ABM section 4.4, Reverie section 4.1"),
    chip("Broadcom Tomahawk 2", Whole(42e6, 6_400.0), "Juniper QFX5210"),
    chip("Broadcom Tomahawk 3", Whole(64e6, 12_800.0), "Juniper QFX5220"),
    chip("Broadcom Tomahawk 4", Whole(112e6, 25_600.0), "Juniper QFX5230"),
    chip("Broadcom Tomahawk 5", Whole(165e6, 51_200.0), "Juniper QFX5240"),
    chip(
        "Broadcom Tomahawk 6",
        Whole(258_035_400.0, 102_400.0),
        "lossless pool in SONiC's file of the NH-4210",
    ),
    chip("NVIDIA Spectrum-1", Whole(13_945_824.0, 3_200.0), "egress pool in SONiC's file of the SN2700"),
    chip("NVIDIA Spectrum-2", Whole(34_287_552.0, 6_400.0), "egress pool in SONiC's file of the SN3700"),
    chip("NVIDIA Spectrum-3", Whole(60_817_392.0, 12_800.0), "egress pool in SONiC's file of the SN4700"),
    chip("NVIDIA Spectrum-4", Whole(158_229_504.0, 51_200.0), "egress pool in SONiC's file of the SN5600"),
    chip("NVIDIA Spectrum-5", Whole(136_209_408.0, 51_200.0), "egress pool in SONiC's file of the SN5640"),
    chip("Marvell Teralynx 7", Whole(70_565_632.0, 12_800.0), "egress pools in SONiC's file of the 6512-32R"),
    chip(
        "Marvell Teralynx 10",
        Whole(214_642_688.0, 51_200.0),
        "egress pools in SONiC's file of the D64P512T",
    ),
    chip("Intel Tofino", PerGbps(3_440.0), "ABM Fig. 11"),
    chip("Intel Tofino 2", Whole(46_749_824.0, 12_800.0), "egress pool in SONiC's file of the AS9516"),
    chip("Occamy prototype", PerGbps(5_120.0), "its artifact: 410 KB, 8 ports of 10 Gb/s"),
];

fn run(params: &Params) -> Domain<Derivation> {
    let (ports, port_rate_bps) = (params.small_count("ports"), input::rate(params, "port_rate"));
    let gigabits = port_rate_bps / 1e9;
    let mut derivation =
        Derivation::new(format!("Buffer of {ports} ports of {}", super::rate(port_rate_bps)));
    let mut rows = Vec::new();
    for chip in CHIPS {
        let figure = chip.buffer.per_gbps();
        let total = buffer_bytes(ports, gigabits, figure)?;
        rows.push((figure, chip.name, chip.buffer.whole(), total, chip.source));
    }
    let all = f64::from(ports) * gigabits;
    derivation.step("all ports", "ports * rate", "", format!("{} Gb/s", number(all)), "");
    if let Some(buffer) = input::given_size(params, "buffer") {
        let figure = buffer_per_port_per_gbps(buffer, ports, gigabits)?;
        let numbers = format!("{} / {}", bytes(buffer), number(all));
        derivation.step("per port and Gb/s", "B / (ports * rate)", numbers, bytes(figure), "");
        derivation.answer("per port and Gb/s", figure, bytes(figure));
        let whole = [bytes(buffer), super::rate(all * 1e9)];
        rows.push((figure, "this switch", whole, buffer, "given"));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let columns = ["chip", "its memory", "its ports", "per port and Gb/s", "as much for yours", "source"];
    let mut table = Table::new(&columns);
    for (figure, name, [memory, together], total, source) in rows {
        table
            .rows
            .push([name.to_owned(), memory, together, bytes(figure), bytes(total), source.to_owned()].into());
    }
    derivation.table = Some(table);
    derivation.note("pools of SONiC's device files are somewhat smaller than the memory");
    derivation.note("not listed: Jericho and Silicon One chips with HBM, whose on-chip buffer is a cache (SONiC's file of the NH-5010, Jericho 3: a pool of 25.8 GB), and chips of which no public figure was found: Trident5, Silicon One G100 and G200");
    derivation.note("other switches as Juniper documents them: QFX5100 12 MB, QFX5200 16 or 22 MB");
    Ok(derivation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculators::CalculatorError;
    use crate::calculators::input::given;

    #[test]
    fn forty_ports_of_10_gigabit_have_3_84_megabytes_on_trident2() -> Result<(), CalculatorError> {
        let asked = [("ports", ParamValue::Count(40)), ("buffer", ParamValue::Bytes(3_840_000))];
        let found = INFO.calculate(&given(&asked))?;
        assert!((found.value("per port and Gb/s").expect("answered") - 9_600.0).abs() < 1e-9);
        let text = found.to_string();
        assert!(text.contains("3.84 MB") && text.contains("this switch"), "{text}");
        // A chip with 165 MB and 51.2 Tb/s has 3.223 KB per Gb/s.
        assert!(text.contains("3.223 KB") && text.contains("51.2 Tb/s"), "{text}");
        let none = INFO.calculate(&given(&[("ports", ParamValue::Count(0))])).expect_err("no port");
        assert_eq!(none.to_string(), "ports is 0, expected a whole number of at least 1");
        Ok(())
    }
}
