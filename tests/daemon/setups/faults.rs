//! What breaks in a hall.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::{
    brokers::{Setup, signal},
    hall::Hall,
};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL: what it had not written is gone.
    BrokerKilled,
    BrokerStopped,
    /// SIGSTOP: nobody hears that it is away.
    BrokerFrozen,
    /// No room on its disk; it writes down what it holds, is killed, and comes back.
    BrokerDiskFull,
    /// A part of the gateways cannot reach any broker.
    HallCut,
    /// A part of the gateways cannot reach the first broker of its list.
    LinesCut,
    GatewaysKilled,
    GatewayFrozen,
    GatewayDiskFull,
    /// The power of a gateway, and of the broker beside it.
    GatewayPower,
    PageKilled,
    ArchiveKilled,
    DatabaseKilled,
}

/// So many faults, each kind as often as the others, in an order by chance. Those that need a small disk are left out
/// where none can be made.
pub fn plan(hall: &Hall, count: usize, rng: &mut Rng) -> Vec<Fault> {
    use Fault::{
        ArchiveKilled, BrokerDiskFull, BrokerFrozen, BrokerKilled, BrokerStopped, DatabaseKilled,
        GatewayDiskFull, GatewayFrozen, GatewayPower, GatewaysKilled, HallCut, LinesCut, PageKilled,
    };
    let mut kinds = vec![
        BrokerKilled,
        BrokerStopped,
        BrokerFrozen,
        HallCut,
        LinesCut,
        GatewaysKilled,
        GatewayFrozen,
        PageKilled,
        ArchiveKilled,
    ];
    if hall.brokers.disk.is_some() {
        kinds.push(BrokerDiskFull);
    }
    if hall.gateways[0].disk.is_some() {
        kinds.push(GatewayDiskFull);
    }
    if hall.postgres.is_some() {
        kinds.push(DatabaseKilled);
    }
    if hall.brokers.setup == Setup::Bridges {
        kinds.push(GatewayPower);
    }
    // `ONLY=Broker` looks for the cause of a finding.
    if let Ok(only) = std::env::var("ONLY") {
        kinds.retain(|kind| format!("{kind:?}").contains(&only));
    }
    let mut plan = Vec::new();
    while plan.len() < count {
        rng.shuffle(&mut kinds);
        plan.extend(&kinds);
    }
    plan.truncate(count);
    plan
}

impl Hall {
    /// Lets it happen and pass, in half of `slot_s` at most.
    pub async fn suffer(&mut self, fault: Fault, slot_s: f64, rng: &mut Rng) {
        let away = Duration::from_secs_f64(slot_s * (0.1 + 0.4 * rng.f64()));
        println!(
            "{:7.1} s  {fault:?} for {:.1} s",
            self.begun.elapsed().as_secs_f64(),
            away.as_secs_f64()
        );
        let broker = rng.usize(..self.brokers.central.len());
        let some: Vec<usize> = {
            let mut all: Vec<usize> = (0..self.gateways.len()).collect();
            rng.shuffle(&mut all);
            all.truncate((all.len() / 4).max(1));
            all
        };
        match fault {
            Fault::BrokerKilled | Fault::BrokerStopped => {
                let down = &mut self.brokers.central[broker];
                if fault == Fault::BrokerKilled {
                    down.kill();
                } else {
                    down.stop();
                }
                tokio::time::sleep(away).await;
                self.brokers.central[broker].resume();
            }
            Fault::BrokerFrozen => self.freeze(self.brokers.central[broker].process(), away).await,
            Fault::BrokerDiskFull => self.broker_disk_full(away).await,
            Fault::HallCut => self.cut(&some, usize::MAX, away).await,
            Fault::LinesCut => self.cut(&some, 1, away).await,
            Fault::GatewaysKilled | Fault::GatewayPower => self.kill(&some, fault, away).await,
            Fault::GatewayFrozen => self.freeze(self.gateways[some[0]].process(), away).await,
            Fault::GatewayDiskFull => {
                let disk = self.gateways[0].disk.as_ref().unwrap();
                disk.fill();
                tokio::time::sleep(away).await;
                disk.clear();
            }
            Fault::PageKilled => {
                self.page = None;
                tokio::time::sleep(away).await;
                self.serve();
            }
            Fault::ArchiveKilled => {
                self.archive = None;
                tokio::time::sleep(away).await;
                self.keep();
            }
            Fault::DatabaseKilled => {
                self.postgres.as_ref().unwrap().stop();
                tokio::time::sleep(away).await;
                self.postgres.as_ref().unwrap().resume();
            }
        }
        self.healed = Instant::now();
    }

    /// Lets the hall play on until the next fault is due.
    pub async fn go_on(&mut self, slot_s: f64, begin: Instant) {
        let rest = Duration::from_secs_f64(slot_s).saturating_sub(begin.elapsed());
        tokio::time::sleep(rest / 2).await;
        self.has_lived();
        tokio::time::sleep(rest / 2).await;
    }

    async fn freeze(&self, process: u32, away: Duration) {
        signal(process, "STOP");
        tokio::time::sleep(away).await;
        signal(process, "CONT");
    }

    async fn broker_disk_full(&mut self, away: Duration) {
        let disk = self.brokers.disk.as_ref().unwrap();
        disk.fill();
        tokio::time::sleep(away / 2).await;
        let broker = &mut self.brokers.central[0];
        broker.save();
        tokio::time::sleep(away / 2).await;
        if broker.lives() {
            broker.kill();
        }
        disk.clear();
        broker.resume();
    }

    async fn cut(&self, gateways: &[usize], lines: usize, away: Duration) {
        let open = |is_open| {
            for gateway in gateways {
                for line in self.brokers.lines[*gateway].iter().take(lines) {
                    line.open(is_open);
                }
            }
        };
        open(false);
        tokio::time::sleep(away).await;
        open(true);
    }

    async fn kill(&mut self, gateways: &[usize], fault: Fault, away: Duration) {
        for gateway in gateways {
            self.gateways[*gateway].kill();
            if fault == Fault::GatewayPower {
                let own = &mut self.brokers.own[*gateway];
                signal(own.process(), "KILL");
                own.stop();
            }
        }
        tokio::time::sleep(away).await;
        for gateway in gateways {
            if fault == Fault::GatewayPower {
                self.brokers.own[*gateway].resume();
            }
            self.gateways[*gateway].resume();
        }
    }
}
