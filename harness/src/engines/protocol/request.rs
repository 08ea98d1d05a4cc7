//! Requests: what the harness asks of an engine.

use splatcheck_gpu::{
    BackwardConfig, BackwardInputs, ClampGradient, ProjectBackwardInputs, ProjectInputs,
    RasterConstants, RasterInputs, StopRule,
};

use super::wire::{Reader, WireError, Writer};
use super::{VERSION, projection};

/// A request as the engine's process receives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// What device is it?
    Info,
    /// The forward stage on every input.
    Rasterize(Vec<RasterInputs>),
    /// The backward stage on every input with every one of its settings.
    RasterizeBackward(Vec<(BackwardInputs, Vec<BackwardConfig>)>),
    /// So many timed runs of the backward stage with every one of the settings.
    TimeBackward(Box<BackwardInputs>, Vec<BackwardConfig>, u32),
    /// The projection on every input.
    Project(Vec<ProjectInputs>),
    /// Its backward stage on every input with every one of its settings.
    ProjectBackward(Vec<(ProjectBackwardInputs, Vec<BackwardConfig>)>),
}

/// A request as the harness sends it.
#[derive(Clone, Copy, Debug)]
pub enum RequestRef<'a> {
    /// See [`Request::Info`].
    Info,
    /// See [`Request::Rasterize`].
    Rasterize(&'a [&'a RasterInputs]),
    /// See [`Request::RasterizeBackward`].
    RasterizeBackward(&'a [(&'a BackwardInputs, &'a [BackwardConfig])]),
    /// See [`Request::TimeBackward`].
    TimeBackward(&'a BackwardInputs, &'a [BackwardConfig], u32),
    /// See [`Request::Project`].
    Project(&'a [&'a ProjectInputs]),
    /// See [`Request::ProjectBackward`].
    ProjectBackward(&'a [(&'a ProjectBackwardInputs, &'a [BackwardConfig])]),
}

/// The sizes that give every array of a job its shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) gaussians: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) channels: usize,
    pub(super) tiles: usize,
}

impl Sizes {
    pub(super) fn of(inputs: &RasterInputs, job: usize) -> Result<Self, WireError> {
        if inputs.tile_size == 0 {
            return Err(WireError(format!("{job}/tile_size is 0")));
        }
        let [tiles_x, tiles_y] = inputs.tiles();
        Ok(Self {
            gaussians: inputs.len(),
            width: inputs.width as usize,
            height: inputs.height as usize,
            channels: inputs.channels as usize,
            tiles: (tiles_x as usize)
                .checked_mul(tiles_y as usize)
                .filter(|&tiles| tiles < usize::MAX)
                .ok_or_else(|| WireError(format!("{job}: too many tiles")))?,
        })
    }
}

/// The request as a buffer.
///
/// # Errors
/// An array whose length contradicts the job's counts, by name.
pub fn encode_request(request: RequestRef<'_>) -> Result<Vec<u8>, WireError> {
    let mut writer = Writer::default();
    writer.text("version", VERSION);
    match request {
        RequestRef::Info => writer.text("op", "info"),
        RequestRef::Rasterize(inputs) => {
            writer.text("op", "rasterize");
            writer.text("jobs", inputs.len());
            for (job, inputs) in inputs.iter().enumerate() {
                write_raster(&mut writer, job, inputs)?;
            }
        }
        RequestRef::RasterizeBackward(jobs) => {
            writer.text("op", "rasterize_backward");
            writer.text("jobs", jobs.len());
            for (job, (inputs, settings)) in jobs.iter().enumerate() {
                write_backward(&mut writer, job, inputs)?;
                writer.text(&format!("{job}/settings"), settings_text(settings));
            }
        }
        RequestRef::TimeBackward(inputs, settings, repeats) => {
            writer.text("op", "time_backward");
            write_backward(&mut writer, 0, inputs)?;
            writer.text("0/settings", settings_text(settings));
            writer.text("repeats", repeats);
        }
        RequestRef::Project(inputs) => {
            writer.text("op", "project");
            writer.text("jobs", inputs.len());
            for (job, inputs) in inputs.iter().enumerate() {
                projection::write_inputs(&mut writer, job, inputs)?;
            }
        }
        RequestRef::ProjectBackward(jobs) => {
            writer.text("op", "project_backward");
            writer.text("jobs", jobs.len());
            for (job, (inputs, settings)) in jobs.iter().enumerate() {
                projection::write_backward(&mut writer, job, inputs)?;
                writer.text(&format!("{job}/settings"), settings_text(settings));
            }
        }
    }
    writer.finish()
}

