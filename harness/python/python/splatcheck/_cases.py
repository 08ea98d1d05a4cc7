"""Cases: what a kernel reads, and what the oracle says of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from . import _arrays, _sparse
from ._native import MODELS, NativeCase, Source
from ._native import STAGES as _STAGES

#: The cases that come with splatcheck, instead of a folder of yours.
OWN_CORPUS = "built-in"

#: The parts of the way from a scene to its gradients that a kernel may do: see :class:`Case`.
LEVELS = ("raster", "project", "project-backward", "full")

#: Stages that a kernel may do by themselves, also levels: see :class:`Case`.
STAGES = tuple(_STAGES)


class Case:
    """A case of a level: what a kernel reads and what it must write.

    Arrays are float32, indices int32, for N Gaussians, D channels, K harmonics (no such dimension for
    direct colours), C cameras, H x W pixels, T tiles and M pairs of a tile and a Gaussian in it.
    Positions, depths and scales are in the scene's unit of length, means2d in pixels, conics in 1/pixel^2,
    opacities, alphas and transmittances in 0 to 1; colours have no unit. A gradient ``v_x`` is that of one
    loss by ``x``, and has the shape of ``x``.

    ``raster``, one camera
        reads ``means2d`` [N, 2], ``conics`` [N, 3], ``opacities`` [N], ``colors`` [N, D], ``background``
        [D], ``tile_offsets`` [T + 1], ``flatten_ids`` [M] (tile t owns
        ``flatten_ids[tile_offsets[t]:tile_offsets[t + 1]]``, front to back), ``render_transmittance``,
        ``render_alphas`` [H, W], ``render_colors`` [H, W, D], ``last_ids`` [H, W] (place in flatten_ids of
        the pixel's last contributor, -1 for none), ``v_render_colors`` [H, W, D], ``v_render_alphas``
        [H, W]; writes ``v_means2d``, ``v_conics`` (with the full off-diagonal), ``v_opacities``,
        ``v_colors``, and may write the image that it renders itself, ``render_colors``, ``render_alphas``.
    ``project``, all cameras
        reads ``means`` [N, 3], ``quats`` [N, 4], ``scales`` [N, 3], ``opacities`` [N], ``colors``
        [N, K, D], ``viewmats`` [C, 3, 4], ``focals``, ``principals``, ``limits_low``, ``limits_high``
        [C, 2]; writes ``means2d`` [C, N, 2], ``conics``, ``covars2d`` [C, N, 3], ``opacities``, ``depths``
        [C, N], ``colors`` [C, N, D], ``visible`` [C, N].
    ``project-backward``, all cameras
        reads the same and ``v_means2d``, ``v_conics``, ``v_opacities``, ``v_colors``; writes ``v_means``,
        ``v_quats``, ``v_scales``, ``v_opacities``, ``v_colors``, ``v_viewmats`` [C, 4, 4].
    ``full``, all cameras
        reads ``means``, ``quats``, ``scales``, ``opacities``, ``colors`` or ``sh``, ``viewmats``
        [C, 4, 4], ``Ks`` [C, 3, 3], ``backgrounds`` [C, D], ``v_render_colors`` [C, H, W, D],
        ``v_render_alphas`` [C, H, W, 1]; writes ``render_colors``, ``render_alphas``, ``v_means``,
        ``v_quats``, ``v_scales``, ``v_opacities``, ``v_colors`` or ``v_sh``, and may write ``v_viewmats``,
        ``v_backgrounds``.

    Stages of other workloads are levels, too. For N points of d coordinates, L levels with E entries of F
    features in all, or N elements of V values and E rows of sums:

    ``scatter``
        reads ``keys`` [N] (a row, -1 for none), ``values`` [N, V], ``initial`` [E, V]; writes ``sums`` [E, V].
    ``grid_forward``
        reads ``positions`` [N, d], ``table`` [E, F], ``scales``, ``resolutions`` [L], ``offsets`` [L + 1] and the
        encoding's fields as numbers; writes ``features`` [N, L, F].
    ``grid_backward``, ``grid_backward_input``
        read ``v_features`` [N, L, F] as well; write ``v_table`` [E, F], and ``v_positions`` [N, d].
    ``spherical_harmonics``, ``spherical_harmonics_backward``
        read ``dirs`` [N, 3] of any length, ``coeffs`` [N, K, 3], the number ``degree``, and ``v_colors`` [N, 3];
        write ``colors`` [N, 3], or ``v_coeffs`` [N, K, 3] and ``v_dirs`` [N, 3].
    """

    def __init__(self, native: NativeCase) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the scene and number of the camera: ``lanes-0-17.0``."""
        return f"{self._native.name}.{self._native.camera}"

    @property
    def level(self) -> str:
        """What the kernel does: one of :data:`LEVELS` or :data:`STAGES`."""
        return self._native.level

    @property
    def formulation(self) -> str | None:
        """The expression of alpha's gradient; ``None`` at levels that have none."""
        return self._native.formulation

    @property
    def preset(self) -> str | None:
        """The project whose names and layouts the arrays have; ``None`` for those of :class:`Case`."""
        return self._native.preset

    @property
    def not_for(self) -> str | None:
        """Why nothing is judged by the case, in words that follow "cases"; ``None`` where something is.

        One from a file may have another number of channels than the preset's kernel is for, another value of
        a constant that is built into the kernel, or no Gaussian, so that there is no number to compare. What is
        drawn is drawn for the kernel.
        """
        return self._native.not_for or ("without a number to compare" if self._native.empty else None)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what a kernel writes."""
        return {name: tuple(shape) for name, _, shape, _ in self._native.outputs()}

    @cached_property
    def inputs(self) -> dict[str, np.ndarray | None]:
        """What a kernel reads, by gsplat's names: see :class:`Case` for shapes and units.

        With a preset, by the project's names and in its layouts; ``None`` for what the project may leave out.
        """
        return {**self._fresh(), **dict.fromkeys(self._nulls)}

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Numbers that belong to the case: ``width``, ``height``, ``tile_size``, ``alpha_max``, ...

        Whole numbers are ``int``, others ``np.float32``.
        """
        floats = set(self._native.floats())
        return {key: _number(text, key in floats) for key, text in self._texts.items() if key != "null"}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the scene to a case file (.safetensors), which ``splatcheck check --case`` reads."""
        if not os.fspath(path).endswith(".safetensors"):
            raise ValueError(f"the file is {os.fspath(path)!r}: its name must end with .safetensors")
        self._native.write(os.fspath(path))

    def _judged_in(self, formulation: str | None, extra_roundings: int | None) -> Case:
        """The same in another expression, where one is named, with what a kernel reads there."""
        if formulation is None and extra_roundings is None:
            return self
        return Case(self._native.judged_in(formulation, expect_roundings(extra_roundings)))

    @cached_property
    def _bytes(self) -> bytes:
        return self._native.inputs()

    @cached_property
    def _texts(self) -> dict[str, str]:
        return _arrays.decode(self._bytes)[1]

    @property
    def _nulls(self) -> list[str]:
        """Inputs that the preset's kernel has and is not given."""
        return [name for name in self._texts.get("null", "").split(",") if name]

    def _fresh(self) -> dict[str, np.ndarray]:
        """Inputs in memory of their own."""
        return _arrays.decode(self._bytes)[0]

    def __repr__(self) -> str:
        return f"<splatcheck.Case {self.name}, level {self.level}>"


def _number(text: str, is_float: bool) -> Any:
    if is_float:
        return np.float32(text)
    for number in (int, np.float32):
        try:
            return number(text)
        except ValueError:
            pass
    return text


class Cases(Sequence[Case]):
    """Cases as a sequence: each is drawn when it is asked for, a function of the options and its number.

    Those of a corpus come first. By some of them nothing is judged (:attr:`Case.not_for`): to iterate leaves
    these out. A file of the corpus that cannot be read does not stand in the way of the others: to iterate raises
    a ValueError behind the last case, which names it.
    """

    def __init__(
        self, source: Source, corpus: tuple[list[NativeCase], str | None], count: int, *, own: bool = False
    ) -> None:
        self._source = source
        self._corpus, self._unread = corpus
        self._count = count
        self._own = own

    @property
    def unread(self) -> str | None:
        """Which files of the corpus could not be read, and why; None where all could."""
        return self._unread

    def __len__(self) -> int:
        return len(self._corpus) + self._count

    @property
    def _asked(self) -> int:
        """How many cases whoever made this asked to be judged: of splatcheck's own corpus those that can be, of
        another one all that have a number to compare."""
        left_out = [case for case in self._corpus if case.empty or (self._own and case.not_for is not None)]
        return len(self) - len(left_out)

    @property
    def _judged(self) -> list[int]:
        """The numbers of the cases by which something is judged."""
        filed = [number for number, _ in enumerate(self._corpus) if self[number].not_for is None]
        return filed + list(range(len(self._corpus), len(self)))

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> list[Case]: ...
    def __getitem__(self, index: int | slice) -> Case | list[Case]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there is no case {index}: there are {len(self)}")
        if number < len(self._corpus):
            # A case of its own, so that what was computed for it is not kept.
            return Case(self._corpus[number].judged_in(None, None))
        return Case(self._source.drawn(number - len(self._corpus)))

    def __iter__(self) -> Iterator[Case]:
        for index in range(len(self)):
            case = self[index]
            if case.not_for is None:
                yield case
        if self._unread is not None:
            raise ValueError(self._unread)

    @property
    def level(self) -> str:
        """What the kernel does: one of :data:`LEVELS` or :data:`STAGES`."""
        return self._source.level

    @property
    def model(self) -> str | None:
        """The arithmetic that the preset's kernels are compiled to, if it says so."""
        return self._source.model


def cases(
    level: str | None = None,
    count: int = 100,
    seed: int = 0,
    generator: str | Sequence[str] | None = None,
    corpus: str | os.PathLike[str] | None = None,
    convention: str | None = None,
    *,
    preset: str | None = None,
    formulation: str | None = None,
    constants: Mapping[str, int | str] | None = None,
) -> Cases:
    """Cases to call a kernel with.

    Args:
        level: what the kernel does: ``raster``, ``project``, ``project-backward`` or ``full``, or one of
            :data:`STAGES`; ``raster``, or the only one of the preset, where it is None.
        count: how many are drawn. A case is a function of seed and number, on every machine. Each is for the
            preset's kernel (with its constants, channels and form of colours), and has a number to compare.
        seed: of the cases that are drawn.
        generator: draw from this generator (``lanes``, ``finish``, ``cameras``, ...), or from these in
            turn; as ``splatcheck check`` draws where it is None.
        corpus: a folder of case files, which come first, each with all its cameras; ``built-in`` for those
            that come with splatcheck.
        convention: ``inria`` or ``gsplat`` where a case does not say; each in turn where it is None.
        preset: the project whose kernel it is (``gsplat-1.5``, ``gsplat-main``, ``inria``, ``fastgs``,
            ``faster-gs``, ``brush``, ``gswarp``, ``fvdb``, or the path of your own, ``.toml``): arrays have its
            names and layouts, and cases the constants that are built into it. Some of a corpus are not for
            it: :attr:`Case.not_for`.
        formulation: the expression of alpha's gradient (``3dgs``, ``gsplat-1.5``, ``gsplat-main``,
            ``brush``, ``fastgs``, ``taichi``, ``slang``), which decides what a kernel reads; the preset's
            where it is None. Not ``any``: a case holds what is read in one of them; :func:`check` and
            :func:`assert_gradients` try others.
        constants: sizes and fields that are built into a kernel of one of :data:`STAGES`, as
            ``{"d": 3, "F": 2, "interpolation": "linear"}``: cases have them.

    Raises:
        ValueError: an option cannot be followed; the message says why.
    """
    return draw((level, preset, constants), count, (seed, generator), corpus, convention, (formulation, None))


def draw(
    kernel: tuple[str | None, str | None, Mapping[str, int | str] | None],
    count: int,
    seeded: tuple[int, str | Sequence[str] | None],
    corpus: str | os.PathLike[str] | None,
    convention: str | None,
    expression: tuple[str | None, int | None],
) -> Cases:
    """As :func:`cases`, of a level, preset and constants, for kernels that round intermediates more often."""
    seed, generator = seeded
    if expression[0] == "any":
        what = "a case holds what a kernel reads in one formulation"
        raise ValueError(f"formulation is 'any': {what}: name it, and give 'any' to check or assert_gradients")
    for name, value in (("count", count), ("seed", seed)):
        if not isinstance(value, int | np.integer) or value < 0:
            raise ValueError(f"{name} is {value!r}: expected a whole number, 0 or more")
        if value >= 1 << 64:
            raise ValueError(f"{name} is {value!r}: expected a number below 2**64")
    named = [generator] if isinstance(generator, str) else list(generator or [])
    formulation, extra_roundings = expression
    level, preset, constants = kernel
    built_in = [(name, str(value)) for name, value in (constants or {}).items()]
    expressed = (formulation, expect_roundings(extra_roundings))
    source = Source((level, preset, built_in), expressed, (seed, named), convention)
    if corpus is None:
        return Cases(source, ([], None), int(count))
    own = corpus == OWN_CORPUS
    folder = source.corpus(source.own_corpus() if own else os.fspath(corpus))
    return Cases(source, folder, int(count), own=own)


def expect_case(case: object) -> None:
    """Raises a TypeError for what is no case."""
    if not isinstance(case, Case):
        raise TypeError(f"case is of type {type(case).__name__}: expected one of splatcheck.cases()")


def expect_roundings(extra: int | None) -> int | None:
    """A number of extra roundings; a ValueError where it is none."""
    if extra is None or (isinstance(extra, int | np.integer) and 0 <= extra < 1 << 32):
        return None if extra is None else int(extra)
    raise ValueError(f"extra_roundings is {extra!r}: expected a whole number, 0 to 64")


def expect_model(model: str | None, preset: str | None = None) -> str:
    """The model of that name, else the preset's, else ``cuda``; a ValueError where no arithmetic has it."""
    name = model or preset or "cuda"
    if name not in MODELS:
        raise ValueError(f"there is no model '{name}': expected one of {', '.join(MODELS)}")
    return name


def oracle(case: Case | Mapping[str, Any], *, model: str | None = None) -> dict[str, np.ndarray]:
    """What the oracle computes for a case, or for a layer of sparse convolution, in float64.

    Beside each output ``x`` there is ``bound_x``: how far from ``x`` a conforming float32 kernel may lie,
    sums in any order; infinite where nothing can be said. Names and shapes are those of :class:`Case`, also
    with a preset.

    A layer of sparse convolution is a mapping with what a file of ``splatcheck oracle`` has, by the same
    names: ``coords`` [N, 4], whole numbers (a batch and three coordinates), ``feats`` [N, Ci], ``weights``
    [K, Ci, Co] and ``v_out`` [M, Co], float32, of any library; ``kernel_size``, ``stride``, ``padding`` and
    ``dilation``, each three numbers; ``transposed`` and ``submanifold``, ``False`` if left out; and
    ``out_coords`` [M, 4], if the output's sites are given. The result has the names of that command, too:
    ``out_coords`` [M, 4] and ``pairs`` [P, 3] in int32, ``out``, ``v_feats``, ``v_weights`` and their bounds.

    Args:
        case: the case, or the layer.
        model: the arithmetic that the kernel promises: see :func:`assert_gradients`.

    Raises:
        ValueError: a layer cannot be followed; the message names the field, its row and the rule.
    """
    if isinstance(case, Mapping):
        return _sparse.oracle(case, expect_model(model))
    expect_case(case)
    model = expect_model(model, case._native.model)
    arrays = {}
    for name, shape, values, bounds in case._native.oracle(model):
        arrays[name] = np.frombuffer(values, dtype="<f8").reshape(shape).copy()
        arrays[f"bound_{name}"] = np.frombuffer(bounds, dtype="<f8").reshape(shape).copy()
    return arrays
