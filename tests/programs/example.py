import json, sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

def rasterize_backward(x, meta):  # the kernel that is judged: all pixels at once, back to front
    out = {"v_" + name: np.zeros_like(x[name]) for name in ("means2d", "conics", "opacities", "colors")}
    alpha_max, alpha_min, center = (np.float32(meta[k]) for k in ("alpha_max", "alpha_min", "pixel_center"))
    y, x_ = np.indices(x["last_ids"].shape)
    first = x["tile_offsets"][y // 16 * -(-int(meta["width"]) // 16) + x_ // 16]
    t, v, behind = x["render_transmittance"], x["v_render_colors"], np.float32(0)
    v_t = t * (x["v_render_alphas"] - v @ x["background"])
    for i in reversed(range(len(x["flatten_ids"]))):
        g = x["flatten_ids"][i]
        (a, b, c), opacity, color = x["conics"][g], x["opacities"][g], x["colors"][g]
        dx, dy = (m - (p.astype(np.float32) + center) for m, p in zip(x["means2d"][g], (x_, y)))
        power = np.float32(-0.5) * (a * dx * dx + c * dy * dy) - b * dx * dy
        gauss = np.exp(power)
        alpha = np.minimum(alpha_max, opacity * gauss)
        on = (first <= i) & (i <= x["last_ids"]) & (power <= 0) & (alpha >= alpha_min)
        alpha = np.where(on, alpha, np.float32(0))
        t = t / (1 - alpha)
        out["v_colors"][g] += ((alpha * t)[..., None] * v).sum((0, 1))
        v_alpha = np.where(on, ((color - behind) * v).sum(-1) * t + v_t / (1 - alpha), np.float32(0))
        behind = alpha[..., None] * color + (1 - alpha)[..., None] * behind
        if meta["clamp_stops_gradient"] == "1":
            v_alpha = np.where(opacity * gauss > alpha_max, np.float32(0), v_alpha)
        gauss = np.where(on, gauss, np.float32(0))
        v_power = opacity * gauss * v_alpha
        out["v_opacities"][g] += (gauss * v_alpha).sum()
        out["v_conics"][g] += [(-d * v_power).sum() for d in (dx * dx / 2, dx * dy, dy * dy / 2)]
        out["v_means2d"][g] += [-((p * dx + q * dy) * v_power).sum() for p, q in ((a, b), (b, c))]
    return out

np.seterr(all="ignore")
for line in sys.stdin:
    request = json.loads(line)
    with safe_open(request["input"], "np") as file:
        outputs = rasterize_backward({name: file.get_tensor(name) for name in file.keys()}, file.metadata())
    save_file(outputs, request["output"])
    print(json.dumps({"id": request["id"], "ok": True}), flush=True)
