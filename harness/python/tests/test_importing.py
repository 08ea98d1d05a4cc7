"""Cases from what others saved. The files of torch.save are written here in its format, without torch."""

import functools
import pickle
import struct
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest
import splatcheck

STORAGES = {"float32": "FloatStorage", "int64": "LongStorage", "uint8": "ByteStorage", "int32": "IntStorage"}


@pytest.fixture
def torch(monkeypatch):
    """Modules with the names that torch's pickles refer to."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in STORAGES.values():
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2():
        raise AssertionError("never called")

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    torch._utils = utils
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return torch


class Storage:
    def __init__(self, array, key):
        self.array, self.key = array, key


class Tensor:
    """An array that is pickled as torch pickles a tensor: storage, offset, size, stride."""

    def __init__(self, array, torch, offset=0):
        self.array, self.torch, self.offset = np.asarray(array), torch, offset

    def __reduce_ex__(self, _):
        array = self.array
        base = np.concatenate([np.zeros(self.offset, array.dtype), array.ravel(order="K")])
        strides = tuple(step // array.itemsize for step in array.strides)
        arguments = (Storage(base, id(self)), self.offset, array.shape, strides, False, {})
        return self.torch._utils._rebuild_tensor_v2, arguments


def save(saved, path, torch):
    """Writes the format of torch.save: data.pkl, data/KEY, byteorder, version."""
    storages = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing):
            if not isinstance(thing, Storage):
                return None
            storages.append(thing.array)
            kind = getattr(torch, STORAGES[thing.array.dtype.name])
            return ("storage", kind, str(len(storages) - 1), "cuda:0", thing.array.size)

    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("archive/data.pkl", "w") as file:
            Pickler(file, protocol=2).dump(saved)
        archive.writestr("archive/byteorder", "little")
        for key, array in enumerate(storages):
            archive.writestr(f"archive/data/{key}", array.tobytes())
        archive.writestr("archive/version", "3\n")
    return path


@functools.cache
def scene(harmonics=True):
    """A case of one camera and three channels under inria's rules."""
    for case in splatcheck.cases("full", 100, convention="inria"):
        x = case.inputs
        if x["backgrounds"].shape == (1, 3) and ("sh" in x) == harmonics:
            return x, case.metadata
    raise AssertionError("there is such a case")


def snapshot(x, meta, torch, *, form):
    """What 3D Gaussian Splatting hands to a pass, by the number of its arguments."""
    tensor = lambda array: Tensor(array, torch)
    empty = tensor(np.zeros(0, np.float32))
    width, height = meta["width"], meta["height"]
    tan = [float(side / (2 * focal)) for side, focal in zip((width, height), np.diag(x["Ks"][0])[:2])]
    view = Tensor(np.ascontiguousarray(x["viewmats"][0]).T, torch, offset=3)
    sh = tensor(x["sh"]) if "sh" in x else empty
    degree = int(np.sqrt(x["sh"].shape[1])) - 1 if "sh" in x else 0
    background, means = tensor(x["backgrounds"][0]), tensor(x["means"])
    colors = tensor(x["colors"]) if "colors" in x else empty
    opacities, buffer = tensor(x["opacities"][:, None]), tensor(np.zeros(8, np.uint8))
    shape = [tensor(x["scales"]), tensor(x["quats"]), 1.0, empty, view, view, *tan]
    image = tensor(np.transpose(x["v_render_colors"][0], (2, 0, 1)).copy())
    radii = tensor(np.zeros(len(x["means"]), np.int32))
    rest = [buffer, 1, buffer, buffer]
    if form == 19:
        return (background, means, colors, opacities, *shape, height, width, sh, degree, view, False, False)
    if form == 21:
        return (background, means, radii, colors, *shape, image, sh, degree, view, *rest, False)
    depths = tensor(np.zeros((1, height, width), np.float32))
    rest = [image, depths, sh, degree, view, *rest, True, False]
    return (background, means, radii, colors, opacities, *shape, *rest)


def read_back(path):
    from splatcheck import _arrays

    return _arrays.decode(path.read_bytes())


