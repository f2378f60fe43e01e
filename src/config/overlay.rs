//! Lays a table of the file over another one.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Lays `own` over `common`: tables key by key. Any other value, a list too, replaces the common one.
pub(super) fn lay_over<'v>(common: &mut DeTable<'v>, own: DeTable<'v>) {
    for (key, value) in own {
        match (
            common.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut),
            value,
        ) {
            (Some(DeValue::Table(below)), value) if value.get_ref().is_table() => {
                if let DeValue::Table(above) = value.into_inner() {
                    lay_over(below, above);
                }
            }
            (_, value) => {
                common.remove(key.get_ref().as_ref());
                common.insert(key, value);
            }
        }
    }
}
