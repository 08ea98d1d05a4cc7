// What blending one Gaussian into a pixel contributes to the gradients, in the formulation that the
// kernel is compiled for: the same mathematics with other roundings. The expressions, why they are
// equal over the reals, and how far each strays in f32 stand in reference/src/splat/formulated.rs.
// What the constants mean is told in gpu/kernels/cuda/splat/unblend.cuh; REMAINDER, FINAL_T, DIVIDE
// and FLOOR_1_MINUS_ALPHA are declared in front of this text.

const BEHIND: u32 = 0u;
const BUFFER: u32 = 1u;
const STATE: u32 = 2u;
const IMAGE: u32 = 3u;

const STORED: u32 = 0u;
const ONE_MINUS_ALPHA: u32 = 1u;

const DIRECT: u32 = 0u;
const RECIPROCAL: u32 = 1u;

// What all steps of a pixel's walk read.
struct Ends {
    // The transmittance behind the last contributor.
    transmittance: f32,
    // BEHIND: the gradient of that transmittance, negative, and 0. BUFFER: its two terms, from the
    // opacity and from the background. IMAGE: BEHIND's times the transmittance. STATE: what the walk
    // starts with.
    parts: vec2<f32>,
}

// `number` is the pixel's in the array that FINAL_T names, `v_background` what the background makes
// of the gradient of its colour.
fn ends_of(number: f32, v_alpha: f32, v_background: f32) -> Ends {
    let transmittance = select(number, 1.0 - number, FINAL_T == ONE_MINUS_ALPHA);
    let through = v_alpha - v_background;
    if REMAINDER == BUFFER {
        return Ends(transmittance, vec2<f32>(v_alpha, v_background));
    }
    if REMAINDER == IMAGE {
        return Ends(transmittance, vec2<f32>(through * transmittance, 0.0));
    }
    if REMAINDER == STATE {
        return Ends(transmittance, vec2<f32>(-through, 0.0));
    }
    return Ends(transmittance, vec2<f32>(through, 0.0));
}

// The place of a channel among what a walk keeps: STATE keeps one number.
fn remainder_of(channel: u32) -> u32 {
    return select(channel, 0u, REMAINDER == STATE);
}

// What a walk starts with.
fn first_remainder(ends: Ends) -> f32 {
    return select(0.0, ends.parts.x, REMAINDER == STATE);
}

// One Gaussian at one pixel.
struct Unblend {
    alpha: f32,
    one_minus: f32,
    // 1 - alpha or the floor, or where the formulation wants it the reciprocal.
    divisor: f32,
    // In front of the Gaussian.
    transmittance: f32,
    weight: f32,
    // What the walk keeps of the channel that it is at.
    remainder: f32,
    // The gradient of alpha, channel by channel.
    v_alpha: f32,
    // STATE: the gradient of alpha T, times alpha.
    v_weight: f32,
}

fn divided(divisor: f32, x: f32) -> f32 {
    if DIVIDE == RECIPROCAL {
        return x * divisor;
    }
    return x / divisor;
}

// The step at which a walk comes to a Gaussian with `transmittance`.
fn unblend(alpha: f32, transmittance: f32) -> Unblend {
    var step: Unblend;
    step.alpha = alpha;
    step.one_minus = 1.0 - alpha;
    step.divisor = step.one_minus;
    if FLOOR_1_MINUS_ALPHA > 0.0 {
        step.divisor = max(FLOOR_1_MINUS_ALPHA, step.divisor);
    }
    if DIVIDE == RECIPROCAL {
        step.divisor = 1.0 / step.divisor;
    }
    step.transmittance = transmittance;
    if REMAINDER != IMAGE {
        step.transmittance = divided(step.divisor, transmittance);
    }
    step.weight = alpha * step.transmittance;
    return step;
}

// One channel: adds its part to alpha's gradient, moves what is kept past the Gaussian, and returns
// the gradient of the colour.
fn channel_vjp(step: ptr<function, Unblend>, color: f32, v: f32) -> f32 {
    let alpha = (*step).alpha;
    let weight = (*step).weight;
    let transmittance = (*step).transmittance;
    let kept = (*step).remainder;
    if REMAINDER == STATE {
        let through = v * transmittance;
        (*step).v_alpha = (*step).v_alpha + color * through;
        (*step).v_weight = (*step).v_weight + (color * alpha) * v;
        return alpha * through;
    }
    if REMAINDER == BEHIND {
        (*step).v_alpha = (*step).v_alpha + ((color - kept) * transmittance) * v;
        (*step).remainder = alpha * color + (*step).one_minus * kept;
    }
    if REMAINDER == BUFFER {
        let light = divided((*step).divisor, kept);
        (*step).v_alpha = (*step).v_alpha + (color * transmittance - light) * v;
        (*step).remainder = kept + color * weight;
    }
    if REMAINDER == IMAGE {
        let left = kept - color * weight;
        let light = divided((*step).divisor, left);
        (*step).v_alpha = (*step).v_alpha + (color * transmittance - light) * v;
        (*step).remainder = left;
    }
    return weight * v;
}

// The gradient of alpha once all channels are in, with the background's part.
fn v_alpha_of(step: ptr<function, Unblend>, ends: Ends) -> f32 {
    let divisor = (*step).divisor;
    let v_alpha = (*step).v_alpha;
    if REMAINDER == BUFFER {
        let reaches = divided(divisor, ends.transmittance);
        return (v_alpha + reaches * ends.parts.x) - reaches * ends.parts.y;
    }
    if REMAINDER == IMAGE {
        return v_alpha + divided(divisor, ends.parts.x);
    }
    if REMAINDER == STATE {
        let v_transmittance = (*step).remainder;
        (*step).remainder = (*step).v_weight + (*step).one_minus * v_transmittance;
        return v_alpha - (*step).transmittance * v_transmittance;
    }
    return v_alpha + divided(divisor, ends.transmittance) * ends.parts.x;
}
