//! Runs a kernel of a few lines.

use crate::{
    ApproximationMode, Argument, Buffer, Derivative, DeviceMemory, Exact, Launch, Module,
    Observers, Policy, Reversed, Schedule, Seed, Shadowing, Which, run,
};

/// Threads of a launch.
pub(super) const THREADS: u32 = 32;

/// A kernel whose lines find the element of their thread in `%f1`, and leave the result in `%f2`. `%d1`
/// and `%d2` are the addresses of both, `%d3` and `%d4` of the buffers, `%r1` is the thread's number.
pub(super) fn elementwise(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<60>;\n.reg .b64 %d<40>;\n\
         .reg .f64 %g<20>;\n.shared .align 16 .b8 shared[1024];\n.local .align 16 .b8 own[64];\n\
         ld.param.u64 %d3, [input];\nld.param.u64 %d4, [output];\nmov.u32 %r1, %tid.x;\n\
         mad.wide.u32 %d1, %r1, 4, %d3;\nmad.wide.u32 %d2, %r1, 4, %d4;\nld.global.f32 %f1, [%d1];\n\
         {body}\nst.global.f32 [%d2], %f2;\nret;\n}}\n"
    )
}

/// What came of it.
pub(super) struct Outcome {
    pub(super) memory: DeviceMemory,
    pub(super) input: Buffer,
    pub(super) output: Buffer,
}

pub(super) fn schedules() -> Vec<Schedule> {
    let mode = ApproximationMode::Nearest;
    let with = |policy, approximation| Schedule { policy, approximation, permutation: None };
    let mut all = vec![with(Policy::Lockstep, mode)];
    for seed in 0..4 {
        all.push(with(Policy::Random(seed), ApproximationMode::Perturbed(seed)));
        all.push(with(Policy::Adversarial(seed), ApproximationMode::Perturbed(seed)));
    }
    all
}

pub(super) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(super) fn execute(text: &str, x: &[f32], schedule: &Schedule) -> Outcome {
    let zeros = vec![0.0; x.len().max(THREADS as usize)];
    execute_into(text, (x, &zeros), schedule)
}

/// The same in lockstep with all ties decided the other way.
pub(super) fn reversed_ties(body: &str, x: &[f32]) -> Outcome {
    let module = Module::parse(&elementwise(body)).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let [input, output] = [memory.upload(&bytes(x)), memory.upload(&[0; 128])];
    memory.follow(Some(1 << 26));
    memory.differentiate(input).expect("there is a tape");
    memory.reverse(Reversed::Ties(Which::All)).expect("there is a tape");
    launch(&module, &mut memory, [input, output], &Schedule::lockstep());
    Outcome { memory, input, output }
}

/// `zeros`: what the output holds at first.
pub(super) fn execute_into(
    text: &str,
    (x, zeros): (&[f32], &[f32]),
    schedule: &Schedule,
) -> Outcome {
    let module = Module::parse(text).expect("the test's kernel");
    let mut memory = DeviceMemory::new();
    let input = memory.upload(&bytes(x));
    let output = memory.upload(&bytes(zeros));
    memory.follow(Some(1 << 26));
    memory.differentiate(input).expect("there is a tape");
    launch(&module, &mut memory, [input, output], schedule);
    Outcome { memory, input, output }
}

pub(super) fn launch(
    module: &Module,
    memory: &mut DeviceMemory,
    buffers: [Buffer; 2],
    schedule: &Schedule,
) {
    let launch = Launch {
        grid: [1, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared: 0,
        arguments: buffers.map(Argument::from).to_vec(),
    };
    let observers = Observers { shadow: Shadowing::TAPE, races: false, ..Observers::default() };
    run(module, "k", &launch, memory, schedule, observers).expect("it runs");
}

impl Outcome {
    pub(super) fn values(&self) -> Vec<Exact> {
        self.memory.exact(self.output)
    }

    /// The output as f32.
    pub(super) fn singles(&self) -> Vec<f32> {
        let bytes = self.memory.read(self.output).expect("it was written");
        bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    /// Derivatives of the sum of all outputs.
    pub(super) fn slopes(&self) -> Vec<Derivative> {
        let ones = vec![1.0; self.values().len()];
        let seeds = [Seed { output: self.output, gradient: &ones }];
        let gradient = self.memory.gradient(&seeds).expect("there is a tape");
        assert_eq!(gradient.unknown, [], "every output is known");
        gradient.of(self.input).expect("it is an input")
    }
}

/// Checks values and derivatives of an elementwise kernel against functions, within what each says it is
/// uncertain by, which is at most `sharp` of it.
pub(super) fn check(body: &str, x: &[f32], f: fn(f64) -> f64, slope: fn(f64) -> f64, sharp: f64) {
    for schedule in schedules() {
        let outcome = execute(&elementwise(body), x, &schedule);
        let (values, slopes, singles) = (outcome.values(), outcome.slopes(), outcome.singles());
        for (lane, &x) in x.iter().enumerate().take(THREADS as usize) {
            let x = f64::from(x);
            let Exact { value, radius, uncertainty } = values[lane];
            let Derivative { value: d, uncertainty: doubt } = slopes[lane];
            let what = format!("{body}\nat {x} under {:?}", schedule.policy);
            // What the test's own function is rounded by.
            let own = 4e-16;
            assert!(
                (value - f(x)).abs() <= uncertainty + own * f(x).abs(),
                "{what}: {value} not {}",
                f(x)
            );
            assert!(
                uncertainty <= sharp * (f(x).abs() + 1e-3),
                "{what}: uncertain by {uncertainty:e}"
            );
            assert!(
                (f64::from(singles[lane]) - value).abs() <= radius,
                "{what}: outside its radius"
            );
            let expected = slope(x);
            assert!(
                (d - expected).abs() <= doubt + own * expected.abs(),
                "{what}: slope {d} not {expected}"
            );
            assert!(
                doubt <= sharp * (expected.abs() + 1e-3),
                "{what}: slope uncertain by {doubt:e}"
            );
        }
        assert_eq!(outcome.memory.losses(), [], "{body}: nothing is lost");
    }
}

/// Numbers of both signs from 1/16 to 16.
pub(super) fn numbers() -> Vec<f32> {
    let size = |i: u32| 2.0_f32.powf(i as f32 / 4.0 - 4.0) * 1.000_123;
    (0..THREADS).map(|i| if i % 2 == 0 { size(i) } else { -size(i) }).collect()
}

pub(super) fn positive() -> Vec<f32> {
    numbers().into_iter().map(f32::abs).collect()
}
