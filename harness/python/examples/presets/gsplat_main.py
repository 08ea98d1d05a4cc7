"""The backward rasterization of preset gsplat-main in numpy: that of gsplat-1.5 but for what its main branch
changed. Alpha ends at 0.99, and what is divided by is at least 1e-6."""

import gsplat_1_5
import numpy as np

f32 = np.float32


def rasterize_to_pixels_bwd(x, meta, bug=None):
    """The gradients; `bug` makes them wrong on purpose."""
    alpha_max = f32(0.999) if bug == "alpha of 1.5" else f32(0.99)
    return gsplat_1_5.backward(x, meta, (alpha_max, f32(1e-6)))
