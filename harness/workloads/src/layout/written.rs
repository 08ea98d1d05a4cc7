//! What a file says of an array, and whether that makes sense: each key is checked where it stands.

use toml::Spanned;

use splatcheck_gpu::stage::Dim;

use super::array::{Array, Field, Layout, Meaning};
use super::axes::Axes;
use super::kind::KernelKind;
use super::symbols::instead_of;
use super::tensor::{Rows, Tensor, Use, Width};
use splatcheck_judge::io::Problem;
use splatcheck_judge::io::error::quoted;
use splatcheck_judge::io::toml_node::line_of;

/// A place of a file, for messages.
pub struct At {
    /// The line, from 1.
    pub line: usize,
    /// Table and key.
    pub place: String,
}

impl At {
    /// The problem that this value is, there.
    #[must_use]
    pub fn problem(&self, value: &str, advice: impl Into<String>) -> Problem {
        Problem::new(self.place.as_str(), value, advice).at_line(self.line)
    }

    /// The name of a key here: alone at the top.
    pub fn joined(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}, {key}", self.place) }
    }

    /// The problem that a key is missing here.
    #[must_use]
    pub fn missing(&self, key: &str, advice: &str) -> Problem {
        Problem::new(self.joined(key), "missing", advice).at_line(self.line)
    }

    /// The place of a key here.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self { line: self.line, place: format!("{}.{key}", self.place) }
    }
}

/// The line of what a file's text says.
pub fn line<T>(text: &str, written: &Spanned<T>) -> usize {
    line_of(text, written.span().start)
}

/// The keys of an array.
#[derive(Clone, Copy)]
pub struct Written<'w> {
    /// `tensor`: the name of the array that it holds.
    pub tensor: Option<&'w str>,
    /// `fields`: the arrays that it holds side by side.
    pub fields: Option<&'w [String]>,
    /// `layout`: rows or planes.
    pub layout: Option<&'w str>,
    /// `axes`: its dimensions in the order that they lie in.
    pub axes: Option<&'w [String]>,
    /// `end`: whether a range ends with its number.
    pub end: Option<bool>,
    /// `none`: what stands where there is no index.
    pub none: Option<i32>,
    /// `units`: pixels or normalized device coordinates.
    pub units: Option<&'w str>,
    /// `off_diagonal`: whether a symmetric matrix has its gradient once or twice.
    pub off_diagonal: Option<&'w str>,
    /// `background`: whether the host takes it out of the gradient of the opacity.
    pub background: Option<&'w str>,
}

