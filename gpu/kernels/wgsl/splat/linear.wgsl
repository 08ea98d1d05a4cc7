// 3x3 matrices, row-major, grouped as in reference/src/linear.rs. WGSL's own matrices and its dot
// product leave the order of additions to the compiler, so that it is written out here.

struct Mat3 {
    row: array<vec3<f32>, 3>,
}

fn dot3(a: vec3<f32>, b: vec3<f32>) -> f32 {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

fn transposed(m: Mat3) -> Mat3 {
    let a = m.row[0];
    let b = m.row[1];
    let c = m.row[2];
    return Mat3(array<vec3<f32>, 3>(
        vec3<f32>(a.x, b.x, c.x),
        vec3<f32>(a.y, b.y, c.y),
        vec3<f32>(a.z, b.z, c.z),
    ));
}

// M v
fn times(m: Mat3, v: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(dot3(m.row[0], v), dot3(m.row[1], v), dot3(m.row[2], v));
}

// v^T M
fn row_times(v: vec3<f32>, m: Mat3) -> vec3<f32> {
    return times(transposed(m), v);
}

// The gradient of v where only n = v/|v| is used: (g - n (n . g))/|v|.
fn normalize3_vjp(n: vec3<f32>, length: f32, g: vec3<f32>) -> vec3<f32> {
    return (g - n * dot3(n, g)) / length;
}

fn normalize4_vjp(n: vec4<f32>, length: f32, g: vec4<f32>) -> vec4<f32> {
    let along = n.x * g.x + n.y * g.y + n.z * g.z + n.w * g.w;
    return (g - n * along) / length;
}
