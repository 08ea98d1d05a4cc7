"""Writes `markers.cuh` and, with NVRTC and zstd, the archive of the tests' kernels beside it.

    python3 header.py [libnvrtc.so]

The numbers of functions are those of `Library` in `../table/library.rs`.
"""
import ctypes
import io
import pathlib
import subprocess
import sys
import tarfile

ONE = """expf exp10f expm1f logf log10f log1pf sinf cosf tanf sinpif cospif asinf acosf atanf sinhf coshf tanhf
asinhf acoshf atanhf erff erfcf normcdff lgammaf tgammaf cbrtf rcbrtf exp2f log2f""".split()
TWO = "powf atan2f hypotf rhypotf".split()
# C++'s names of the same, of which those for double stay as they are.
PLAIN = """exp exp10 expm1 log log10 log1p sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh acosh
atanh erf erfc normcdf lgamma tgamma cbrt rcbrt exp2 log2""".split()
# Those of double precision that are marked, with their numbers and what is called where both operands are float.
# The polynomials of others are followed.
DOUBLE = {"asinh": 17, "acosh": 18, "atanh": 19}
DOUBLE_TWO = {"pow": (29, "powf"), "fmod": (33, "fmodf"), "remainder": (34, "remainderf")}
# Special functions, with their numbers. They came later, and stand behind all others.
SPECIAL = {name: 35 + k for k, name in enumerate("""erfinvf erfcinvf erfcxf normcdfinvf cyl_bessel_i0f cyl_bessel_i1f
j0f j1f y0f y1f""".split())}
# C++'s names of them. Without j0, j1, y0 and y1: kernels have variables of these names.
PLAIN_SPECIAL = "erfinv erfcinv erfcx normcdfinv cyl_bessel_i0 cyl_bessel_i1".split()
# Kernels of functions that need no marker, and of second operands: what each computes of x.
EXPRESSIONS = {
    "powf_second": "powf(1.7f, x)",
    "atan2f_second": "atan2f(1.7f, x)",
    "hypotf_second": "hypotf(1.7f, x)",
    "rhypotf_second": "rhypotf(1.7f, x)",
    "norm3df": "norm3df(x, 1.7f, 0.6f)",
    "norm4df": "norm4df(x, 1.7f, 0.6f, 0.4f)",
    "rnorm3df": "rnorm3df(x, 1.7f, 0.6f)",
    "rnorm4df": "rnorm4df(x, 1.7f, 0.6f, 0.4f)",
    "fdimf": "fdimf(x, 1.7f)",
    "fdividef": "fdividef(x, 1.7f)",
    "fdividef_second": "fdividef(1.7f, x)",
    "roundf": "roundf(x)",
    "rintf": "rintf(x)",
    "truncf": "truncf(x)",
    "nearbyintf": "nearbyintf(x)",
    "floorf": "floorf(x)",
    "ceilf": "ceilf(x)",
    "fmodf": "fmodf(x, 1.7f)",
    "fmodf_second": "fmodf(9.3f, x)",
    "remainderf": "remainderf(x, 1.7f)",
    "remquof": "(part = remquof(x, 1.7f, &whole), part + whole)",
    "frexpf": "(part = frexpf(x, &whole), part + whole)",
    "ldexpf": "ldexpf(x, 3)",
    "scalbnf": "scalbnf(x, -3)",
    "modff": "modff(x, &part)",
    "modff_whole": "(modff(x, &part), part)",
    "logbf": "logbf(x)",
    "sincospif": "(sincospif(x, &part, &other), part * other)",
    "nextafterf": "nextafterf(x, 9.0f)",
    "copysignf": "copysignf(x, -1.7f)",
    "copysignf_second": "copysignf(1.7f, x)",
    "fabsf": "fabsf(x)",
    "fmaxf": "fmaxf(x, 1.7f)",
    "fminf": "fminf(x, 1.7f)",
    "__expf": "__expf(x)",
    "__exp10f": "__exp10f(x)",
    "__powf": "__powf(x, 1.7f)",
    "__powf_second": "__powf(1.7f, x)",
    "__sinf": "__sinf(x)",
    "__cosf": "__cosf(x)",
    "__tanf": "__tanf(x)",
    "__logf": "__logf(x)",
    "__log2f": "__log2f(x)",
    "__log10f": "__log10f(x)",
    "__fdividef": "__fdividef(x, 1.7f)",
    "__saturatef": "__saturatef(x)",
}
HERE = pathlib.Path(__file__).parent


