"""The backward rasterization in numpy: formulation 3dgs, float32, one pixel and one Gaussian at a time.

Written from the mathematics in reference/src/splat/pair.rs and backward/rasterize.rs:
alpha = min(alpha_max, opacity exp(power)), power = -(a dx^2 + c dy^2)/2 - b dx dy; a pair counts where
power <= 0 and alpha >= alpha_min; colour = sum of c alpha T, T the product of 1 - alpha in front.
A first argument makes it wrong on purpose. A second one lets it return the image as well: 'image', or
'no-background' for one without the background.
"""
import json
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

f32 = np.float32
BUG, IMAGE = (sys.argv[1:] + ["", ""])[:2]


def backward(x, meta):
    width, height, tile = (int(meta[k]) for k in ("width", "height", "tile_size"))
    alpha_max, alpha_min, center = (f32(meta[k]) for k in ("alpha_max", "alpha_min", "pixel_center"))
    if BUG == "threshold":
        alpha_min = f32(alpha_min * f32(2))
    stops = meta["clamp_stops_gradient"] == "1"
    grads = {k: np.zeros_like(x[k[2:]]) for k in ("v_means2d", "v_conics", "v_opacities", "v_colors")}
    for py in range(height):
        for px in range(width):
            if BUG == "lane" and (py * tile + px) % 32 == 31:
                continue
            one_pixel(x, grads, px, py, center, (alpha_max, alpha_min, stops, -(-width // tile), tile))
    return grads


def one_pixel(x, grads, px, py, center, constants):
    alpha_max, alpha_min, stops, tiles_x, tile = constants
    start = x["tile_offsets"][py // tile * tiles_x + px // tile]
    v, v_alpha_image = x["v_render_colors"][py, px], x["v_render_alphas"][py, px]
    t_final = t = x["render_transmittance"][py, px]
    if BUG == "one-minus-alpha":
        t_final = t = f32(1) - x["render_alphas"][py, px]
    behind = np.zeros_like(v)
    from_background = f32(0)
    for c in range(len(v)):
        from_background += x["background"][c] * v[c]
    for i in range(x["last_ids"][py, px], start - 1, -1):
        g = x["flatten_ids"][i]
        dx, dy = x["means2d"][g] - (f32(px) + center, f32(py) + center)
        a, b, c = x["conics"][g]
        power = f32(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy
        gauss = f32(np.exp(np.float64(power)))
        full = x["opacities"][g] * gauss
        alpha = min(alpha_max, full)
        if power > 0 or alpha < alpha_min:
            continue
        t = t / (f32(1) - alpha)
        color = x["colors"][g]
        grads["v_colors"][g] += alpha * t * v
        v_alpha = f32(0)
        for k in range(len(v)):
            v_alpha += (color[k] - behind[k]) * t * v[k]
        v_alpha += t_final / (f32(1) - alpha) * (v_alpha_image - from_background)
        behind = alpha * color + (f32(1) - alpha) * behind
        if stops and full > alpha_max:
            continue
        v_gauss = x["opacities"][g] * v_alpha
        v_power = v_gauss * gauss
        grads["v_opacities"][g] += gauss * v_alpha
        grads["v_conics"][g] += (-f32(0.5) * dx * dx * v_power, -dx * dy * v_power, -f32(0.5) * dy * dy * v_power)
        grads["v_means2d"][g] += (-(a * dx + b * dy) * v_power, -(c * dy + b * dx) * v_power)


def forward(x, meta):
    """The image: front to back, as far as the pixel's last contributor."""
    width, height, tile = (int(meta[k]) for k in ("width", "height", "tile_size"))
    alpha_max, alpha_min, center = (f32(meta[k]) for k in ("alpha_max", "alpha_min", "pixel_center"))
    colors = np.zeros((height, width, len(x["background"])), f32)
    alphas = np.zeros((height, width), f32)
    for py in range(height):
        for px in range(width):
            t = f32(1)
            start = x["tile_offsets"][py // tile * -(-width // tile) + px // tile]
            for g in x["flatten_ids"][start : x["last_ids"][py, px] + 1]:
                dx, dy = x["means2d"][g] - (f32(px) + center, f32(py) + center)
                a, b, c = x["conics"][g]
                power = f32(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy
                alpha = min(alpha_max, x["opacities"][g] * f32(np.exp(np.float64(power))))
                if power > 0 or alpha < alpha_min:
                    continue
                colors[py, px] += alpha * t * x["colors"][g]
                t *= f32(1) - alpha
            if IMAGE != "no-background":
                colors[py, px] += t * x["background"]
            alphas[py, px] = f32(1) - t
    return {"render_colors": colors, "render_alphas": alphas}


with np.errstate(all="ignore"):
    for line in sys.stdin:
        request = json.loads(line)
        with safe_open(request["input"], "np") as file:
            x, meta = {k: file.get_tensor(k) for k in file.keys()}, file.metadata()
            outputs = backward(x, meta) | (forward(x, meta) if IMAGE else {})
        save_file(outputs, request["output"])
        print(json.dumps({"id": request["id"], "ok": True}), flush=True)
