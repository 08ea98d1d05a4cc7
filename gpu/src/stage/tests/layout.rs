//! How arrays lie in buffers, and numbers in records.

use super::{bound, zeros};
use crate::stage::{Buffer, Dim, Language, Port, Sizes, StageSpec};
use crate::stages::Stage;
use crate::stages::splat::tests::inputs::gaussians;
use crate::stages::splat::{MAX_CHANNELS, PROJECT, RASTERIZE};
use crate::tensor::{Data, Dtype, Tensor, Tensors};
use std::collections::BTreeMap;

/// A generator of words (Knuth's MMIX constants).
struct Words(u64);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 32).expect("32 bits are left")
    }

    fn below(&mut self, end: u32) -> usize {
        (self.next() % end) as usize
    }
}

/// Arrays of ports, of whatever bits.
fn random(ports: &[Port], sizes: &Sizes, words: &mut Words) -> Tensors {
    let mut all = Tensors::new();
    for port in ports {
        // A float that is no NaN compares equal to itself.
        let bits: Vec<u32> = (0..port.words(sizes)).map(|_| words.next() & 0xbfff_ffff).collect();
        let data = Data::from_words(port.dtype, &bits);
        let tensor = Tensor::new(port.name, port.shape_for(sizes), data);
        all.insert(port.name, tensor.expect("it is that long"));
    }
    all
}

/// Sizes of a stage, each up to 4; harmonics or none.
fn some_sizes(stage: &StageSpec, words: &mut Words) -> Sizes {
    let values: BTreeMap<_, _> = bound(stage).into_iter().map(|s| (s, words.below(5))).collect();
    stage.sizes(&zeros(stage, &values)).unwrap_or_else(|e| panic!("{}: {e}", stage.name))
}

/// What is packed is there again when it is taken apart, and takes the words that it says.
#[test]
fn taking_apart_undoes_packing() {
    let mut words = Words(1);
    for _ in 0..100 {
        for stage in Stage::all() {
            let sizes = some_sizes(&stage, &mut words);
            for buffers in [stage.wgsl.buffers, stage.ptx.buffers] {
                for (buffers, ports) in
                    [(buffers.inputs, stage.inputs), (buffers.outputs, stage.outputs)]
                {
                    let tensors = random(ports, &sizes, &mut words);
                    for buffer in buffers {
                        assert_undone(buffer, ports, &sizes, &tensors, stage.name);
                    }
                }
            }
        }
    }
}

fn assert_undone(buffer: &Buffer, ports: &[Port], sizes: &Sizes, tensors: &Tensors, stage: &str) {
    let context = format!("{} of {stage}, {sizes:?}", buffer.name);
    let packed = buffer.pack(ports, sizes, tensors).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert_eq!(packed.len(), buffer.words(ports, sizes), "the length of {context}");
    let mut apart = Tensors::new();
    let unpacked = buffer.unpack(ports, sizes, &packed, &mut apart);
    unpacked.unwrap_or_else(|e| panic!("{context}: {e}"));
    assert_eq!(apart.len(), buffer.ports.len(), "the arrays of {context}");
    for name in buffer.ports {
        assert_eq!(apart.get(name), tensors.get(name), "{name} in {context}");
    }
    let mut longer = packed.to_vec();
    longer.push(0);
    let refused = buffer.unpack(ports, sizes, &longer, &mut Tensors::new());
    let error = refused.expect_err("a word too many").to_string();
    assert!(error.contains(&format!("has {} numbers", longer.len())), "unhelpful: {error}");
}

