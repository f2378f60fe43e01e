//! Looks whether anybody tells the address of a broker's name. The library says of a name service that is silent only that the
//! broker did not answer.

use std::time::Duration;

use tokio::{net::lookup_host, time::timeout};

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is wrong with the name; none where its address can be had.
pub(super) async fn missing(host: &str) -> Option<String> {
    let found = timeout(PATIENCE, lookup_host((host, 0))).await;
    let why = match found {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("the name service has not answered for {} s", PATIENCE.as_secs()),
    };
    Some(format!(
        "nobody tells the address of {host} ({why}): see to the name under `urls` and to the network's name service, or give the address itself (`mqtt://192.168.1.2`)"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test panics
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_nobody_knows_is_told_and_an_address_needs_nobody() {
        let said = missing("nobody.invalid").await.unwrap();
        assert!(
            said.contains("nobody.invalid") && said.contains("name service"),
            "{said}"
        );
        assert_eq!(missing("127.0.0.1").await, None);
        assert_eq!(missing("::1").await, None);
    }
}
