//! Instructions that the lanes named in a mask execute together.
//!
//! Lanes meet by the instruction's kind and the mask, wherever in the program they stand (PTX ISA,
//! "shfl.sync": "all non-exited threads corresponding to membermask have executed shfl.sync with the same
//! qualifiers and same membermask value"; "match.sync", "redux.sync", "vote.sync" and "bar.warp.sync"
//! likewise). Lanes that have exited are not waited for. None of these orders memory except
//! bar.warp.sync.

mod answers;

use super::fault::{FaultKind, Trouble};
use super::ir::{File, Kernel, Place, SINK, ShuffleMode, Slot, Sync, SyncKind, SyncOperands};
use super::lanes::{Active, Bits, LANES};
use super::registers::Registers;
use super::shadow::journal::Journal;
use super::warp::{Fragment, State, Undefined, Warp};
use answers::{Part, ballot, elect, gather, match_all, match_any, redux, vote, words_beside};

type Outcome<T> = Result<T, Box<Trouble>>;

/// Executes `sync` at `pc` at once if all active lanes give one mask and are all it waits for:
/// `every_lane` also for those that have exited.
#[inline(always)]
pub(super) fn at_once(
    warp: &mut Warp,
    sync: &Sync,
    pc: u32,
    (every_lane, journal): (bool, Option<&mut Journal>),
) -> Outcome<bool> {
    let lanes = warp.on.bits;
    let (members, uniform) = uniform(&warp.registers, &warp.on, sync.members);
    if warp.registers.words.poison(sync.members) & lanes != 0 {
        return Err(Trouble::new(FaultKind::PoisonControl, lanes));
    }
    let awaited = if every_lane { warp.existing } else { warp.live() };
    if !uniform || members & awaited != lanes {
        return Ok(false);
    }
    let operands = sync.operands;
    if let SyncKind::Shuffle(mode) = sync.kind
        && usual(warp, mode, &operands)
    {
        return Ok(true);
    }
    perform(warp, sync.kind, members, (&[Part { operands, lanes, pc }], journal))?;
    Ok(true)
}

/// What the first active lane has in a slot, and whether all active lanes have the same.
#[inline(always)]
fn uniform(r: &Registers, on: &Active, slot: Slot) -> (u32, bool) {
    if let Some(constant) = r.words.constant(slot) {
        return (constant, true);
    }
    let all = r.words.get(slot);
    let first = all[on.bits.trailing_zeros() as usize & 31];
    let mut differ = 0;
    for (value, active) in all.iter().zip(&on.mask) {
        differ |= (value ^ first) & active;
    }
    (first, differ == 0)
}

/// Executes the shuffles that kernels are full of: from one lane, or of the whole warp by the same
/// power of two in all lanes. Their permutations are known when this is compiled. False for others
/// and where a source is poison.
#[inline(always)]
fn usual(warp: &mut Warp, mode: ShuffleMode, operands: &SyncOperands) -> bool {
    let &SyncOperands { d, p, sources: [a, b, c], .. } = operands;
    let (r, lanes) = (&mut warp.registers, warp.on.bits);
    let poison = r.words.poison(a) | r.words.poison(b) | r.words.poison(c);
    let (by, same) = uniform(r, &warp.on, b);
    let (clamp, clamped) = uniform(r, &warp.on, c);
    let by = by & 31;
    let present = match mode {
        ShuffleMode::Index => lanes >> by & 1 == 1,
        ShuffleMode::Up | ShuffleMode::Down | ShuffleMode::Butterfly => lanes == u32::MAX,
    };
    if poison & lanes != 0 || !same || !clamped || clamp & 0x1f1f != 31 || !present {
        return false;
    }
    let followed = r.beside.as_ref().map(|beside| beside.gather(a, r.words.get(a)));
    let a = r.words.get(a);
    let out = match (mode, by) {
        (ShuffleMode::Index, by) => [a[by as usize]; LANES],
        (ShuffleMode::Butterfly, 1) => permuted(a, |lane| lane ^ 1),
        (ShuffleMode::Butterfly, 2) => permuted(a, |lane| lane ^ 2),
        (ShuffleMode::Butterfly, 4) => permuted(a, |lane| lane ^ 4),
        (ShuffleMode::Butterfly, 8) => permuted(a, |lane| lane ^ 8),
        (ShuffleMode::Butterfly, 16) => permuted(a, |lane| lane ^ 16),
        (ShuffleMode::Butterfly | ShuffleMode::Up | ShuffleMode::Down, _) => return false,
    };
    if d != SINK {
        r.words.give(d, &warp.on, &out, 0);
        if let (Some(beside), Some(all)) = (&mut r.beside, followed) {
            let source =
                |lane: usize| if mode == ShuffleMode::Index { 0 } else { lane } ^ by as usize;
            beside.permute(d, &all, lanes, source);
        }
    }
    if p != SINK {
        r.set_predicate(p, lanes, u32::MAX, 0);
    }
    true
}