/// Row by row, the numbers of one row of each array beside each other.
#[test]
fn rows_of_several_arrays_lie_beside_each_other() {
    const N: Dim = Dim::Symbol("N");
    let ports =
        [Port::read("ids", Dtype::U32, &[N]), Port::read("pairs", Dtype::F32, &[N, Dim::Const(2)])];
    let mut tensors = Tensors::new();
    tensors.array("ids", &[3], Data::U32(vec![7, 8, 9])).expect("it fits");
    let pairs = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    tensors.array("pairs", &[3, 2], Data::F32(pairs)).expect("it fits");
    // Three Gaussians, whatever else that stage has.
    let inputs = gaussians(3, 2).tensors().expect("the arrays fill their shapes");
    let sizes = PROJECT.sizes(&inputs).expect("nothing is wrong with these");
    let buffer = Buffer { name: "rows", ports: &["ids", "pairs"], element: "Row" };
    let packed = buffer.pack(&ports, &sizes, &tensors).expect("nothing is missing");
    let f = f32::to_bits;
    let expected = [7, f(0.0), f(1.0), 8, f(2.0), f(3.0), 9, f(4.0), f(5.0)];
    assert_eq!(*packed, expected, "a row of each beside each other");
    let one = Buffer::f32("alone", &["pairs"]);
    let alone = one.pack(&ports, &sizes, &tensors).expect("nothing is missing");
    assert_eq!(*alone, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0].map(f), "one array lies as it is");
    let none = Tensors::new();
    let missing = buffer.pack(&ports, &sizes, &none).expect_err("there are no arrays");
    assert_eq!(missing.to_string(), "ids is missing", "the first that it needs");
}

/// The place of a stage's parameter in its record.
fn place(stage: Stage, name: &str) -> usize {
    let before = stage.params.iter().take_while(|param| param.name != name);
    before.map(|param| param.value.words()).sum()
}

#[test]
fn only_wgsl_bounds_what_may_be_infinite() {
    let far = place(PROJECT, "far");
    for (given, in_wgsl) in [
        (f32::INFINITY, f32::MAX),
        (f32::MAX, f32::MAX),
        (100.0, 100.0),
        (f32::NEG_INFINITY, f32::NEG_INFINITY),
    ] {
        let mut inputs = gaussians(3, 2);
        inputs.constants.far = given;
        let inputs = inputs.tensors().expect("the arrays fill their shapes");
        let sizes = PROJECT.sizes(&inputs).expect("nothing is wrong with these");
        let record = |language| {
            let record = PROJECT.record(&inputs, &sizes, 5, language);
            record.expect("nothing is missing")
        };
        let (wgsl, ptx) = (record(Language::Wgsl), record(Language::Ptx));
        assert_eq!(wgsl[far], in_wgsl.to_bits(), "{given} in WGSL");
        assert_eq!(ptx[far], given.to_bits(), "{given} in PTX");
        let others = (0..wgsl.len()).filter(|&at| at != far);
        assert!(others.clone().all(|at| wgsl[at] == ptx[at]), "nothing else differs");
        assert_eq!(wgsl[..5], [3, 2, 3, 0, 5], "N, C, D, K and the threshold");
    }
}

#[test]
fn records_are_filled_up_with_zeros() {
    let values = BTreeMap::from([("D", 2), ("W", 40), ("H", 3)]);
    let mut inputs = zeros(&RASTERIZE, &values);
    inputs.array("background", &[2], Data::F32(vec![0.5, 0.25])).expect("it fits");
    let sizes = RASTERIZE.sizes(&inputs).expect("the shapes agree");
    let record = RASTERIZE.record(&inputs, &sizes, 9, Language::Wgsl).expect("nothing is missing");
    assert_eq!(record[..4], [40, 3, 3, 9], "width, height, tiles in a row, threshold");
    let background = place(RASTERIZE, "background");
    assert_eq!(record.len(), background + MAX_CHANNELS as usize, "it is as long as the largest");
    let (given, rest) = record[background..].split_at(2);
    assert_eq!(given, [0.5_f32.to_bits(), 0.25_f32.to_bits()], "the background");
    assert!(rest.iter().all(|&word| word == 0), "no more channels: {rest:?}");
    assert_eq!(record[place(RASTERIZE, "padding")], 0, "nobody reads it");
}