impl Written<'_> {
    /// What holds tensors of a kernel, if it does. Where a name is an input's and an output's, `usage`
    /// says which, or another field that is only one of both.
    ///
    /// # Errors
    /// The first key that is wrong.
    pub fn array(
        &self,
        kind: KernelKind,
        usage: Option<Use>,
        at: &At,
    ) -> Result<Option<Array>, Problem> {
        let one = self.tensor.map(str::to_owned);
        let (names, at_names) = match (&one, self.fields) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(at.problem("tensor and fields", "a parameter is one of them"));
            }
            (Some(name), None) => (std::slice::from_ref(name), at.key("tensor")),
            (None, Some(names)) => (names, at.key("fields")),
        };
        let is_only_written = |name: &String| {
            let tensor = name.split('.').next().and_then(|name| Tensor::of(name, kind, None));
            tensor.is_some_and(|tensor| tensor.use_at(kind) == Some(Use::Write))
        };
        let usage = usage.or_else(|| names.iter().any(is_only_written).then_some(Use::Write));
        let fields = names.iter().map(|name| field(name, (kind, usage), &at_names));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let tensors: Vec<Tensor> = fields.iter().filter_map(|field| field.tensor()).collect();
        let Some(&first) = tensors.first() else {
            return Err(at.key("fields").problem("without a tensor", "name at least one"));
        };
        for other in &tensors {
            if other.rows() != first.rows() || other.use_at(kind) != first.use_at(kind) {
                let both = format!("{} with {}", first.name(), other.name());
                let advice = "tensors of one buffer have rows of the same kind, and all are inputs or \
                              all are outputs";
                return Err(at.key("fields").problem(&both, advice));
            }
        }
        let layout = match (self.axes, self.layout, &fields[..]) {
            (None, Some("transposed"), fields) if !matches!(fields, [Field::Whole(_)]) => {
                let advice = "it is for a matrix alone: give each a buffer of its own";
                return Err(at.key("layout").problem("'transposed' beside fields", advice));
            }
            (None, ..) => self.layout(kind, first, at)?,
            (Some(axes), None, [Field::Whole(tensor)]) => axes_of(axes, *tensor, &at.key("axes"))?,
            (Some(_), Some(_), _) => {
                return Err(at.problem("layout and axes", "give one of them"));
            }
            (Some(_), None, _) => {
                return Err(at.key("axes").problem("given", "only where a tensor is alone"));
            }
        };
        Ok(Some(Array { kind, layout, meaning: self.meaning(kind, &tensors, at)?, fields }))
    }

    /// The key that says something of an array, if one is given.
    pub fn says(&self) -> Option<&'static str> {
        let Self { tensor: _, fields: _, layout, axes, end, none, units, off_diagonal, background } =
            self;
        let given = [
            ("layout", layout.is_some()),
            ("axes", axes.is_some()),
            ("end", end.is_some()),
            ("none", none.is_some()),
            ("units", units.is_some()),
            ("off_diagonal", off_diagonal.is_some()),
            ("background", background.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    fn layout(&self, kind: KernelKind, of: Tensor, at: &At) -> Result<Layout, Problem> {
        match (self.layout, of.rows()) {
            (None | Some("rows"), _) => Ok(Layout::Rows),
            (Some("planar"), _) | (Some("chw"), Rows::Pixels) => Ok(Layout::Planar),
            (Some("packed"), Rows::Gaussians) if kind == KernelKind::ProjectOnImageBackward => {
                Ok(Layout::Packed)
            }
            (Some("packed"), Rows::Projections) if kind.knows_the_image() => Ok(Layout::Packed),
            (Some("packed"), _) => {
                let value = format!("'packed' for {}", of.name());
                let advice = "what project_on_image returns has packed rows, and arrays of Gaussians of its \
                              backward stage";
                Err(at.key("layout").problem(&value, advice))
            }
            (Some("transposed"), _) if matches!(of.width(), Width::Square(_)) => {
                Ok(Layout::Transposed)
            }
            (Some("transposed"), _) => {
                let value = format!("'transposed' for {}", of.name());
                Err(at.key("layout").problem(&value, "it is no matrix: leave it out"))
            }
            (
                Some("chw"),
                Rows::Gaussians
                | Rows::Projections
                | Rows::Packed
                | Rows::Tiles
                | Rows::Pairs
                | Rows::Cameras
                | Rows::CameraEnds
                | Rows::One
                | Rows::Dims(_),
            ) => {
                let value = format!("'chw' for {}", of.name());
                Err(at.key("layout").problem(&value, "it is no image: say 'planar'"))
            }
            (Some(other), _) => Err(at
                .key("layout")
                .problem(&quoted(other), "expected 'rows', 'planar' or, for images, 'chw'")),
        }
    }

    fn meaning(&self, kind: KernelKind, tensors: &[Tensor], at: &At) -> Result<Meaning, Problem> {
        let usual = Meaning::default();
        let of = |key: &str, given: bool, wanted: &[Tensor]| {
            if !given || tensors.iter().any(|tensor| wanted.contains(tensor)) {
                return Ok(());
            }
            if key == "units" && tensors.contains(&Tensor::VProjectedMeans2d) {
                let advice = "v_means2d is an input here, of a kernel that does not know the image: let a launch \
                              before it make it, into a buffer";
                return Err(at.key(key).problem("given", advice));
            }
            let advice = format!("it says something of {} alone", wanted[0].name());
            Err(at.key(key).problem("given", advice))
        };
        of("end", self.end.is_some(), &[Tensor::TileOffsets])?;
        of("none", self.none.is_some(), &[Tensor::LastIds])?;
        // As an input of a kernel that knows the image too.
        let units = [Tensor::VMeans2d, Tensor::VMeans2dAbs, Tensor::VProjectedMeans2d];
        let known = if kind == KernelKind::ProjectOnImageBackward { 3 } else { 2 };
        of("units", self.units.is_some(), &units[..known])?;
        let conics = [Tensor::VConics, Tensor::VProjectedConics];
        of("off_diagonal", self.off_diagonal.is_some(), &conics)?;
        of("background", self.background.is_some(), &[Tensor::VRenderAlphas])?;
        if self.background.is_some() && kind != KernelKind::RasterizeBackward {
            let advice = "only the backward rasterization by itself has one: leave it out";
            return Err(at.key("background").problem("given", advice));
        }
        if self.end == Some(false) && tensors.len() > 1 {
            return Err(at.key("end").problem("false", "only where tile_offsets is alone"));
        }
        Ok(Meaning {
            whole: usual.whole,
            stored: usual.stored,
            end: self.end.unwrap_or(usual.end),
            none: self.none.unwrap_or(usual.none),
            ndc: match self.units {
                None | Some("pixels") => false,
                Some("ndc") => true,
                Some(other) => {
                    let at = at.key("units");
                    return Err(at.problem(&quoted(other), "expected 'pixels' or 'ndc'"));
                }
            },
            folded: match self.background {
                None => false,
                Some("folded") => true,
                Some(other) => {
                    let at = at.key("background");
                    return Err(at.problem(&quoted(other), "expected 'folded', or leave it out"));
                }
            },
            half_off_diagonal: match self.off_diagonal {
                None | Some("full") => false,
                Some("half") => true,
                Some(other) => {
                    let at = at.key("off_diagonal");
                    return Err(at.problem(&quoted(other), "expected 'full' or 'half'"));
                }
            },
        })
    }
}

/// The first component of an array that a kernel for so many channels has not, in words.
#[must_use]
pub fn beyond(array: &Array, channels: Option<u32>) -> Option<String> {
    let most = channels.map_or(1, |channels| channels as usize);
    let lies = |field: &&Field| match field {
        Field::Component(tensor, index) => tensor.width() == Width::Channels && *index >= most,
        Field::Whole(_) | Field::Pad => false,
    };
    let Some(Field::Component(tensor, index)) = array.fields.iter().find(lies) else { return None };
    Some(format!("{}.{index}", tensor.name()))
}

/// The order of a port's dimensions, each named once by its symbol.
fn axes_of(written: &[String], tensor: Tensor, at: &At) -> Result<Layout, Problem> {
    let Tensor::Port(port) = tensor else {
        return Err(at.problem("given", "it is for ports of other workloads: say layout"));
    };
    let names: Vec<String> = port.shape.iter().map(ToString::to_string).collect();
    let place = |name: &String| names.iter().position(|known| known == name);
    let order: Option<Vec<usize>> = written.iter().map(place).collect();
    let whole = order.filter(|order| order.len() == names.len());
    let axes = whole.and_then(|order| Axes::new(&order)).ok_or_else(|| {
        let advice = format!("name each of {} once, the slowest first", names.join(", "));
        at.problem(&quoted(&written.join(", ")), advice)
    })?;
    Ok(Layout::Axes(axes))
}

fn field(name: &str, (kind, usage): (KernelKind, Option<Use>), at: &At) -> Result<Field, Problem> {
    let unknown = || {
        let all = || format!("there are {}, and pad", Tensor::names(kind));
        at.problem(&quoted(name), instead_of(name, kind).map_or_else(all, str::to_owned))
    };
    if name == "pad" {
        return Ok(Field::Pad);
    }
    let Some((name, index)) = name.split_once('.') else {
        return Tensor::of(name, kind, usage).map(Field::Whole).ok_or_else(unknown);
    };
    let tensor = Tensor::of(name, kind, usage).ok_or_else(unknown)?;
    let most = match tensor.width() {
        Width::Fixed(most) => most,
        // How many there are is the manifest's ([`beyond`]).
        Width::Channels => 32,
        // How many there are is the case's.
        Width::Harmonics(_) | Width::AsGiven => 1,
        Width::Dim(Dim::Const(most)) => most,
        Width::Dim(Dim::Symbol(_) | Dim::OneMore(_) | Dim::Optional(_)) => 1,
        Width::Square(side) => side * side,
        Width::FirstHarmonic => 3,
    };
    let index: Option<usize> = index.parse().ok().filter(|index| *index < most);
    let index = index.ok_or_else(|| {
        let advice = format!("components of {name} are numbered from 0, below {most}");
        at.problem("another component", advice)
    })?;
    Ok(Field::Component(tensor, index))
}