@pytest.mark.parametrize("harmonics", [True, False])
@pytest.mark.parametrize("form", [19, 21, 24])
def test_a_snapshot_becomes_the_case_that_it_was(tmp_path, torch, form, harmonics):
    x, meta = scene(harmonics)
    file = save(snapshot(x, meta, torch, form=form), tmp_path / "snapshot.dump", torch)
    forward = save(snapshot(x, meta, torch, form=19), tmp_path / "snapshot_fw.dump", torch)
    made = splatcheck.import_case(file, tmp_path / "cases", forward=forward if form == 21 else None)
    arrays, metadata = read_back(made)
    assert made == tmp_path / "cases/snapshot.safetensors"
    assert (metadata["width"], metadata["height"]) == (str(meta["width"]), str(meta["height"]))
    assert metadata["convention"] == "inria"
    assert metadata.get("antialiased") == ("true" if form == 24 else None)
    for name in ("means", "quats", "scales", "opacities", "sh" if harmonics else "colors", "viewmats"):
        assert np.array_equal(arrays[name], x[name]), name
    assert np.array_equal(arrays["backgrounds"], x["backgrounds"])
    if form != 19:
        assert np.array_equal(arrays["v_render_colors"], x["v_render_colors"])
    assert not arrays["v_render_alphas"].any(), "3DGS has no gradient of alpha"
    focal = np.diag(arrays["Ks"][0])[:2] / np.diag(x["Ks"][0])[:2]
    assert np.all(np.abs(focal - 1) <= 2.0**-22), "by way of the tangent of half the angle"


def test_opacities_that_a_backward_pass_does_not_get_are_asked_for(tmp_path, torch):
    x, meta = scene()
    file = save(snapshot(x, meta, torch, form=21), tmp_path / "snapshot_bw.dump", torch)
    with pytest.raises(ValueError, match="--forward snapshot_fw.dump"):
        splatcheck.import_case(file, tmp_path / "a.safetensors")
    assert list(tmp_path.iterdir()) == [file], "nothing is left behind"


@pytest.mark.parametrize("convention", ["gsplat", "inria"])
def test_a_saved_call_of_gsplat_becomes_a_case(tmp_path, torch, convention):
    x, meta = scene()
    call = {name: Tensor(array, torch) for name, array in x.items() if name != "sh"}
    call["colors"] = Tensor(np.pad(x["sh"], ((0, 0), (0, 16 - x["sh"].shape[1]), (0, 0))), torch)
    call |= {"width": meta["width"], "height": meta["height"], "near_plane": 0.25, "packed": True}
    call |= {"sh_degree": int(np.sqrt(x["sh"].shape[1])) - 1, "masks": None, "rasterize_mode": "antialiased"}
    file = save(call, tmp_path / "call.pt", torch)
    arrays, metadata = read_back(splatcheck.import_case(file, tmp_path, convention=convention))
    assert np.array_equal(arrays["sh"], x["sh"]) and np.array_equal(arrays["Ks"], x["Ks"])
    assert (metadata["near"], metadata["antialiased"]) == ("0.25", "true")
    assert metadata["convention"] == convention


def test_the_degree_of_harmonics_holds_by_either_name(tmp_path):
    x, meta = scene()
    arrays = {name: array for name, array in x.items() if name != "sh"}
    arrays |= {"width": meta["width"], "height": meta["height"]}
    wide = np.pad(x["sh"], ((0, 0), (0, 16 - x["sh"].shape[1]), (0, 0)), constant_values=0.5)
    for name in ("colors", "sh"):
        np.savez(tmp_path / "call.npz", **arrays, **{name: wide}, sh_degree=1)
        made, _ = read_back(splatcheck.import_case(tmp_path / "call.npz", tmp_path))
        assert np.array_equal(made["sh"], wide[:, :4]), name
    np.savez(tmp_path / "both.npz", **arrays, colors=wide, sh=wide, sh_degree=1)
    with pytest.raises(ValueError, match="'colors' with sh_degree are harmonics, and so are 'sh': give one"):
        splatcheck.import_case(tmp_path / "both.npz", tmp_path)


