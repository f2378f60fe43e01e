//! Asks the board at a source for its identity.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout_at},
};

use super::{LinkSource, OpenError, probe::numbers_of};
use crate::{
    dgt::PieceCode,
    families::{Family, Told},
    time::Millis,
};

/// How long to listen to a board that tells whole positions. A board that resets when its port is opened takes two
/// seconds to start, and should then speak every second.
const LISTENING: Duration = Duration::from_secs(5);

/// Opens the source and asks the board there for its serial numbers, short and long; none when the board is silent.
///
/// # Errors
/// As [`LinkSource::open`].
pub async fn ask(source: &LinkSource) -> Result<Vec<String>, OpenError> {
    let mut opened = source.open().await?;
    Ok(numbers_of(&mut opened).await)
}

/// Opens the source, asks the board of `family` for its position and waits for it; none when the board does not tell
/// it.
///
/// # Errors
/// As [`LinkSource::open`].
pub async fn hear_position(
    source: &LinkSource,
    family: &Family,
) -> Result<Option<[PieceCode; 64]>, OpenError> {
    let mut opened = source.open_as(family.line).await?;
    let (began, mut driver) = (Instant::now(), (family.driver)());
    let (mut buffer, mut heard) = ([0; 256], None);
    driver.link_up(Millis(0));
    while heard.is_none() && began.elapsed() < LISTENING {
        // Five seconds are 5000 milliseconds, which fit.
        let now = Millis(began.elapsed().as_millis() as u64);
        driver.handle_timeout(now);
        while let Some(command) = driver.poll_transmit() {
            if opened.io.write_all(&command).await.is_err() {
                return Ok(None);
            }
        }
        let due = driver
            .poll_timeout()
            .map(|due| began + Duration::from_millis(due.0));
        let deadline = due.unwrap_or(began + LISTENING).min(began + LISTENING);
        match timeout_at(deadline, opened.io.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Err(_) | Ok(0)) => break,
            Ok(Ok(n)) => driver.bytes(now, &buffer[..n], &mut |told| {
                if let Told::Squares(squares) = told {
                    heard = Some(squares);
                }
            }),
        }
    }
    Ok(heard)
}
