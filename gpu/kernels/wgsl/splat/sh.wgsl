// View-dependent colour: real spherical harmonics of degree 0 to 3, grouped as in
// reference/src/sh.rs (Sloan, Efficient Spherical Harmonic Evaluation, JCGT 2013, appendix A2).
//
// The constants are abstract numbers: products of them are taken in f64 and rounded once.

// sqrt(1/(4 pi)), sqrt(3/(4 pi))
const SH_C0 = 0.28209479177387814;
const SH_C1 = 0.4886025119029199;
// sqrt(15/(4 pi)), sqrt(5/(16 pi)), sqrt(15/(16 pi))
const SH_C20 = 1.0925484305920792;
const SH_C21 = 0.31539156525252005;
const SH_C22 = 0.5462742152960396;
// sqrt(35/(32 pi)), sqrt(105/(4 pi)), sqrt(21/(32 pi)), sqrt(7/(16 pi)), sqrt(105/(16 pi))
const SH_C30 = 0.5900435899266435;
const SH_C31 = 2.890611442640554;
const SH_C32 = 0.4570457994644658;
const SH_C33 = 0.3731763325901154;
const SH_C34 = 1.445305721320277;

// Coefficients per channel of degree 3.
const MAX_COEFFICIENTS: u32 = 16u;

// The first `coefficients` basis functions at the unit vector d; zeros follow.
fn sh_basis(d: vec3<f32>, coefficients: u32) -> array<f32, MAX_COEFFICIENTS> {
    let x = d.x;
    let y = d.y;
    let z = d.z;
    var b = array<f32, MAX_COEFFICIENTS>();
    b[0] = SH_C0;
    if coefficients > 1u {
        b[1] = -SH_C1 * y;
        b[2] = SH_C1 * z;
        b[3] = -SH_C1 * x;
    }
    if coefficients > 4u {
        b[4] = SH_C20 * (x * y);
        b[5] = -SH_C20 * (y * z);
        b[6] = SH_C21 * (2.0 * (z * z) - x * x - y * y);
        b[7] = -SH_C20 * (x * z);
        b[8] = SH_C22 * (x * x - y * y);
    }
    if coefficients > 9u {
        let xx = x * x;
        let yy = y * y;
        let zz = z * z;
        b[9] = -SH_C30 * y * (3.0 * xx - yy);
        b[10] = SH_C31 * (x * y) * z;
        b[11] = -SH_C32 * y * (4.0 * zz - xx - yy);
        b[12] = SH_C33 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy);
        b[13] = -SH_C32 * x * (4.0 * zz - xx - yy);
        b[14] = SH_C34 * z * (xx - yy);
        b[15] = -SH_C30 * x * (xx - 3.0 * yy);
    }
    return b;
}

// The gradients of the basis functions by x, y, z; the first has none, and zeros follow.
fn sh_basis_gradient(d: vec3<f32>, coefficients: u32) -> array<vec3<f32>, MAX_COEFFICIENTS> {
    let x = d.x;
    let y = d.y;
    let z = d.z;
    var b = array<vec3<f32>, MAX_COEFFICIENTS>();
    if coefficients > 1u {
        b[1] = vec3<f32>(0.0, -SH_C1, 0.0);
        b[2] = vec3<f32>(0.0, 0.0, SH_C1);
        b[3] = vec3<f32>(-SH_C1, 0.0, 0.0);
    }
    if coefficients > 4u {
        b[4] = vec3<f32>(SH_C20 * y, SH_C20 * x, 0.0);
        b[5] = vec3<f32>(0.0, -SH_C20 * z, -SH_C20 * y);
        b[6] = vec3<f32>((-2.0 * SH_C21) * x, (-2.0 * SH_C21) * y, (4.0 * SH_C21) * z);
        b[7] = vec3<f32>(-SH_C20 * z, 0.0, -SH_C20 * x);
        b[8] = vec3<f32>((2.0 * SH_C22) * x, (-2.0 * SH_C22) * y, 0.0);
    }
    if coefficients > 9u {
        let xx = x * x;
        let yy = y * y;
        let zz = z * z;
        let xy = x * y;
        let yz = y * z;
        let xz = x * z;
        b[9] = vec3<f32>((-6.0 * SH_C30) * xy, (-3.0 * SH_C30) * (xx - yy), 0.0);
        b[10] = vec3<f32>(SH_C31 * yz, SH_C31 * xz, SH_C31 * xy);
        b[11] = vec3<f32>(
            (2.0 * SH_C32) * xy,
            -SH_C32 * (4.0 * zz - xx - 3.0 * yy),
            (-8.0 * SH_C32) * yz,
        );
        b[12] = vec3<f32>(
            (-6.0 * SH_C33) * xz,
            (-6.0 * SH_C33) * yz,
            SH_C33 * (6.0 * zz - 3.0 * xx - 3.0 * yy),
        );
        b[13] = vec3<f32>(
            -SH_C32 * (4.0 * zz - 3.0 * xx - yy),
            (2.0 * SH_C32) * xy,
            (-8.0 * SH_C32) * xz,
        );
        b[14] = vec3<f32>((2.0 * SH_C34) * xz, (-2.0 * SH_C34) * yz, SH_C34 * (xx - yy));
        b[15] = vec3<f32>((-3.0 * SH_C30) * (xx - yy), (6.0 * SH_C30) * xy, 0.0);
    }
    return b;
}

fn harmonic(first: u32, k: u32) -> vec3<f32> {
    let at = first + 3u * k;
    return vec3<f32>(colors[at], colors[at + 1u], colors[at + 2u]);
}

// The colour before the clamp in direction d; a Gaussian's coefficients [K,3] begin at `first`.
fn sh_unclamped(first: u32, d: vec3<f32>, coefficients: u32) -> vec3<f32> {
    let basis = sh_basis(d, coefficients);
    var color = vec3<f32>(0.0);
    for (var k = 0u; k < coefficients; k++) {
        color = color + basis[k] * harmonic(first, k);
    }
    return color + vec3<f32>(0.5);
}
