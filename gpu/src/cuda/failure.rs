//! What the driver's errors mean for the one who asked.
//!
//! Three kinds, which the harness treats differently: what the machine lacks or lost
//! ([`EngineError::Unavailable`], [`EngineError::NoDevice`]), a kernel that the driver does not take
//! ([`EngineError::Compile`]), and a kernel that went wrong while it ran ([`EngineError::Device`]).
//! Codes and their causes are those of the CUDA Driver API's `CUresult`.

use crate::artifact::{ARCHITECTURE, Artifact};
use crate::engine::EngineError;
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// The error of any call but the loading of a kernel; `what` was being done.
pub(super) fn failed(what: &str) -> impl Fn(DriverError) -> EngineError + use<> {
    let what = what.to_owned();
    move |DriverError(code)| meaning(&what, code)
}

fn meaning(what: &str, code: CUresult) -> EngineError {
    use CUresult as Code;
    let unavailable = |why: String| EngineError::Unavailable(format!("{what}: {why}"));
    match code {
        Code::CUDA_ERROR_OUT_OF_MEMORY => unavailable(
            "out of GPU memory: end other programs that use the GPU ('nvidia-smi' lists them), or \
             take a smaller scene"
                .to_owned(),
        ),
        Code::CUDA_ERROR_DEVICE_UNAVAILABLE => unavailable(
            "another program holds the GPU for itself (its compute mode is exclusive)".to_owned(),
        ),
        // CUDA_ERROR_UNKNOWN is what remains of a GPU that has fallen off the bus.
        Code::CUDA_ERROR_ECC_UNCORRECTABLE
        | Code::CUDA_ERROR_NVLINK_UNCORRECTABLE
        | Code::CUDA_ERROR_DEINITIALIZED
        | Code::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | Code::CUDA_ERROR_INVALID_CONTEXT
        | Code::CUDA_ERROR_UNKNOWN => unavailable(format!(
            "the device was lost ({code:?}): the system's log names the fault ('dmesg', Xid); \
             restart the GPU or the machine"
        )),
        Code::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | Code::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        | Code::CUDA_ERROR_SYSTEM_NOT_READY
        | Code::CUDA_ERROR_STUB_LIBRARY => unavailable(format!(
            "the driver's library does not fit the system's driver ({code:?}): reinstall the \
             NVIDIA driver, and restart the machine if it was just updated"
        )),
        Code::CUDA_ERROR_NO_DEVICE | Code::CUDA_ERROR_INVALID_DEVICE => {
            EngineError::NoDevice(format!(
                "{what}: the CUDA driver knows no such device ({code:?}); 'nvidia-smi' lists \
                     them, CUDA_VISIBLE_DEVICES hides some"
            ))
        }
        Code::CUDA_ERROR_ILLEGAL_ADDRESS
        | Code::CUDA_ERROR_MISALIGNED_ADDRESS
        | Code::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | Code::CUDA_ERROR_INVALID_PC
        | Code::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | Code::CUDA_ERROR_HARDWARE_STACK_ERROR
        | Code::CUDA_ERROR_ASSERT
        | Code::CUDA_ERROR_LAUNCH_FAILED
        | Code::CUDA_ERROR_LAUNCH_TIMEOUT => EngineError::Device(format!(
            "{what}: a kernel faulted ({code:?}); the device must be opened again"
        )),
        other => EngineError::Device(format!("{what}: {other:?}")),
    }
}