/// The request in a buffer.
///
/// # Errors
/// What is missing or contradicts itself, by name.
pub fn decode_request(buffer: &[u8]) -> Result<Request, WireError> {
    let reader = Reader::parse(buffer)?;
    let version = reader.text("version")?;
    if version != VERSION {
        return Err(WireError(format!("protocol version {version}, this program has {VERSION}")));
    }
    match reader.text("op")? {
        "info" => Ok(Request::Info),
        "rasterize" => read_jobs(&reader, read_raster).map(Request::Rasterize),
        "rasterize_backward" => {
            let jobs = read_jobs(&reader, with_settings(read_backward))?;
            Ok(Request::RasterizeBackward(jobs))
        }
        "time_backward" => Ok(Request::TimeBackward(
            Box::new(read_backward(&reader, 0)?),
            read_settings(&reader, "0/settings")?,
            reader.value("repeats")?,
        )),
        "project" => read_jobs(&reader, projection::read_inputs).map(Request::Project),
        "project_backward" => {
            let jobs = read_jobs(&reader, with_settings(projection::read_backward))?;
            Ok(Request::ProjectBackward(jobs))
        }
        op => Err(WireError(format!("unknown operation '{op}'"))),
    }
}

/// Every job of a request. The count is only a loop bound: the first job that is not there ends the
/// loop.
fn read_jobs<T>(
    reader: &Reader<'_>,
    read: impl Fn(&Reader<'_>, usize) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let jobs: usize = reader.value("jobs")?;
    (0..jobs).map(|job| read(reader, job)).collect()
}

/// Reads a job and its settings.
fn with_settings<T>(
    read: impl Fn(&Reader<'_>, usize) -> Result<T, WireError>,
) -> impl Fn(&Reader<'_>, usize) -> Result<(T, Vec<BackwardConfig>), WireError> {
    move |reader, job| {
        let settings = read_settings(reader, &format!("{job}/settings"))?;
        Ok((read(reader, job)?, settings))
    }
}

fn write_raster<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &'a RasterInputs,
) -> Result<(), WireError> {
    let sizes = Sizes::of(inputs, job)?;
    let name = |name: &str| format!("{job}/{name}");
    writer.text(&name("width"), inputs.width);
    writer.text(&name("height"), inputs.height);
    writer.text(&name("tile_size"), inputs.tile_size);
    writer.text(&name("channels"), inputs.channels);
    let constants = &inputs.constants;
    writer.float(&name("alpha_max"), constants.alpha_max);
    writer.float(&name("alpha_min"), constants.alpha_min);
    writer.float(&name("transmittance_min"), constants.transmittance_min);
    writer.float(&name("pixel_center"), constants.pixel_center);
    writer.text(&name("stop_rule"), stop_rule_name(constants.stop_rule));
    writer.text(&name("clamp_gradient"), clamp_gradient_name(constants.clamp_gradient));
    let n = sizes.gaussians;
    writer.array(&name("means2d"), &[n], &inputs.means2d)?;
    writer.array(&name("conics"), &[n], &inputs.conics)?;
    writer.array(&name("opacities"), &[n], &inputs.opacities)?;
    writer.array(&name("colors"), &[n, sizes.channels], &inputs.colors)?;
    writer.array(&name("background"), &[sizes.channels], &inputs.background)?;
    writer.array(&name("tile_offsets"), &[sizes.tiles + 1], &inputs.tile_offsets)?;
    writer.array(&name("flatten_ids"), &[inputs.flatten_ids.len()], &inputs.flatten_ids)
}

fn read_raster(reader: &Reader<'_>, job: usize) -> Result<RasterInputs, WireError> {
    let name = |name: &str| format!("{job}/{name}");
    let n = reader.first_dimension(&name("means2d"))?;
    let mut inputs = RasterInputs {
        width: reader.value(&name("width"))?,
        height: reader.value(&name("height"))?,
        tile_size: reader.value(&name("tile_size"))?,
        channels: reader.value(&name("channels"))?,
        constants: RasterConstants {
            alpha_max: reader.float(&name("alpha_max"))?,
            alpha_min: reader.float(&name("alpha_min"))?,
            transmittance_min: reader.float(&name("transmittance_min"))?,
            stop_rule: stop_rule_of(reader.text(&name("stop_rule"))?)?,
            clamp_gradient: clamp_gradient_of(reader.text(&name("clamp_gradient"))?)?,
            pixel_center: reader.float(&name("pixel_center"))?,
        },
        means2d: reader.array(&name("means2d"), &[n])?,
        conics: reader.array(&name("conics"), &[n])?,
        opacities: reader.array(&name("opacities"), &[n])?,
        colors: Vec::new(),
        background: Vec::new(),
        tile_offsets: Vec::new(),
        flatten_ids: Vec::new(),
    };
    let sizes = Sizes::of(&inputs, job)?;
    inputs.colors = reader.array(&name("colors"), &[n, sizes.channels])?;
    inputs.background = reader.array(&name("background"), &[sizes.channels])?;
    inputs.tile_offsets = reader.array(&name("tile_offsets"), &[sizes.tiles + 1])?;
    let pairs = reader.first_dimension(&name("flatten_ids"))?;
    inputs.flatten_ids = reader.array(&name("flatten_ids"), &[pairs])?;
    Ok(inputs)
}

fn write_backward<'a>(
    writer: &mut Writer<'a>,
    job: usize,
    inputs: &'a BackwardInputs,
) -> Result<(), WireError> {
    write_raster(writer, job, &inputs.raster)?;
    let Sizes { width: w, height: h, channels: d, .. } = Sizes::of(&inputs.raster, job)?;
    let name = |name: &str| format!("{job}/{name}");
    writer.array(&name("render_transmittance"), &[h, w], &inputs.render_transmittance)?;
    writer.array(&name("last_ids"), &[h, w], &inputs.last_ids)?;
    writer.array(&name("v_render_colors"), &[h, w, d], &inputs.v_render_colors)?;
    writer.array(&name("v_render_alphas"), &[h, w], &inputs.v_render_alphas)
}

