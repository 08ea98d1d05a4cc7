//! The engine on every driver of this machine.
//!
//! A process sees the drivers its environment names, so each test of [`drivers`] starts this test
//! program again with the environment of one driver and lets it run the tests of [`on_device`].
//! A driver that is not installed is reported as NOT EXERCISED and its test passes.

mod drivers;
mod exact;
mod on_device;
mod scene;