/// Lanes have exited: those that waited for them alone go on.
pub(super) fn exit(
    warp: &mut Warp,
    kernel: &Kernel,
    mut journal: Option<&mut Journal>,
) -> Outcome<()> {
    let waits = |fragment: &Fragment| match fragment.state {
        State::AtSync { members } if members & warp.exited != 0 => {
            Some((kernel.code[fragment.pc as usize].op.sync()?.kind, members, fragment.pc))
        }
        State::AtSync { .. } | State::Ready | State::AtBarrier => None,
    };
    let waiting: Vec<_> = warp.fragments.iter().filter_map(waits).collect();
    waiting.into_iter().try_for_each(|(kind, members, pc)| {
        complete(warp, kind, members, (kernel, pc, journal.as_deref_mut()))
    })
}

/// `lanes` arrive at `sync` at `pc`, parted by mask; whoever is complete goes on.
pub(super) fn arrive(
    warp: &mut Warp,
    lanes: u32,
    pc: u32,
    sync: &Sync,
    (kernel, mut journal): (&Kernel, Option<&mut Journal>),
) -> Outcome<()> {
    let masks = *warp.registers.words.get(sync.members);
    let mut rest = lanes;
    while rest != 0 {
        let members = masks[rest.trailing_zeros() as usize];
        let same = Bits(rest).filter(|&l| masks[l] == members).fold(0, |all, l| all | 1 << l);
        rest &= !same;
        if same & !members != 0 {
            return Err(Trouble::new(FaultKind::NotInOwnMask { members }, same & !members));
        }
        warp.fragments.push(Fragment { pc, lanes: same, state: State::AtSync { members } });
        complete(warp, sync.kind, members, (kernel, pc, journal.as_deref_mut()))?;
    }
    Ok(())
}

/// Executes the instruction of `kind` for `members` if all of them that have not exited have arrived: at `pc`,
/// where the kernel wants every lane to reach the same.
fn complete(
    warp: &mut Warp,
    kind: SyncKind,
    members: u32,
    (kernel, pc, journal): (&Kernel, u32, Option<&mut Journal>),
) -> Outcome<()> {
    let missing = members & warp.existing & warp.exited;
    if kernel.uniform && missing != 0 {
        return Err(Trouble::new(FaultKind::MissingLanes { missing }, members & warp.live()));
    }
    let meets = |fragment: &Fragment| {
        let sync = kernel.code[fragment.pc as usize].op.sync()?;
        let here = fragment.pc == pc || !kernel.uniform;
        let waits = here && fragment.state == (State::AtSync { members });
        (waits && sync.kind == kind).then_some(sync.operands)
    };
    let parts: Vec<Part> = warp
        .fragments
        .iter()
        .filter_map(|f| meets(f).map(|operands| Part { operands, lanes: f.lanes, pc: f.pc }))
        .collect();
    let arrived = parts.iter().fold(0, |all, part| all | part.lanes);
    if arrived == 0 || arrived != members & warp.live() {
        return Ok(());
    }
    perform(warp, kind, members, (&parts, journal))?;
    for fragment in &mut warp.fragments {
        if meets(fragment).is_some() {
            fragment.pc += 1;
            fragment.state = State::Ready;
        }
    }
    Ok(())
}

/// Executes an instruction for lanes that have met, which are `members` that have not exited.
#[inline(always)]
fn perform(
    warp: &mut Warp,
    kind: SyncKind,
    members: u32,
    (parts, journal): (&[Part], Option<&mut Journal>),
) -> Outcome<()> {
    let all = parts.iter().fold(0, |all, part| all | part.lanes);
    let r = &mut warp.registers;
    match kind {
        SyncKind::Barrier => warp.order.synchronize(members & warp.existing),
        SyncKind::Shuffle(mode) => {
            let sources = shuffle(r, parts, all, mode)?;
            if sources != 0 {
                let (pc, exited) = (parts[0].pc, sources & members & warp.exited);
                warp.rare.undefined = Some(Undefined { pc, sources, exited, members: all });
            }
        }
        SyncKind::Vote(mode) => vote(r, parts, all, mode),
        SyncKind::Ballot => ballot(r, parts, all),
        SyncKind::MatchAny { b64 } => match_any(r, parts, all, b64),
        SyncKind::MatchAll { b64 } => match_all(r, parts, all, b64),
        SyncKind::Redux(op) => redux(r, parts, all, (op, journal)),
        SyncKind::Elect => elect(r, parts, all),
    }
    Ok(())
}

