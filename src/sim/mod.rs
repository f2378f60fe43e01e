//! TODO room
