//! Memory of tapes that are gone, for the next ones on the same thread: a page that the system hands out anew
//! costs more than all that a tape writes into it.

use std::cell::RefCell;
use std::thread::LocalKey;

/// What a thread keeps at most of each kind, in bytes.
const MOST: usize = 64 << 20;

/// Arrays that nobody uses: empty, with room.
type Kept<T> = RefCell<Vec<Vec<T>>>;

thread_local! {
    static F64: Kept<f64> = const { RefCell::new(Vec::new()) };
    static F32: Kept<f32> = const { RefCell::new(Vec::new()) };
}

/// An empty array of f64 with room for so many.
pub(super) fn doubles(count: usize) -> Vec<f64> {
    take(&F64, count)
}

/// An empty array of f32 with room for so many.
pub(super) fn singles(count: usize) -> Vec<f32> {
    take(&F32, count)
}

/// Keeps an array of f64 for later.
pub(super) fn keep_doubles(one: &mut Vec<f64>) {
    keep(&F64, std::mem::take(one));
}

/// Keeps an array of f32 for later.
pub(super) fn keep_singles(one: &mut Vec<f32>) {
    keep(&F32, std::mem::take(one));
}

fn take<T>(kept: &'static LocalKey<Kept<T>>, count: usize) -> Vec<T> {
    let fits = |one: &Vec<T>| one.capacity() >= count && one.capacity() / 2 <= count;
    let found = kept.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        kept.iter().rposition(fits).map(|at| kept.swap_remove(at))
    });
    found.ok().flatten().unwrap_or_else(|| Vec::with_capacity(count))
}

fn keep<T>(kept: &'static LocalKey<Kept<T>>, mut one: Vec<T>) {
    one.clear();
    // A thread that is ending keeps nothing.
    let _ = kept.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let room = kept.iter().map(Vec::capacity).sum::<usize>() + one.capacity();
        if room * size_of::<T>() <= MOST {
            kept.push(one);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_comes_back_empty() {
        let mut one = doubles(1000);
        one.extend([1.0; 1000]);
        let at = one.as_ptr();
        keep_doubles(&mut one);
        let other = doubles(900);
        assert_eq!(other.as_ptr(), at, "the same memory");
        assert!(other.is_empty() && other.capacity() >= 900, "with room");
        let another = doubles(900);
        assert_ne!(another.as_ptr(), at, "it has a user");
    }

    #[test]
    fn a_thread_keeps_no_more_than_it_may() {
        for _ in 0..40 {
            keep_singles(&mut Vec::with_capacity(1 << 20));
        }
        let kept = F32.with_borrow(|kept| kept.iter().map(Vec::capacity).sum::<usize>());
        let bytes = kept * size_of::<f32>();
        assert!(bytes <= MOST && bytes > MOST - (4 << 20), "{bytes} bytes of 160 MiB");
    }
}
