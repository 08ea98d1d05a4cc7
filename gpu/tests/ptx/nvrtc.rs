//! NVRTC, NVIDIA's run-time compiler, loaded from a file: the seven functions that a compilation
//! takes (NVRTC documentation, "Modules").

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

/// `nvrtcProgram`, opaque.
type Program = *mut std::ffi::c_void;

/// `nvrtcResult`, 0 is success.
type Status = c_int;

type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> Status;
type GetText = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;

/// The loaded library.
pub(crate) struct Nvrtc {
    library: Library,
}

impl Nvrtc {
    /// Loads the library; its `libnvrtc-builtins` lies beside it.
    pub(crate) fn load(file: &Path) -> Self {
        // SAFETY: NVRTC runs no code on loading that has requirements on its caller.
        let library = unsafe { Library::new(file) };
        Self { library: library.unwrap_or_else(|e| panic!("{}: {e}", file.display())) }
    }

    /// A function of the library. The caller gives its type.
    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: every call names a function of NVRTC's interface together with the type that its
        // header declares.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        *symbol.unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Major and minor version.
    pub(crate) fn version(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both point to integers.
        let status = unsafe { self.function::<Version>("nvrtcVersion")(&mut major, &mut minor) };
        assert_eq!(status, 0, "nvrtcVersion fails");
        (major, minor)
    }

    /// Compiles a program to PTX.
    pub(crate) fn compile(&self, source: &str, name: &str, options: &[String]) -> String {
        let c_string = |text: &str| CString::new(text).expect("no NUL in texts");
        let (source, c_name) = (c_string(source), c_string(name));
        let options: Vec<CString> = options.iter().map(|o| c_string(o)).collect();
        let pointers: Vec<_> = options.iter().map(|o| o.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).expect("few options");
        let mut program: Program = null_mut();
        // SAFETY: all strings end in NUL and outlive the calls; no headers are given.
        let status = unsafe {
            let create = self.function::<Create>("nvrtcCreateProgram");
            create(&mut program, source.as_ptr(), c_name.as_ptr(), 0, null(), null())
        };
        assert_eq!(status, 0, "{name}: nvrtcCreateProgram fails");
        // SAFETY: the program was created, and `count` options are given.
        let status = unsafe {
            self.function::<Compile>("nvrtcCompileProgram")(program, count, pointers.as_ptr())
        };
        let log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
        assert!(status == 0 && log.is_empty(), "{name}: {log}");
        self.text(program, "nvrtcGetPTXSize", "nvrtcGetPTX")
    }

    /// What a pair of functions gives: the size, its NUL included, and the text.
    fn text(&self, program: Program, size: &str, get: &str) -> String {
        let mut bytes = 0;
        // SAFETY: the program was created and is never destroyed: the process ends soon.
        let status = unsafe { self.function::<GetSize>(size)(program, &mut bytes) };
        assert_eq!(status, 0, "{size} fails");
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer has the size that was asked for.
        let status = unsafe { self.function::<GetText>(get)(program, buffer.as_mut_ptr().cast()) };
        assert_eq!(status, 0, "{get} fails");
        let text = CStr::from_bytes_until_nul(&buffer).expect("it ends in NUL");
        text.to_str().expect("it is ASCII").to_owned()
    }
}
