//! Reads tables completely even if a signal interrupts a system call.

use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The file of a table. Reads repeat a system call that a signal interrupts. Parquet's reader gives
/// up on interrupted calls, which occur on network file systems.
#[derive(Debug)]
pub(crate) struct Patient<R = File>(pub(crate) R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => return answer,
            }
        }
    }
}

impl Length for Patient {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Patient {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let mut file = self.0.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Self(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that reports an interruption before every byte.
    struct Interrupted<'a>(&'a [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(&mut bytes[..1]) }
        }
    }

    #[test]
    fn an_interrupted_call_is_made_again() {
        let mut two = [0; 2];
        let mut patient = Patient(Interrupted(b"ab", false));
        assert_eq!(patient.read(&mut two[..]).expect("a byte"), 1);
        assert_eq!(patient.read(&mut two[1..]).expect("another"), 1);
        assert_eq!(&two, b"ab");
    }
}