def header():
    lines = ["""// Tells splatcheck's emulator where a function of CUDA's library begins and ends, so that its shadow is
// that of the function, and not of the polynomial that the compiler puts in its place. Compile with
// `-include markers.cuh` (nvcc, clang) or `--pre-include=markers.cuh` (NVRTC). On a device the markers do
// nothing: a maximum with what is not a number is the other operand. Written by header.py.
#ifndef SPLATCHECK_MARKERS
#define SPLATCHECK_MARKERS
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
"""]
    add = lines.append

    for k, name in enumerate(ONE + TWO):
        single(add, name, k)
    add("""static __device__ __forceinline__ void splatcheck_sincosf(float a, float* s, float* c) {
    float sine, cosine;
    sincosf(splatcheck_begin_sinf(a), &sine, &cosine);
    *s = splatcheck_end_sinf(sine);
    splatcheck_begin_cosf(a);
    *c = splatcheck_end_cosf(cosine);
}
""")
    for name in PLAIN:
        add(f"static __device__ __forceinline__ float splatcheck_{name}(float a) {{ return splatcheck_{name}f(a); }}\n")
        call = ";" if name in DOUBLE else f" {{ return {name}(a); }}"
        add(f"static __device__ __forceinline__ double splatcheck_{name}(double a){call}\n")
    # NVRTC has no std of its own.
    add("#ifndef __CUDACC_RTC__\nnamespace std {\n")
    for name in ONE + TWO + PLAIN:
        add(f"using ::splatcheck_{name};\n")
    add("}\n#endif\n")
    doubles(add)
    special(add)
    for name in ONE + TWO + list(SPECIAL):
        add(f"#define {name} splatcheck_{name}\n")
    add("#define sincosf splatcheck_sincosf\n")
    for name in PLAIN + PLAIN_SPECIAL + list(DOUBLE_TWO):
        add(f"#define {name} splatcheck_{name}\n")
    add("#endif\n#endif\n")
    (HERE / "markers.cuh").write_text("".join(lines))


def single(add, name, k):
    """A function of single precision between its markers."""

    def marker(name, bits):
        add(f"""static __device__ __forceinline__ float splatcheck_{name}(float x) {{
    float y;
    asm volatile("max.f32 %0, %1, 0f{bits:08X};" : "=f"(y) : "f"(x));
    return y;
}}
""")

    marker(f"begin_{name}", 0x7FC10000 | k)
    if name in TWO:
        marker(f"second_{name}", 0x7FC10100 | k)
    marker(f"end_{name}", 0x7FC20000 | k)
    if name in TWO:
        add(f"""static __device__ __forceinline__ float splatcheck_{name}(float a, float b) {{
    float first = splatcheck_begin_{name}(a), second = splatcheck_second_{name}(b);
    return splatcheck_end_{name}({name}(first, second));
}}
""")
    else:
        add(f"""static __device__ __forceinline__ float splatcheck_{name}(float a) {{
    return splatcheck_end_{name}({name}(splatcheck_begin_{name}(a)));
}}
""")


def special(add):
    """Special functions of single precision; they stand last, so that nothing above moves to another line."""
    for name, k in SPECIAL.items():
        single(add, name, k)
    for name in PLAIN_SPECIAL:
        add(f"static __device__ __forceinline__ float splatcheck_{name}(float a) {{ return splatcheck_{name}f(a); }}\n")
        add(f"static __device__ __forceinline__ double splatcheck_{name}(double a) {{ return {name}(a); }}\n")


