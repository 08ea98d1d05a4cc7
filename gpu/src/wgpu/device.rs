//! A device whose faults become errors.
//!
//! wgpu reports a fault in one of four ways, and each ends in [`EngineError::Device`] (want of memory
//! in [`EngineError::Unavailable`]; a lost device may be a kernel's doing and is none of that): an error
//! scope catches what a call answers, a handler what no scope caught, another the loss of the
//! device, and the few panics left in wgpu for faults it deems fatal are caught at the engine's
//! entries ([`crate::engine::no_panic`]). A driver that ends the process itself cannot be helped from inside it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wgpu::{
    Adapter, Device, DeviceDescriptor, ErrorFilter, Features, Limits, PollType, Queue,
    SubmissionIndex,
};

use crate::engine::EngineError;

/// The longest wait for a submission. Software drivers take minutes for a large one; a kernel that
/// hangs must not hang the campaign.
const LONGEST_WAIT: Duration = Duration::from_secs(900);

/// The first fault that was reported outside of a call.
type Fault = Arc<Mutex<Option<String>>>;

/// An open device.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) device: Device,
    pub(super) queue: Queue,
    pub(super) limits: Limits,
    fault: Fault,
}

fn note(fault: &Fault, message: String) {
    let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
    fault.get_or_insert(message);
}

impl Gpu {
    /// Opens a device with all the limits the adapter has.
    pub(super) fn open(adapter: &Adapter, features: Features) -> Result<Self, EngineError> {
        let limits = adapter.limits();
        let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor {
            label: Some("splatcheck"),
            required_features: features,
            required_limits: limits.clone(),
            ..DeviceDescriptor::default()
        }))
        .map_err(|e| {
            EngineError::Device(format!("{} would not open: {e}", adapter.get_info().name))
        })?;
        let fault = Fault::default();
        let lost = fault.clone();
        device.set_device_lost_callback(move |reason, message| {
            note(&lost, format!("device lost ({reason:?}): {message}"));
        });
        let uncaptured = fault.clone();
        device.on_uncaptured_error(Arc::new(move |error| note(&uncaptured, error.to_string())));
        Ok(Self { device, queue, limits, fault })
    }

    /// Runs calls on the device and returns what went wrong in them, if anything.
    pub(super) fn scoped<T>(&self, what: &str, call: impl FnOnce() -> T) -> Result<T, EngineError> {
        let scopes = [ErrorFilter::Internal, ErrorFilter::OutOfMemory, ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let result = call();
        let mut first = None;
        // Scopes are popped in the reverse of the order in which they were pushed.
        for scope in scopes.into_iter().rev() {
            let error = pollster::block_on(scope.pop());
            first = first.or(error);
        }
        match first {
            Some(error @ wgpu::Error::OutOfMemory { .. }) => {
                Err(EngineError::Unavailable(format!(
                    "{what}: {error}: end other programs that use the device, or take a smaller scene"
                )))
            }
            Some(error) => Err(EngineError::Device(format!("{what}: {error}"))),
            None => self.sound(what).map(|()| result),
        }
    }

    /// Fails if a fault was reported outside of a call.
    fn sound(&self, what: &str) -> Result<(), EngineError> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match &*fault {
            Some(message) => Err(EngineError::Device(format!("{what}: {message}"))),
            None => Ok(()),
        }
    }

    /// Waits for a submission and runs the callbacks that wait for it.
    pub(super) fn wait(&self, submission: SubmissionIndex) -> Result<(), EngineError> {
        let wait =
            PollType::Wait { submission_index: Some(submission), timeout: Some(LONGEST_WAIT) };
        let polled = self.device.poll(wait);
        self.sound("a submission")?;
        polled.map(|_| ()).map_err(|e| {
            EngineError::Device(format!("a submission did not end: {e} (waited {LONGEST_WAIT:?})"))
        })
    }
}