/// Gives each lane what its source brings; what comes from a lane that does not take part is poison, and
/// these lanes are the result ("results are undefined if a thread sources a register from an inactive
/// thread or a thread that is not in membermask").
#[inline(always)]
fn shuffle(r: &mut Registers, parts: &[Part], all: u32, mode: ShuffleMode) -> Outcome<u32> {
    let (a, poison) = gather(r, parts, 0);
    let (b, poison_b) = gather(r, parts, 1);
    let (c, poison_c) = gather(r, parts, 2);
    if poison_b | poison_c != 0 {
        return Err(Trouble::new(FaultKind::PoisonControl, poison_b | poison_c));
    }
    let (sources, valid) = sources(mode, &b, &c);
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = a[sources[lane] as usize & 31];
    }
    let (absent, mut from_poison) = if all == u32::MAX { (0, 0) } else { absent(all, &sources) };
    if poison != 0 {
        for (lane, source) in sources.iter().enumerate() {
            from_poison |= (poison >> source & 1) << lane;
        }
    }
    let mut in_range = 0;
    for (lane, valid) in valid.iter().enumerate() {
        in_range |= valid << lane;
    }
    let followed = r.beside.as_ref().map(|beside| words_beside(beside, &a, parts));
    let undefined = (poison != 0).then(|| undefined(r, parts));
    for part in parts {
        deliver(r, part, &out, from_poison, in_range);
        if let Some(undefined) = &undefined {
            // What a lane that does not take part brings is poison as a whole.
            let bits = |lane: usize| match all >> (sources[lane] & 31) & 1 {
                0 => u64::from(u32::MAX),
                _ => undefined[sources[lane] as usize & 31],
            };
            let place = Place { file: File::Word, slot: part.operands.d };
            r.mark(place, part.lanes, &std::array::from_fn(bits));
        }
        if let (Some(beside), Some(all)) = (&mut r.beside, &followed) {
            beside.permute(part.operands.d, all, part.lanes, |lane| sources[lane] as usize);
        }
    }
    Ok(absent)
}

/// The bits that are poison of what each lane brings to a shuffle.
#[cold]
#[inline(never)]
fn undefined(r: &Registers, parts: &[Part]) -> [u64; LANES] {
    let mut all = [0; LANES];
    for part in parts {
        let own = r.undefined(Place { file: File::Word, slot: part.operands.sources[0] });
        Bits(part.lanes).for_each(|lane| all[lane] = own[lane]);
    }
    all
}

#[inline(always)]
fn deliver(r: &mut Registers, part: &Part, out: &[u32; LANES], poison: u32, in_range: u32) {
    let SyncOperands { d, p, .. } = part.operands;
    if d != SINK {
        r.words.give(d, &Active::new(part.lanes), out, poison);
    }
    if p != SINK {
        r.set_predicate(p, part.lanes, in_range, 0);
    }
}

#[inline(always)]
fn permuted(a: &[u32; LANES], from: impl Fn(usize) -> usize) -> [u32; LANES] {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = a[from(lane)];
    }
    out
}

/// The lanes outside `all` that lanes of `all` read, and those that read them.
#[inline(always)]
fn absent(all: u32, sources: &[u32; LANES]) -> (u32, u32) {
    let (mut absent, mut lanes) = (0, 0);
    for (lane, source) in sources.iter().enumerate() {
        let missing = all >> lane & !(all >> source) & 1;
        absent |= missing << source;
        lanes |= missing << lane;
    }
    (absent, lanes)
}

/// The lane that each lane reads, and 1 where it is in range (PTX ISA, "shfl.sync", semantics).
#[inline(always)]
fn sources(mode: ShuffleMode, b: &[u32; LANES], c: &[u32; LANES]) -> ([u32; LANES], [u32; LANES]) {
    match mode {
        ShuffleMode::Up => each_source(b, c, |lane, b, max, _| {
            let source = lane.wrapping_sub(b);
            (source, source.cast_signed() >= max.cast_signed())
        }),
        ShuffleMode::Down => each_source(b, c, |lane, b, max, _| (lane + b, lane + b <= max)),
        ShuffleMode::Butterfly => each_source(b, c, |lane, b, max, _| (lane ^ b, lane ^ b <= max)),
        ShuffleMode::Index => each_source(b, c, |_, _, max, source| (source, source <= max)),
    }
}

/// `f` gets the lane, its offset, the largest lane it may read and the lane an index names.
#[inline(always)]
fn each_source(
    b: &[u32; LANES],
    c: &[u32; LANES],
    f: impl Fn(u32, u32, u32, u32) -> (u32, bool),
) -> ([u32; LANES], [u32; LANES]) {
    let (mut sources, mut valid) = ([0; LANES], [0; LANES]);
    for (lane, i) in (0_u32..).zip(0..LANES) {
        let (clamp, segment) = (c[i] & 31, c[i] >> 8 & 31);
        let (min, max) = (lane & segment, lane & segment | clamp & !segment);
        let (source, in_range) = f(lane, b[i] & 31, max, min | b[i] & 31 & !segment);
        sources[i] = if in_range { source & 31 } else { lane };
        valid[i] = u32::from(in_range);
    }
    (sources, valid)
}