def test_arrays_of_numpy_become_a_case_and_the_command_judges_it(tmp_path):
    x, meta = scene(False)
    arrays = {name: array.astype(np.float64) for name, array in x.items() if not name.startswith("v_")}
    np.savez(tmp_path / "mine.npz", **arrays, width=meta["width"], height=meta["height"])
    command = [sys.executable, "-m", "splatcheck"]
    options = dict(capture_output=True, text=True, timeout=300, cwd=tmp_path)
    said = subprocess.run([*command, "import", "mine.npz", "--out", "."], **options)
    assert said.returncode == 0 and said.stdout.startswith("mine.safetensors: splatcheck check"), said
    arrays, _ = read_back(tmp_path / "mine.safetensors")
    assert np.abs(arrays["v_render_colors"]).max() > 0.5, "a loss was drawn"
    again = ["self-check", "--case", "mine.safetensors", "--engine", "emulator", "--reduction", "atomic"]
    said = subprocess.run([*command, *again], **options)
    assert said.returncode == 0, said


def test_what_is_no_case_is_refused_by_name(tmp_path, torch):
    x, meta = scene(False)
    size = {"width": meta["width"], "height": meta["height"]}

    def refused(words, **changed):
        arrays = {name: value for name, value in {**x, **size, **changed}.items() if value is not None}
        np.savez(tmp_path / "bad.npz", **arrays)
        with pytest.raises(ValueError, match=words):
            splatcheck.import_case(tmp_path / "bad.npz", tmp_path / "out")

    refused("'width' is missing", width=None)
    refused("'means' is missing", means=None)
    refused("'opacity' is no argument", opacity=x["opacities"])
    refused("'means' has shape .* expected 2 dimensions", means=x["means"][None])
    refused("radius_clip is 2.0", radius_clip=2.0)
    refused("'scales' is of type <U1", scales=np.full(x["scales"].shape, "a"))
    refused("opacities", opacities=x["opacities"][:-1])
    refused("scales", scales=np.full_like(x["scales"], np.nan))
    np.savez(tmp_path / "bad.npz", means=np.array([object()]), **size)
    with pytest.raises(ValueError, match="pickle"):
        splatcheck.import_case(tmp_path / "bad.npz", tmp_path / "out")
    assert not list(tmp_path.glob("out/*")), "no half of a file"


def test_a_pickle_that_calls_something_is_refused_and_not_called(tmp_path, torch):
    class Evil:
        def __reduce__(self):
            return print, ("called",)

    tuple_of = lambda *values: values
    bad = {
        "calls.pt": tuple_of(Evil()),
        "short.pt": (1, 2, 3),
        "number.pt": 7,
    }
    for name, saved in bad.items():
        file = save(saved, tmp_path / name, torch)
        with pytest.raises(ValueError, match="builtin(s|__).print|tuple of 3|of type int"):
            splatcheck.import_case(file, tmp_path)
    (tmp_path / "garbage.pt").write_bytes(b"\x80\x02garbage")
    with pytest.raises(ValueError, match="torch.save"):
        splatcheck.import_case(tmp_path / "garbage.pt", tmp_path)
    x, meta = scene(False)
    whole = save(snapshot(x, meta, torch, form=24), tmp_path / "whole.dump", torch).read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "cut.dump").write_bytes(whole[:cut] + struct.pack("<I", 7) + whole[cut + 4 :])
        try:
            splatcheck.import_case(tmp_path / "cut.dump", tmp_path)
        except ValueError as error:
            assert str(error)


