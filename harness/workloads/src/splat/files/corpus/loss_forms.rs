//! The three ways in which a text case gives the gradient of its loss.

use splatcheck_reference::splat::scene::Scene;

use crate::splat::files::loss::loss_gradients;
use splatcheck_judge::io::error::Problem;
use splatcheck_judge::io::toml_node::{Node, Table};

/// Fills `v_render_colors` and `v_render_alphas` of a scene that has everything else.
pub(super) fn fill(top: &Table<'_>, scene: &mut Scene<f32>) -> Result<(), Problem> {
    let pixels = scene.cameras.len() * scene.pixels();
    let channels = scene.channels();
    match (top.get("loss"), top.get("v_render_colors"), top.get("v_render_alphas")) {
        (Some(loss), None, None) => compact(&loss.table()?, scene, pixels),
        (None, Some(colors), alphas) => {
            scene.v_render_colors = flat(&colors, pixels * channels)?;
            scene.v_render_alphas = match alphas {
                Some(alphas) => flat(&alphas, pixels)?,
                None => vec![0.0; pixels],
            };
            Ok(())
        }
        (Some(_), Some(node), _) | (Some(_), None, Some(node)) => {
            Err(node.problem("give loss or the arrays, not both"))
        }
        (None, None, _) => Err(top.problem("loss", "missing", "give loss or v_render_colors")),
    }
}

fn flat(node: &Node<'_>, expected: usize) -> Result<Vec<f32>, Problem> {
    let numbers = node.numbers()?;
    if numbers.len() != expected {
        let advice = format!("the cameras, the size and the channels ask for {expected} numbers");
        return Err(node.problem(advice));
    }
    Ok(numbers)
}

fn compact(loss: &Table<'_>, scene: &mut Scene<f32>, pixels: usize) -> Result<(), Problem> {
    if let Some(constant) = loss.get("constant") {
        loss.allow(&[&["constant", "alpha"]])?;
        let colors = super::numbers_of_channels(&constant, scene.channels())?;
        let alpha = loss.get("alpha").map_or(Ok(0.0), |node| node.number())?;
        scene.v_render_colors = colors.repeat(pixels);
        scene.v_render_alphas = vec![alpha; pixels];
        return Ok(());
    }
    loss.allow(&[&["seed", "magnitude"]])?;
    let seed = loss.need("seed")?.whole()?;
    let magnitude = loss.get("magnitude").map_or(Ok(1.0), |node| node.number())?;
    let (colors, alphas) = loss_gradients(
        seed,
        scene.cameras.len(),
        scene.width,
        scene.height,
        scene.channels(),
        magnitude,
    );
    (scene.v_render_colors, scene.v_render_alphas) = (colors, alphas);
    Ok(())
}
