//! Makes the schema `dgt2mqtt`, brings one of an older version up to date, and makes the tournament's partition.

use tokio_postgres::Transaction;

use super::trouble::DatabaseTrouble;

/// What makes each version of the schema from the one before. A released one never changes.
const MIGRATIONS: [&str; 1] = [include_str!("schema/1.sql")];

/// Two archives that start at once wait for each other; the number is arbitrary, and ours.
const LOCK: &str = "select pg_advisory_xact_lock(722016421)";

/// Writes the statement that makes a partition: the database quotes the names by itself.
const PARTITION: &str = "
    select format('create table if not exists dgt2mqtt.%I partition of dgt2mqtt.event for values in (%L)',
                  'event_' || left(trim(regexp_replace(lower($1), '[^a-z0-9]+', '_', 'g'), '_'), 40)
                           || '_' || left(md5($1), 8), $1)";

/// Brings the schema up to date, and makes room for the events of `tournament`.
///
/// # Errors
/// When the database refuses it, or a newer program made its schema.
pub(super) async fn migrate(transaction: &Transaction<'_>, tournament: &str) -> Result<(), DatabaseTrouble> {
    transaction.batch_execute(LOCK).await?;
    let is_there: bool = transaction
        .query_one("select to_regclass('dgt2mqtt.version') is not null", &[])
        .await?
        .get(0);
    if !is_there {
        transaction
            .batch_execute("create schema if not exists dgt2mqtt; create table dgt2mqtt.version (version integer not null); insert into dgt2mqtt.version values (0)")
            .await?;
    }
    let found: i32 = transaction
        .query_one("select version from dgt2mqtt.version", &[])
        .await?
        .get(0);
    let newer = MIGRATIONS
        .get(usize::try_from(found).unwrap_or(usize::MAX)..)
        .ok_or(DatabaseTrouble::Newer {
            found,
            known: MIGRATIONS.len(),
        })?;
    for migration in newer {
        transaction.batch_execute(migration).await?;
        transaction
            .batch_execute("update dgt2mqtt.version set version = version + 1")
            .await?;
    }
    let is_there = "select from pg_catalog.pg_class where oid = to_regclass('dgt2mqtt.event')";
    if transaction.query_opt(is_there, &[]).await?.is_none() {
        return Err(DatabaseTrouble::Incomplete);
    }
    let make: String = transaction.query_one(PARTITION, &[&tournament]).await?.get(0);
    transaction.batch_execute(&make).await?;
    Ok(())
}
