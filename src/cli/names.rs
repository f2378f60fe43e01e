//! Names on the command line, spelled as in the payloads.

use crate::{capture::is_board_id, laws::Edition};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::{DeserializeOwned, IntoDeserializer, value};

pub(super) const LAWS: [&str; Edition::ALL.len()] = {
    let mut names = [""; Edition::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Edition::ALL[i].as_str();
        i += 1;
    }
    names
};
pub(super) const TIME_CONTROLS: [&str; 3] = ["standard", "rapid", "blitz"];
pub(super) const SUPERVISIONS: [&str; 2] = ["adequate", "not_adequate"];

/// A parser that takes one of `names`, for a type that spells them so.
pub(super) fn one_of<T, const N: usize>(names: [&'static str; N]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: value::StringDeserializer<value::Error> = name.into_deserializer();
        T::deserialize(name)
    })
}

/// Reads the name of a gateway.
pub(super) fn gateway(name: &str) -> Result<String, &'static str> {
    board_id(name).map_err(|_| "the name of a gateway is 1 to 32 of a-z, 0-9, `_` and `-`")
}

/// Reads a board's id.
pub(super) fn board_id(id: &str) -> Result<String, &'static str> {
    if is_board_id(id) {
        Ok(id.to_owned())
    } else {
        Err("an id is 1 to 32 of a-z, 0-9, `_` and `-`")
    }
}
