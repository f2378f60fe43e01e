//! The broker inside the demo.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use mqtt5::broker::{
    MqttBroker,
    config::{BrokerConfig, StorageBackend, StorageConfig},
};

/// A broker on loopback that keeps everything in memory.
pub(super) struct Broker {
    broker: MqttBroker,
    /// The address on which it listens.
    pub(super) address: SocketAddr,
}

impl Broker {
    /// Binds a free port.
    pub(super) async fn bind() -> anyhow::Result<Self> {
        let config = BrokerConfig {
            bind_addresses: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            // The broker would else make a folder in the working directory.
            storage_config: StorageConfig {
                backend: StorageBackend::Memory,
                enable_persistence: false,
                ..StorageConfig::default()
            },
            sys_topics_enabled: false,
            ..BrokerConfig::default()
        };
        let broker = MqttBroker::with_config(config)
            .await
            .context("cannot start the broker")?;
        let address = broker
            .local_addr()
            .context("the broker does not say where it listens")?;
        Ok(Self { broker, address })
    }

    /// Serves until it is dropped.
    pub(super) async fn run(mut self) -> anyhow::Result<()> {
        self.broker.run().await.context("the broker failed")
    }
}