fn read_backward(reader: &Reader<'_>, job: usize) -> Result<BackwardInputs, WireError> {
    let raster = read_raster(reader, job)?;
    let Sizes { width: w, height: h, channels: d, .. } = Sizes::of(&raster, job)?;
    let name = |name: &str| format!("{job}/{name}");
    Ok(BackwardInputs {
        render_transmittance: reader.array(&name("render_transmittance"), &[h, w])?,
        last_ids: reader.array(&name("last_ids"), &[h, w])?,
        v_render_colors: reader.array(&name("v_render_colors"), &[h, w, d])?,
        v_render_alphas: reader.array(&name("v_render_alphas"), &[h, w])?,
        raster,
    })
}

/// `atomic 0,sw-s 4`
fn settings_text(settings: &[BackwardConfig]) -> String {
    let each: Vec<_> =
        settings.iter().map(|s| format!("{} {}", s.reduction.name(), s.threshold)).collect();
    each.join(",")
}

fn read_settings(reader: &Reader<'_>, name: &str) -> Result<Vec<BackwardConfig>, WireError> {
    let text = reader.text(name)?;
    let parse = |setting: &str| {
        let (reduction, threshold) = setting.split_once(' ')?;
        Some(BackwardConfig {
            reduction: reduction.parse().ok()?,
            threshold: threshold.parse().ok()?,
        })
    };
    text.split(',')
        .filter(|setting| !setting.is_empty())
        .map(|s| parse(s).ok_or_else(|| WireError(format!("metadata {name} has '{s}'"))))
        .collect()
}

fn stop_rule_name(rule: StopRule) -> &'static str {
    match rule {
        StopRule::Less => "less",
        StopRule::LessOrEqual => "less-or-equal",
    }
}

fn stop_rule_of(name: &str) -> Result<StopRule, WireError> {
    match name {
        "less" => Ok(StopRule::Less),
        "less-or-equal" => Ok(StopRule::LessOrEqual),
        _ => Err(WireError(format!("unknown stop rule '{name}'"))),
    }
}