/// The error of loading a kernel.
pub(super) fn refused(
    artifact: &Artifact,
    adapter: &str,
    driver: &str,
) -> impl Fn(DriverError) -> EngineError + use<> {
    let file = artifact.file();
    let (adapter, driver) = (adapter.to_owned(), driver.to_owned());
    move |DriverError(code)| {
        let message = match code {
            CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => format!(
                "the driver ({driver}) is too old for this PTX: install one for CUDA 12.4 or later"
            ),
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => format!(
                "it is compiled for {ARCHITECTURE} and above, which {adapter} ({driver}) does not \
                 run: this is the wrong architecture"
            ),
            CUresult::CUDA_ERROR_INVALID_PTX
            | CUresult::CUDA_ERROR_INVALID_SOURCE
            | CUresult::CUDA_ERROR_INVALID_IMAGE => format!(
                "the compiler of the driver ({driver}) refuses it ({code:?}): please report this"
            ),
            CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND => format!(
                "the driver ({driver}) comes without its compiler for PTX: install \
                 libnvidia-ptxjitcompiler"
            ),
            CUresult::CUDA_ERROR_NOT_FOUND => "it has no such entry point".to_owned(),
            other => return meaning(&format!("loading {file}"), other),
        };
        EngineError::Compile { kernel: file.clone(), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each code of a call means, and the words that its message must have.
    #[test]
    fn every_code_says_what_where_and_what_to_do() {
        use CUresult as Code;
        type Kind = fn(&EngineError) -> bool;
        let lacking: Kind = |e| matches!(e, EngineError::Unavailable(_));
        let faulted: Kind = |e| matches!(e, EngineError::Device(_));
        let absent: Kind = |e| matches!(e, EngineError::NoDevice(_));
        let cases: [(CUresult, Kind, &str); 10] = [
            (Code::CUDA_ERROR_OUT_OF_MEMORY, lacking, "out of GPU memory: end other programs"),
            (Code::CUDA_ERROR_DEVICE_UNAVAILABLE, lacking, "holds the GPU for itself"),
            (Code::CUDA_ERROR_ECC_UNCORRECTABLE, lacking, "the device was lost"),
            (Code::CUDA_ERROR_UNKNOWN, lacking, "restart the GPU"),
            (Code::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, lacking, "reinstall the NVIDIA driver"),
            (Code::CUDA_ERROR_NO_DEVICE, absent, "CUDA_VISIBLE_DEVICES"),
            (Code::CUDA_ERROR_ILLEGAL_ADDRESS, faulted, "a kernel faulted (CUDA_ERROR_ILLEGAL_AD"),
            (Code::CUDA_ERROR_LAUNCH_TIMEOUT, faulted, "a kernel faulted"),
            (Code::CUDA_ERROR_ILLEGAL_INSTRUCTION, faulted, "a kernel faulted"),
            (Code::CUDA_ERROR_INVALID_VALUE, faulted, "CUDA_ERROR_INVALID_VALUE"),
        ];
        for (code, kind, words) in cases {
            let error = failed("gradients")(DriverError(code));
            assert!(kind(&error), "{code:?} is {error:?}");
            let text = error.to_string();
            assert!(text.contains("gradients: ") && text.contains(words), "{code:?}: {text}");
        }
    }

    #[test]
    fn a_kernel_that_is_not_taken_is_named_with_the_reason() {
        let artifact = crate::artifact::all()[0];
        let load = refused(&artifact, "GPU X", "CUDA 11.8, sm_75");
        for (code, words) in [
            (CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "(CUDA 11.8, sm_75) is too old"),
            (CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "wrong architecture"),
            (CUresult::CUDA_ERROR_INVALID_PTX, "refuses it (CUDA_ERROR_INVALID_PTX)"),
            (CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "libnvidia-ptxjitcompiler"),
            (CUresult::CUDA_ERROR_NOT_FOUND, "no such entry point"),
        ] {
            let error = load(DriverError(code));
            assert!(matches!(error, EngineError::Compile { .. }), "{code:?} is {error:?}");
            let text = error.to_string();
            assert!(text.contains(&artifact.file()) && text.contains(words), "{code:?}: {text}");
        }
        let full = load(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        assert!(matches!(full, EngineError::Unavailable(_)), "{full:?}");
        assert!(full.to_string().contains(&format!("loading {}", artifact.file())), "{full}");
    }
}