def doubles(add):
    """Functions of double precision; they stand behind those of single, so that nothing above moves to another line."""

    def marker(name, bits):
        add(f"""static __device__ __forceinline__ double splatcheck_{name}(double x) {{
    double y;
    asm volatile("max.f64 %0, %1, 0d7FF80000{bits:08X};" : "=d"(y) : "d"(x));
    return y;
}}
""")

    for name, k in DOUBLE.items():
        marker(f"begin_{name}", 0x7FC10000 | k)
        marker(f"end_{name}", 0x7FC20000 | k)
        add(f"""static __device__ __forceinline__ double splatcheck_{name}(double a) {{
    return splatcheck_end_{name}({name}(splatcheck_begin_{name}(a)));
}}
""")
    for name, (k, single) in DOUBLE_TWO.items():
        marker(f"begin_{name}", 0x7FC10000 | k)
        marker(f"second_{name}", 0x7FC10100 | k)
        marker(f"end_{name}", 0x7FC20000 | k)
        single = f"splatcheck_{single}" if single in TWO else single
        add(f"""static __device__ __forceinline__ double splatcheck_{name}(double a, double b) {{
    double first = splatcheck_begin_{name}(a), second = splatcheck_second_{name}(b);
    return splatcheck_end_{name}({name}(first, second));
}}
static __device__ __forceinline__ double splatcheck_{name}(double a, float b) {{
    return splatcheck_{name}(a, static_cast<double>(b));
}}
static __device__ __forceinline__ double splatcheck_{name}(float a, double b) {{
    return splatcheck_{name}(static_cast<double>(a), b);
}}
static __device__ __forceinline__ float splatcheck_{name}(float a, float b) {{ return {single}(a, b); }}
""")

    def others():
        """Operands of other types call what they call without this header."""
        for name in DOUBLE_TWO:
            add(f"""template <class A, class B>
static __device__ __forceinline__ auto splatcheck_{name}(A a, B b) -> decltype({name}(a, b)) {{
    return {name}(a, b);
}}
""")

    others()
    add("#ifndef __CUDACC_RTC__\nnamespace std {\n")
    for name in DOUBLE_TWO:
        for one, other in ("double", "double"), ("double", "float"), ("float", "double"), ("float", "float"):
            result = "double" if "double" in (one, other) else "float"
            add(f"static __device__ __forceinline__ {result} splatcheck_{name}({one} a, {other} b) {{ ")
            add(f"return ::splatcheck_{name}(a, b); }}\n")
    others()
    add("}\n#endif\n")


def kernels(library):
    nvrtc = ctypes.CDLL(library)
    text = ['extern "C" {\n']
    signature = "(const float* input, float* output) {\n    int i = threadIdx.x;\n    float x = input[i];\n"
    for name in ONE:
        text.append(f"__global__ void k_{name}{signature}    output[i] = {name}(x);\n}}\n")
    for name in TWO:
        text.append(f"__global__ void k_{name}{signature}    output[i] = {name}(x, 1.7f);\n}}\n")
    text.append(f"__global__ void k_rsqrtf{signature}    output[i] = rsqrtf(x);\n}}\n")
    text.append(f"__global__ void k_sincosf{signature}    float s, c;\n    sincosf(x, &s, &c);\n    output[i] = s * c;\n}}\n")
    for name in SPECIAL:
        text.append(f"__global__ void k_{name}{signature}    output[i] = {name}(x);\n}}\n")
    for name, expression in EXPRESSIONS.items():
        own = "    int whole;\n    float part, other;\n"
        text.append(f"__global__ void k_{name}{signature}{own}    output[i] = {expression};\n}}\n")
    text.append("}\n")
    source = "".join(text)
    texts = {}
    for name, marked, options in (
        ("bare", False, []),
        ("bare_fast", False, ["--use_fast_math"]),
        ("marked", True, []),
        ("marked_fast", True, ["--use_fast_math"]),
    ):
        whole = (HERE / "markers.cuh").read_text() + source if marked else source
        texts[f"{name}.ptx"] = compile_text(nvrtc, whole, options)
    write_archive(texts)


def write_archive(texts):
    """The same texts give the same bytes: sorted, without times and owners."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(texts.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    packed = subprocess.run(["zstd", "-19", "-q", "-c"], input=tar.getvalue(), stdout=subprocess.PIPE, check=True)
    (HERE / "ptx.tar.zst").write_bytes(packed.stdout)


def compile_text(nvrtc, source, options):
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None) == 0
    options = ["--gpu-architecture=compute_75", "--std=c++17", *options]
    array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    result = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if result:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


header()
if len(sys.argv) > 1:
    kernels(sys.argv[1])
