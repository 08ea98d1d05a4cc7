//! The oracle.
pub mod camera;
pub mod convention;
pub mod scene;
