//! The parameters of a user's kernel, in words for `--help`.

/// What a user's kernel gets, for `--help`.
pub(super) const INTERFACE: &str = "\
With --manifest FILE.toml a kernel is launched with its own parameter list, block, grid and shared memory,
without its host code: `docs/src/manifests.md` describes the file, in the source tree, and
`gpu/tests/kernels/gsplat_backward.toml` is an example. Its `stage` says whether the kernel does
rasterize_backward (the default), rasterize, project or project_backward. With --observe-only nothing
is compared with the oracle, and any kernel can be run, with or without a case.
Without a manifest the kernel is launched with one block of 256 threads (x) for each tile of 16x16 pixels
(grid x, y) and no dynamic shared memory. Its parameters, for N Gaussians, D channels, T tiles, M (tile, Gaussian)
pairs and an image of H x W pixels:
  Params params                      by value, 176 bytes: unsigned width, height, tiles_x, threshold;
                                     float alpha_max, alpha_min, transmittance_min, pixel_center;
                                     unsigned stop_when_equal, clamp_stops_gradient, channels, padding;
                                     float background[32]
  const float* gaussians             [N,6+D] rows: mean (2), conic (3), opacity, colour (D)
  const unsigned* tile_offsets       [T+1] tile t owns flatten_ids[offsets[t]..offsets[t+1]]
  const unsigned* flatten_ids        [M] Gaussians of each tile, front to back
  const float* render_transmittance  [H,W] after the last contributor
  const int* last_ids                [H,W] place in flatten_ids of the last contributor, -1 for none
  const float* v_render_colors       [H,W,D]
  const float* v_render_alphas       [H,W]
  float* gradients                   [N,6+D] rows as in gaussians: holds zeros, to be added to
Under a --formulation with final_t = one-minus-alpha (gsplat-1.5, gsplat-main), render_transmittance
holds the rendered opacities instead.
Under brush and taichi (fields: image,final_t=one-minus-alpha), where the walk begins at the front again,
the kernel stands in for the stage rasterize_backward_image. After flatten_ids it has
  const float* image                 [H,W,1+D] rows: rendered opacity, rendered colour
  const float* v_image               [H,W,1+D] rows: gradients of the opacity and of the colour
  float* gradients                   as above
Under fastgs (fields: image), where the walk begins at checkpoints of the forward pass, it stands in for
rasterize_backward_replay:
  const unsigned* tile_offsets       [2(T+1)] as above, then tile t owns checkpoints
                                     [offsets[t]..offsets[t+1]], one for every begun 32 entries
  const unsigned* flatten_ids        as above
  const float* image                 [H,W,1+D] rows: transmittance after the last contributor, colour
  const int* last_ids                as above
  const float* v_image               [H,W,1+D] rows: gradients of the opacity and of the colour
  const float* checkpoints           [S,256,1+D] for each of S checkpoints and pixel of the tile,
                                     transmittance and colour in front of the checkpoint's first entry
  float* gradients                   as above
Under 'any' the kernel may have any of these; formulations that need other parameters are not tried.
With terms=f16 in it, each term may be rounded to half precision before it is added.
With --extra-roundings K the bounds of every intermediate grow by K u times the magnitudes of the terms
that it is a sum of (u: the rounding of one operation): the power, alpha, the transmittance, the weight,
the light behind, alpha's gradient and what follows from it.
Pixel (x, y) is sampled at (x, y) + pixel_center. Everything is in pixels; the conic's gradient is that
of its three numbers.";
