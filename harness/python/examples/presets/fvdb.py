"""The backward rasterization of preset fvdb in numpy: gsplat's, with the arrays of fVDB's structure."""

import numpy as np
from gsplat_1_5 import ALPHA_MAX, backward

f32 = np.float32
NAMES = {"Means2d": "means2d", "Conics": "conics", "Features": "colors", "Opacities": "opacities"}


def rasterize_gaussians_backward(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    image = (1, meta["height"], meta["width"])
    grads = backward(
        {
            **{name: x[name] for name in ("means2d", "conics", "opacities", "backgrounds")},
            "colors": x["features"],
            "tile_offsets": x["tileOffsets"],
            "flatten_ids": x["tileGaussianIds"],
            "render_alphas": x["renderedAlphas"].reshape(*image, 1),
            "last_ids": x["lastGaussianIds"].reshape(image),
            "v_render_colors": x["dLossDRenderedFeatures"].reshape(*image, -1),
            "v_render_alphas": x["dLossDRenderedAlphas"].reshape(*image, 1) * f32(bug != "no opacity"),
        },
        {"image_width": image[2], "image_height": image[1], "tile_size": meta["tileSize"]},
        (ALPHA_MAX, f32(0)),
    )
    named = {f"outDLossD{theirs}": grads[f"v_{ours}"] for theirs, ours in NAMES.items()}
    return {**named, "outDLossDMeans2dAbs": grads["v_means2d_abs"]}
