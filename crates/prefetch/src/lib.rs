//! Prefetch instructions: hints that the program will soon use a value.
//!
//! A prefetch only moves a cache line. The instruction reads no value, writes no value, and ignores
//! addresses that the program may not read. So no result depends on a prefetch, and every function
//! of this crate is safe. Miri and processors other than x86-64 and AArch64 do nothing.

#![allow(unsafe_code)]

/// Size of a cache line (bytes).
const LINE: usize = 64;

/// Requests the first `lines` cache lines of `values[index]`. The function checks no bounds: lines
/// behind the end of the value or of the slice are useless but harmless.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize, lines: usize) {
    let start: *const u8 = values.as_ptr().wrapping_add(index).cast();
    for line in 0..lines {
        request(start.wrapping_add(line * LINE));
    }
}

/// Requests the cache line of `address` for reading and writing, in all levels of the cache.
#[inline(always)]
fn request(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: PREFETCHT0 belongs to SSE, which every x86-64 processor has. The instruction has
        // no effect on memory or registers, and raises no exception for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: PRFM has no effect on memory, registers or flags, and raises no synchronous
        // exception for any address.
        unsafe {
            core::arch::asm!(
                "prfm pldl1keep, [{}]",
                in(reg) address,
                options(readonly, nostack, preserves_flags)
            );
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefetch_changes_no_value_and_accepts_every_address() {
        let values: Vec<u64> = (0..100).collect();
        for index in (0..200).chain([usize::MAX / 8, usize::MAX]) {
            prefetch(&values, index, 4);
        }
        prefetch::<u64>(&[], 0, 1);
        request(core::ptr::null());
        assert!(values.iter().copied().eq(0..100));
    }
}
