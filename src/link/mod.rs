//! Links to boards, and the files that record them.
#![allow(clippy::disallowed_methods)] // links live on the wall clock.

pub mod file;