fn clamp_gradient_name(rule: ClampGradient) -> &'static str {
    match rule {
        ClampGradient::PassThrough => "pass-through",
        ClampGradient::Zero => "zero",
    }
}

fn clamp_gradient_of(name: &str) -> Result<ClampGradient, WireError> {
    match name {
        "pass-through" => Ok(ClampGradient::PassThrough),
        "zero" => Ok(ClampGradient::Zero),
        _ => Err(WireError(format!("unknown clamp gradient '{name}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::wire::canonical;
    use super::*;

    fn backward_frame() -> Vec<u8> {
        let inputs = samples::backward_inputs(2);
        let settings = BackwardConfig::sweep(8);
        encode_request(RequestRef::RasterizeBackward(&[(&inputs, &settings)])).unwrap()
    }

    #[test]
    fn requests_round_trip_to_the_bit() {
        let info = encode_request(RequestRef::Info).unwrap();
        assert_eq!(decode_request(&info), Ok(Request::Info), "info changed");

        let inputs: Vec<_> = (0..4).map(samples::raster_inputs).collect();
        let refs: Vec<_> = inputs.iter().collect();
        let frame = encode_request(RequestRef::Rasterize(&refs)).unwrap();
        let Ok(Request::Rasterize(back)) = decode_request(&frame) else {
            panic!("not a rasterize request");
        };
        // NaN differs from itself: the bits are compared through a second encoding and by text.
        let again: Vec<_> = back.iter().collect();
        let second = encode_request(RequestRef::Rasterize(&again)).unwrap();
        assert!(canonical(&second) == canonical(&frame), "forward changed");
        for (before, after) in inputs.iter().zip(&back) {
            let bits = |x: &[f32]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&before.colors), bits(&after.colors), "NaN payloads changed");
            assert_eq!(before.means2d.len(), after.means2d.len(), "a Gaussian was lost");
        }

        let frame = backward_frame();
        let Ok(Request::RasterizeBackward(back)) = decode_request(&frame) else {
            panic!("not a backward request");
        };
        let again: Vec<_> = back.iter().map(|(inputs, s)| (inputs, s.as_slice())).collect();
        assert_eq!(back[0].1, BackwardConfig::sweep(8), "settings changed");
        let second = encode_request(RequestRef::RasterizeBackward(&again)).unwrap();
        assert!(canonical(&second) == canonical(&frame), "backward changed");
    }

    /// Two jobs: direct colours and two cameras, harmonics and one.
    fn projection_frame() -> Vec<u8> {
        let inputs = [2, 3].map(samples::project_backward_inputs);
        let settings = BackwardConfig::sweep(8);
        let jobs: Vec<_> = inputs.iter().map(|inputs| (inputs, settings.as_slice())).collect();
        encode_request(RequestRef::ProjectBackward(&jobs)).unwrap()
    }

    #[test]
    fn projection_requests_round_trip_to_the_bit() {
        let inputs: Vec<_> = (0..4).map(samples::project_inputs).collect();
        let refs: Vec<_> = inputs.iter().collect();
        let frame = encode_request(RequestRef::Project(&refs)).unwrap();
        let Ok(Request::Project(back)) = decode_request(&frame) else {
            panic!("not a projection request");
        };
        let again: Vec<_> = back.iter().collect();
        let second = encode_request(RequestRef::Project(&again)).unwrap();
        assert!(canonical(&second) == canonical(&frame), "forward changed");
        for (before, after) in inputs.iter().zip(&back) {
            let bits = |x: &ProjectInputs| -> Vec<u32> {
                let cameras = x.cameras.iter().flat_map(|c| c.viewmat.as_flattened().to_vec());
                cameras.chain(x.colors.values().to_vec()).map(f32::to_bits).collect()
            };
            assert_eq!(bits(before), bits(after), "NaN payloads changed");
            assert_eq!(before.means.len(), after.means.len(), "a Gaussian was lost");
        }

        let frame = projection_frame();
        let Ok(Request::ProjectBackward(back)) = decode_request(&frame) else {
            panic!("not a backward request");
        };
        let again: Vec<_> = back.iter().map(|(inputs, s)| (inputs, s.as_slice())).collect();
        assert_eq!(back[1].1, BackwardConfig::sweep(8), "settings changed");
        let second = encode_request(RequestRef::ProjectBackward(&again)).unwrap();
        assert!(canonical(&second) == canonical(&frame), "backward changed");
    }

    #[test]
    fn timing_requests_round_trip() {
        let (inputs, settings) = (samples::backward_inputs(2), BackwardConfig::sweep(8));
        let frame = encode_request(RequestRef::TimeBackward(&inputs, &settings, 50)).unwrap();
        let Ok(Request::TimeBackward(back, same, 50)) = decode_request(&frame) else {
            panic!("not a request of 50 timed runs");
        };
        assert_eq!(same, settings, "settings changed");
        let second = encode_request(RequestRef::TimeBackward(&back, &same, 50)).unwrap();
        assert!(canonical(&second) == canonical(&frame), "inputs changed");
    }

    #[test]
    fn contradictions_are_named() {
        let mut inputs = samples::raster_inputs(3);
        inputs.colors.pop();
        let error = encode_request(RequestRef::Rasterize(&[&inputs])).unwrap_err();
        assert!(error.0.contains("0/colors: 8 elements, expected 9"), "unhelpful: {error}");
        let mut inputs = samples::raster_inputs(3);
        inputs.tile_size = 0;
        let error = encode_request(RequestRef::Rasterize(&[&inputs])).unwrap_err();
        assert!(error.0.contains("tile_size"), "unhelpful: {error}");
        let mut inputs = samples::project_inputs(3);
        inputs.scales.pop();
        let error = encode_request(RequestRef::Project(&[&inputs])).unwrap_err();
        assert!(error.0.contains("0/scales: 2 elements, expected 3"), "unhelpful: {error}");
    }

    #[test]
    fn damaged_frames_never_panic() {
        for frame in [backward_frame(), projection_frame()] {
            for cut in (0..frame.len()).step_by(7) {
                assert!(decode_request(&frame[..cut]).is_err(), "cut at {cut} was accepted");
            }
            for at in 0..frame.len().min(6000) {
                for change in [1, 0x80] {
                    let mut damaged = frame.clone();
                    damaged[at] ^= change;
                    // Whether it still means something depends on the byte.
                    let _ = decode_request(&damaged);
                }
            }
        }
    }

    /// Changes the metadata of a frame, each replacement by itself; all must be refused.
    fn refuses(frame: &[u8], replacements: &[(&str, &str)]) {
        let header = usize::try_from(u64::from_le_bytes(frame[..8].try_into().unwrap())).unwrap();
        let text = String::from_utf8(frame[8..8 + header].to_vec()).unwrap();
        for (from, to) in replacements {
            assert!(text.contains(from), "{from} is not in {text}");
            let changed = text.replace(from, to);
            let mut lying = (changed.len() as u64).to_le_bytes().to_vec();
            lying.extend_from_slice(changed.as_bytes());
            lying.extend_from_slice(&frame[8 + header..]);
            let error = decode_request(&lying).expect_err(to);
            assert!(!error.0.is_empty(), "no words for {to}");
        }
    }

    #[test]
    fn lying_sizes_are_refused() {
        refuses(
            &backward_frame(),
            &[
                ("\"0/width\":\"3\"", "\"0/width\":\"4294967295\""),
                ("\"0/tile_size\":\"2\"", "\"0/tile_size\":\"0\""),
                ("\"0/channels\":\"3\"", "\"0/channels\":\"2\""),
                ("\"jobs\":\"1\"", "\"jobs\":\"18446744073709551615\""),
                ("atomic 0", "atomic x"),
                ("\"version\":\"2\"", "\"version\":\"1\""),
            ],
        );
        refuses(
            &projection_frame(),
            &[
                ("\"0/channels\":\"2\"", "\"0/channels\":\"4294967295\""),
                ("\"0/coefficients\":\"0\"", "\"0/coefficients\":\"4294967295\""),
                ("\"1/coefficients\":\"4\"", "\"1/coefficients\":\"9\""),
                ("\"jobs\":\"2\"", "\"jobs\":\"18446744073709551615\""),
                ("\"0/antialiased\":\"false\"", "\"0/antialiased\":\"no\""),
                ("\"0/cameras\"", "\"0/kameras\""),
            ],
        );
    }
}
