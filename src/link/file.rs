//! Capture files on disk; a name that ends in `.zst` is compressed.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use ruzstd::{
    decoding::StreamingDecoder,
    encoding::{CompressionLevel, compress_to_vec},
};

use crate::capture::{Capture, Header, ParseError, Record, write_header, write_record};

/// The longest capture in characters, unpacked. An evening has a hundredth of that.
const MOST: u64 = 64 << 20;
/// After how many characters a recording is saved without being asked to.
const SAVE_AT: usize = 64 * 1024;

/// A capture that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureFileError {
    /// The file cannot be opened or read.
    #[error("cannot read the capture {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the capture {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// A file of this name exists.
    #[error("{} is there already; --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// The file breaks the rules of the format.
    #[error("{}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Line and reason.
        source: ParseError,
    },
}

/// Reads a capture.
///
/// # Errors
/// The error names the file, and the line where there is one.
pub fn read_capture(path: &Path) -> Result<Capture, CaptureFileError> {
    let text = read(path).map_err(|source| CaptureFileError::Read {
        path: path.to_owned(),
        source,
    })?;
    Capture::parse(&text).map_err(|source| CaptureFileError::Format {
        path: path.to_owned(),
        source,
    })
}

/// True where the name asks for compression.
#[must_use]
pub fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut text = Vec::new();
    if !is_compressed(path) {
        bounded(file, &mut text)?;
        return Ok(text);
    }
    let mut raw = Vec::new();
    bounded(file, &mut raw)?;
    let mut rest = raw.as_slice();
    // A compressed recording is a series of frames, one for each save.
    while !rest.is_empty() {
        let decoder = StreamingDecoder::new(&mut rest).map_err(io::Error::other)?;
        bounded(decoder, &mut text)?;
    }
    Ok(text)
}

/// Adds the content of `source` to `text`, unless that becomes longer than a capture may be.
fn bounded(source: impl Read, text: &mut Vec<u8>) -> io::Result<()> {
    let room = MOST - text.len() as u64;
    let read = source.take(room + 1).read_to_end(text)?;
    if read as u64 > room {
        let why = format!("it has more than {} MiB: cut it in two", MOST >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(())
}

/// Writes a capture while it happens.
#[derive(Debug)]
pub struct CaptureWriter {
    path: PathBuf,
    file: File,
    compressed: bool,
    /// The records that are not saved yet, as text.
    text: String,
}

impl CaptureWriter {
    /// Begins a file. An existing file is only overwritten with `force`.
    ///
    /// # Errors
    /// When the file cannot be created, or exists.
    pub fn create(path: &Path, header: &Header, force: bool) -> Result<Self, CaptureFileError> {
        let mut options = OpenOptions::new();
        options.write(true);
        let options = if force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        let file = options.open(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => CaptureFileError::Exists(path.to_owned()),
            _ => CaptureFileError::Write {
                path: path.to_owned(),
                source,
            },
        })?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
            compressed: is_compressed(path),
            text: String::new(),
        };
        // Writing into a `String` cannot fail.
        let _ = write_header(&mut writer.text, header);
        writer.save()?;
        Ok(writer)
    }

    /// Adds a record. It reaches the file with [`Self::save`], or when enough records wait.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, record: &Record) -> Result<(), CaptureFileError> {
        let _ = write_record(&mut self.text, record);
        if self.text.len() >= SAVE_AT {
            self.save()
        } else {
            Ok(())
        }
    }

    /// Hands all records to the system.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&mut self) -> Result<(), CaptureFileError> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text).into_bytes();
        let bytes = if self.compressed {
            compress_to_vec(text.as_slice(), CompressionLevel::Fastest)
        } else {
            text
        };
        self.file
            .write_all(&bytes)
            .map_err(|source| CaptureFileError::Write {
                path: self.path.clone(),
                source,
            })
    }

    /// Saves all records, and waits until they are on the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), CaptureFileError> {
        self.save()?;
        self.file.sync_all().map_err(|source| CaptureFileError::Write {
            path: self.path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{capture::Act, time::Millis};

    #[test]
    fn what_is_written_compressed_in_parts_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.dgtcap", "a.dgtcap.zst"] {
            let path = folder.path().join(name);
            let mut capture = Capture::default();
            capture.header.push("board", "7").unwrap();
            let mut writer = CaptureWriter::create(&path, &capture.header, false).unwrap();
            for n in 0..500 {
                let record = Record {
                    at: Millis(n * 10),
                    act: Act::FromBoard(vec![0x8e, 0, 5, (n % 64) as u8, 1]),
                };
                writer.write(&record).unwrap();
                capture.records.push(record);
                if n % 100 == 0 {
                    writer.save().unwrap();
                }
            }
            writer.finish().unwrap();
            assert_eq!(read_capture(&path).unwrap(), capture);
            let again = CaptureWriter::create(&path, &capture.header, false).unwrap_err();
            assert!(matches!(again, CaptureFileError::Exists(_)));
            assert_eq!(
                fs::read(&path).unwrap().starts_with(b"# dgtcap 1"),
                name == "a.dgtcap"
            );
        }
    }

    #[test]
    fn damage_is_an_error_and_not_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.dgtcap.zst");
        fs::write(&path, b"no zstd at all").unwrap();
        assert!(matches!(
            read_capture(&path).unwrap_err(),
            CaptureFileError::Read { .. }
        ));
    }
}