def damaged(whole):
    """Files that are not whole any more: cut, with other bytes, with a field of the archive's changed."""
    steps = range(0, len(whole), max(1, len(whole) // 60))
    for at in steps:
        yield whole[:at]
        yield whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        yield whole[:at] + b"\x7f\xff\xff\xff" + whole[at + 4 :]


def test_a_damaged_archive_is_told_in_one_sentence(tmp_path, torch):
    x, meta = scene(False)
    for name in ("whole.npz", "packed.npz", "call.pt"):
        sizes = {"width": meta["width"], "height": meta["height"]}
        if name == "call.pt":
            call = {key: Tensor(array, torch) for key, array in x.items()} | sizes
            save(call, tmp_path / name, torch)
        else:
            (np.savez if name == "whole.npz" else np.savez_compressed)(tmp_path / name, **x, **sizes)
        whole, refused = (tmp_path / name).read_bytes(), 0
        bad = tmp_path / f"bad{(tmp_path / name).suffix}"
        for data in damaged(whole):
            bad.write_bytes(data)
            try:
                splatcheck.import_case(bad, tmp_path / "out.safetensors")
            except ValueError as error:
                refused += 1
                assert str(error).startswith(f"{bad}: ") and "\n" not in str(error), error
                assert len(str(error)) < 2500 and str(tmp_path / "tmp") not in str(error), error
        assert refused > 60, f"{name}: {refused}"


@pytest.mark.filterwarnings("error")
def test_numbers_that_are_none_are_named(tmp_path, torch):
    x, meta = scene(False)
    good = {**x, "width": meta["width"], "height": meta["height"]}

    def refused(words, **changed):
        np.savez(tmp_path / "bad.npz", **{**good, **changed})
        with pytest.raises(ValueError) as error:
            splatcheck.import_case(tmp_path / "bad.npz", tmp_path / "out")
        assert str(error.value).startswith(f"{tmp_path / 'bad.npz'}: ") and words in str(error.value), error.value

    refused("width is [1 2]: expected a whole number", width=[1, 2])
    refused("width is inf: expected a whole number", width=np.inf)
    refused("height is 2.5: expected a whole number", height=2.5)
    refused("near_plane is [0.1 0.2]: expected a number", near_plane=[0.1, 0.2])
    refused("far_plane is nan: expected a number", far_plane=np.nan)
    refused("'viewmats' has shape []: expected 3 dimensions", viewmats=1.0)
    refused("'colors' has shape [", sh_degree=1)
    refused("'means' has 1e+300: float32 does not hold it", means=np.full(x["means"].shape, 1e300))
    refused("covars is [[", covars=np.eye(3))
    refused("radius_clip is [0. 0.]", radius_clip=[0.0, 0.0])
    refused("is no argument of gsplat.rasterization", **{"a" * 60000: 1.0})
    refused("is no argument of gsplat.rasterization", **{"\x1b[31mred": 1.0})
    saved = {key: Tensor(array, torch) for key, array in x.items()} | {"width": [1], "height": {}}
    file = save(saved, tmp_path / "lists.pt", torch)
    with pytest.raises(ValueError, match="lists.pt: height is {}: expected a whole number"):
        splatcheck.import_case(file, tmp_path / "out")
    del good["v_render_colors"]
    refused("images of 2147483647x2147483647 pixels are no case", width=2**31 - 1, height=2**31 - 1)
    command = [sys.executable, "-m", "splatcheck", "import", "bad.npz", "--out", "x"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert said.returncode == 2 and said.stderr.startswith("error: bad.npz: 1 image"), said
    assert said.stderr.count("\n") == 1 and "\x1b" not in said.stderr, said


def test_a_small_file_may_not_fill_the_memory(tmp_path, torch):
    x, meta = scene(False)
    sizes = {"width": meta["width"], "height": meta["height"]}
    np.savez_compressed(tmp_path / "zeros.npz", means=np.zeros((80_000_000,), np.float32), **sizes)
    with pytest.raises(ValueError, match="it unpacks to more than 268435456 bytes"):
        splatcheck.import_case(tmp_path / "zeros.npz", tmp_path / "out")

    class Wide(Tensor):
        def __reduce_ex__(self, _):
            arguments = (Storage(np.zeros(3, np.float32), 0), 0, (200_000_000, 3), (0, 1), False, {})
            return self.torch._utils._rebuild_tensor_v2, arguments

    file = save({"means": Wide(np.zeros(3), torch), **sizes}, tmp_path / "wide.pt", torch)
    with pytest.raises(ValueError, match="its tensors are larger than the file"):
        splatcheck.import_case(file, tmp_path / "out")


def test_lists_in_lists_without_end_are_refused_at_once(tmp_path, torch):
    many = [0.0] * 10
    for _ in range(9):
        many = [many] * 10
    itself = []
    itself.append(itself)
    for name, value in (("near_plane", many), ("means", many), ("eps2d", itself), ("packed", {"a": many})):
        path = tmp_path / "nested.pt"
        save({"width": 16, "height": 16, name: value}, path, torch)
        assert path.stat().st_size < 2000, "the file is small"
        with pytest.raises(ValueError, match="nested.pt: its lists and dictionaries have more than"):
            splatcheck.import_case(path, tmp_path / "out")
