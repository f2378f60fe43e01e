//! Capture files on disk; a name that ends in `.zst` is compressed.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use ruzstd::decoding::StreamingDecoder;

use crate::capture::{Capture, ParseError};

/// A capture that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureFileError {
    /// The file cannot be opened or read.
    #[error("cannot read the capture {}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It breaks the rules of the format.
    #[error("{}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Line and reason.
        source: ParseError,
    },
}

/// Reads a capture.
///
/// # Errors
/// Says which file, and which line of it.
pub fn read_capture(path: &Path) -> Result<Capture, CaptureFileError> {
    let text = read(path).map_err(|source| CaptureFileError::Io {
        path: path.to_owned(),
        source,
    })?;
    Capture::parse(&text).map_err(|source| CaptureFileError::Format {
        path: path.to_owned(),
        source,
    })
}

/// Whether the name asks for compression.
#[must_use]
pub fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    if is_compressed(path) {
        let mut decoder = StreamingDecoder::new(BufReader::new(file)).map_err(io::Error::other)?;
        decoder.read_to_end(&mut text)?;
    } else {
        file.read_to_end(&mut text)?;
    }
    Ok(text)
}
