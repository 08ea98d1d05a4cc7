//! Pictures of a finding: images of one size, with ellipses drawn over the first.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, html};

/// What an ellipse shows: so many standard deviations.
pub const SIGMAS: f64 = 2.0;

/// What can be seen of a finding.
#[derive(Clone, Debug)]
pub enum Picture {
    /// Images of the same size.
    Images(Images),
    /// Nothing, and why.
    None(String),
}

/// Images of a finding's case.
#[derive(Clone, Debug)]
pub struct Images {
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// The PNG files, each with what it shows.
    pub images: Vec<(&'static str, Vec<u8>)>,
    /// What is drawn over the first, the last above.
    pub ellipses: Vec<Ellipse>,
}

/// A Gaussian in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    /// Its number.
    pub id: usize,
    /// Pixels.
    pub center: [f64; 2],
    /// Half axes at [`SIGMAS`] standard deviations, pixels.
    pub axes: [f64; 2],
    /// Of the first axis, degrees.
    pub angle: f64,
    /// Whether one of its numbers lies outside its bound.
    pub differs: bool,
}

impl Picture {
    pub(super) fn html(&self) -> Markup {
        match self {
            Self::None(why) => html! { p.soft { "No picture: " (why) "." } },
            Self::Images(images) => images.html(),
        }
    }
}

impl Images {
    fn html(&self) -> Markup {
        let [width, height] = self.size;
        let red = self.ellipses.iter().filter(|ellipse| ellipse.differs).count();
        html! {
            div.pictures {
                @for (number, (what, png)) in self.images.iter().enumerate() {
                    figure {
                        svg viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(what) {
                            image width=(width) height=(height) href=(data_uri(png)) style="image-rendering:pixelated" {}
                            @if number == 0 { @for ellipse in &self.ellipses { (ellipse.svg()) } }
                        }
                        figcaption {
                            (what)
                            @if number == 0 && !self.ellipses.is_empty() {
                                ", with the Gaussians' ellipses (" (SIGMAS) " standard deviations"
                                @if red > 0 { "; red: those that differ" } ")"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png))
}

impl Ellipse {
    fn svg(&self) -> Markup {
        let Self { id, center: [x, y], axes: [rx, ry], angle, differs } = self;
        let color = if *differs { "#ff4136" } else { "#ffffff80" };
        let turn = format!("rotate({angle:.3} {x:.3} {y:.3})");
        html! {
            ellipse cx=(format!("{x:.3}")) cy=(format!("{y:.3}")) rx=(format!("{rx:.3}"))
                ry=(format!("{ry:.3}")) transform=(turn) fill="none" stroke=(color) stroke-width="1.5"
                vector-effect="non-scaling-stroke" { title { "Gaussian " (id) } }
        }
    }
}
