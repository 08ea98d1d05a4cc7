"""The backward rasterization of preset gswarp in numpy: inria's, with the opacity as a channel of ones.

Arrays are those of gswarp's Warp kernel, most of them flat. The forward pass keeps the opacity, so that the
transmittance is 1 minus it (formulation behind,final_t=one-minus-alpha)."""

import numpy as np
from inria import render_backward

f32 = np.float32


def backward_render_tiles(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    n, image = len(x["conic_opacity"]), (meta["image_height"], meta["image_width"])
    v_alpha = x["grad_alpha_flat"] * f32(0 if bug == "no opacity" else 1)
    grads = render_backward(
        {
            "ranges": x["ranges_flat"].reshape(-1, 2),
            "point_list": x["point_list"],
            "points_xy_image": x["points_xy_image"],
            "conic_opacity": x["conic_opacity"],
            "colors": np.c_[x["features_flat"].reshape(n, 3), np.ones(n, f32)],
            "bg_color": np.append(x["background"], f32(0)),
            "final_Ts": (1 - x["out_alpha_flat"]).reshape(image),
            "n_contrib": x["n_contrib"].reshape(image),
            "dL_dpixels": np.concatenate([x["grad_color_flat"], v_alpha]).reshape(4, *image),
        },
        {"W": image[1], "H": image[0]},
    )
    conics = grads["dL_dconic2D"]
    return {
        "grad_points_xy": grads["dL_dmean2D"][:, :2],
        "grad_depths": np.zeros(n, f32),
        "grad_conic_opacity": np.c_[conics[:, 0], conics[:, 1, 1], grads["dL_dopacity"]],
        "grad_feature": grads["dL_dcolors"][:, :3],
    }
