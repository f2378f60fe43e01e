//! The connection to the database: what it has, and rows into it.

use std::{future::Future, time::Duration};

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::{
    holding::{Hole, Kept},
    migrations::migrate,
    row::EventRow,
    tls::Connector,
    trouble::DatabaseTrouble,
};
use crate::{config::DatabaseConfig, tls::client_config};

/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the database may take for a batch of rows.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to bring the schema up to date, and to look through a large table.
const LOOK: Duration = Duration::from_secs(600);

/// Rows that are not there yet, whichever tournament they were kept under.
const INSERT: &str = "
    insert into dgt2mqtt.event
        (tournament, gateway, board, seq, id, type, game, kind, offender, ply, certainty, concerns, by, t, at, time,
         asked, abridged, payload)
    select $1, r.gateway, r.board, r.seq, r.id, r.type, r.game, r.kind, r.offender, r.ply, r.certainty, r.concerns,
           r.by, r.t, r.at, r.time, r.asked, r.abridged, r.payload
    from jsonb_to_recordset($2) as r (gateway text, board text, seq bigint, id text, type text, game integer,
         kind text, offender text, ply integer, certainty text, concerns text, by text, t double precision,
         at double precision, time timestamptz, asked boolean, abridged boolean, payload jsonb)
    where not exists (select from dgt2mqtt.event e
                      where e.gateway = r.gateway and e.board = r.board and e.seq = r.seq)
    on conflict do nothing";

/// Short forms of which the whole has come.
const REPLACE: &str = "
    delete from dgt2mqtt.event e
    using jsonb_to_recordset($1) as r (gateway text, board text, seq bigint, abridged boolean)
    where e.abridged and not r.abridged and e.gateway = r.gateway and e.board = r.board and e.seq = r.seq";

const HOLE: &str = "
    insert into dgt2mqtt.hole (gateway, board, first, last, why) values ($1, $2, $3, $4, $5) on conflict do nothing";

/// What need not be asked for: stretches of events, and what could not be had.
const KEPT: &str = "
    select gateway, board, min(seq), max(seq), false
    from (select gateway, board, seq, seq - dense_rank() over (partition by gateway, board order by seq) as stretch
          from dgt2mqtt.event where not abridged) numbered
    group by gateway, board, stretch
    union all
    select gateway, board, first, last, true from dgt2mqtt.hole";

/// An open connection to a database with our schema.
pub(super) struct Database {
    client: Client,
    connection: JoinHandle<()>,
    tournament: String,
}

impl Database {
    /// Connects, and brings the schema up to date.
    ///
    /// # Errors
    /// When the database cannot be reached, or refuses it.
    pub(super) async fn open(database: &DatabaseConfig, tournament: &str) -> Result<Self, DatabaseTrouble> {
        let certificates = database.tls.as_ref().map(client_config).transpose();
        let connector =
            Connector(certificates.map_err(|error| DatabaseTrouble::Certificates(error.to_string()))?);
        let mut settings = database.settings.clone();
        if settings.get_application_name().is_none() {
            settings.application_name("dgt2mqtt archive");
        }
        settings.connect_timeout(CONNECT);
        let (client, connection) = within(ANSWER, settings.connect(connector)).await?;
        let mut opened = Self {
            client,
            // The client hears of the connection's end at its next question.
            connection: tokio::spawn(async { drop(connection.await) }),
            tournament: tournament.to_owned(),
        };
        within(LOOK, opened.migrate()).await?;
        Ok(opened)
    }

    async fn migrate(&mut self) -> Result<(), DatabaseTrouble> {
        let transaction = self.client.transaction().await?;
        migrate(&transaction, &self.tournament).await?;
        Ok(transaction.commit().await?)
    }

    /// What the database has.
    ///
    /// # Errors
    /// When it does not say.
    pub(super) async fn kept(&self) -> Result<Vec<Kept>, DatabaseTrouble> {
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        let rows = within(LOOK, self.client.query(KEPT, &[])).await?;
        let kept = rows.iter().map(|row| Kept {
            gateway: row.get(0),
            board: row.get(1),
            first: number(row.get(2)),
            last: number(row.get(3)),
            is_hole: row.get(4),
        });
        Ok(kept.collect())
    }

    /// Writes rows and holes down: all of them, or nothing.
    ///
    /// # Errors
    /// When the database does not take them, or cannot be reached. They may be there all the same.
    pub(super) async fn write(&mut self, rows: &[EventRow], holes: &[Hole]) -> Result<(), DatabaseTrouble> {
        within(ANSWER, self.transact(rows, holes)).await
    }

    async fn transact(&mut self, rows: &[EventRow], holes: &[Hole]) -> Result<(), DatabaseTrouble> {
        let transaction = self.client.transaction().await?;
        let columns = Value::Array(rows.iter().map(|row| row.columns.clone()).collect());
        if rows.iter().any(|row| row.columns["asked"] == true) {
            transaction.execute(REPLACE, &[&columns]).await?;
        }
        transaction.execute(INSERT, &[&self.tournament, &columns]).await?;
        for Hole {
            gateway,
            board,
            first,
            last,
            why,
        } in holes
        {
            let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            let (first, last) = (number(*first), number(*last));
            transaction
                .execute(HOLE, &[gateway, board, &first, &last, why])
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Waits until the connection ends.
    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.connection).await;
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// An answer of the database in time.
async fn within<T, E: Into<DatabaseTrouble>>(
    patience: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, DatabaseTrouble> {
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(DatabaseTrouble::Silent),
    }
}
