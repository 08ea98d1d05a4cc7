//! Comparisons of integers, as few as they can all be said in: equal, and less.

use super::super::super::ir::{Comparison, Setp};
use super::super::transfer::{self, Known};
use super::{Expression, Id, Named, Values};

impl Values<'_> {
    /// A comparison of integers, as one of the two that all can be said in.
    pub(super) fn compare(&mut self, setp: &Setp) -> Option<Id> {
        let (signed, a, b) = transfer::sides(setp, &Named(&self.all))?;
        let signed = signed && (a.signed().0 < 0 || b.signed().0 < 0);
        let (x, y) = (Id::from(setp.a), Id::from(setp.b));
        Some(match setp.comparison {
            Comparison::Eq => self.equal(x, y),
            Comparison::Ne => {
                let equal = self.equal(x, y);
                self.not(equal)
            }
            Comparison::Lt => self.less(signed, x, y),
            Comparison::Ge => {
                let less = self.less(signed, x, y);
                self.not(less)
            }
            Comparison::Gt => self.less(signed, y, x),
            Comparison::Le => {
                let more = self.less(signed, y, x);
                self.not(more)
            }
            _ => return None,
        })
    }

    fn equal(&mut self, x: Id, y: Id) -> Id {
        let (a, b) = (self.known(x), self.known(y));
        if x == y || a.is_apart_from(b) {
            return self.truth(x == y);
        }
        self.add(Expression::Equal(x.min(y), x.max(y)), Known::Predicate(None))
    }

    fn less(&mut self, signed: bool, x: Id, y: Id) -> Id {
        let (a, b) = (self.known(x), self.known(y));
        if x == y {
            return self.truth(false);
        }
        let decided = if signed {
            let ((a_least, a_largest), (b_least, b_largest)) = (a.signed(), b.signed());
            (a_largest < b_least, a_least >= b_largest)
        } else {
            (a.largest < b.least, a.least >= b.largest)
        };
        match decided {
            (true, _) => return self.truth(true),
            (_, true) => return self.truth(false),
            (false, false) => {}
        }
        // Against a constant next to an end of what is known: one number of all.
        if !signed {
            match (a.value(), b.value()) {
                (None, Some(most)) if most == a.least + 1 => {
                    let least = self.constant(a.least, a.width);
                    return self.equal(x, least);
                }
                (None, Some(most)) if most == a.largest => {
                    let equal = self.equal(x, y);
                    return self.not(equal);
                }
                (Some(least), None) if least == b.least => {
                    let equal = self.equal(x, y);
                    return self.not(equal);
                }
                (Some(least), None) if least + 1 == b.largest => {
                    let largest = self.constant(b.largest, b.width);
                    return self.equal(y, largest);
                }
                // A constant below stands for x > constant.
                (Some(least), None) => {
                    let next = self.constant(least + 1, a.width);
                    let less = self
                        .add(Expression::Less { signed, a: y, b: next }, Known::Predicate(None));
                    return self.not(less);
                }
                _ => {}
            }
        }
        // Numbers that are never equal: the one is less, or the other.
        if a.is_apart_from(b) && x > y {
            let more = self.add(Expression::Less { signed, a: y, b: x }, Known::Predicate(None));
            return self.not(more);
        }
        self.add(Expression::Less { signed, a: x, b: y }, Known::Predicate(None))
    }
}
