//! Faults that any output may have, whatever it means: changes of the right numbers.

use super::measured::{May, Measured, Part};

/// What a hypothesis says.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Whole outputs or columns are changed.
    Change(Change),
    /// A fault.
    Fault {
        /// As a sentence, as it shows in a case.
        words: String,
        /// What is the same in every case.
        fault: String,
    },
}

impl What {
    /// A fault that has the same words in every case.
    pub(super) fn fault_of(words: &str) -> Self {
        Self::Fault { words: words.to_owned(), fault: words.to_owned() }
    }

    /// What is the same in every case.
    pub(super) fn fault(&self) -> String {
        match self {
            Self::Change(change) => format!("{change:?}"),
            Self::Fault { fault, .. } => fault.clone(),
        }
    }

    /// What is true of another case as well.
    pub(super) fn generalize(&mut self, other: &Self) {
        match (self, other) {
            (Self::Fault { words, fault }, Self::Fault { words: theirs, .. })
                if words != theirs =>
            {
                words.clone_from(fault);
            }
            (Self::Fault { .. } | Self::Change(_), _) => {}
        }
    }
}

/// A change of a whole output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing is there.
    Zero,
    /// Twice the number.
    Twice,
    /// Half of it.
    Half,
    /// The other sign.
    Negated,
    /// Two columns in each other's place.
    Exchanged(usize, usize),
    /// Every row's first number last, as w x y z is taken for x y z w.
    FirstLast,
    /// Every row's last number first.
    LastFirst,
    /// Every row, which is a square matrix, with rows and columns exchanged.
    Transposed,
    /// Column after column where row after row is expected.
    Planar,
    /// The last two dimensions but the columns exchanged: an image by columns.
    Sideways,
    /// Every row one later.
    RowLater,
    /// Every row one earlier.
    RowEarlier,
}

/// Columns that may be exchanged: those of vectors; more would be chance.
const MOST_EXCHANGED: usize = 4;

impl Change {
    /// All that some output may have, the simplest first.
    fn of(measured: &Measured) -> Vec<Self> {
        let mut all = vec![Self::Zero, Self::Twice, Self::Half, Self::Negated];
        let most = measured.parts.iter().map(|part| part.columns);
        let most = most.filter(|&columns| columns <= MOST_EXCHANGED).max().unwrap_or(0);
        for a in 0..most {
            all.extend((a + 1..most).map(|b| Self::Exchanged(a, b)));
        }
        all.extend([Self::FirstLast, Self::LastFirst, Self::Transposed, Self::Planar]);
        all.extend([Self::Sideways, Self::RowLater, Self::RowEarlier]);
        all
    }

    /// The changed numbers of an output; `None` where it cannot be changed so.
    fn applied(self, part: &Part) -> Option<Vec<May>> {
        let (columns, count) = (part.columns, part.right.len());
        let rows = count / columns;
        let each = |f: &dyn Fn(&May) -> May| Some(part.right.iter().map(f).collect());
        let moved = |from: &dyn Fn(usize) -> usize| {
            Some((0..count).map(|place| part.right[from(place)].clone()).collect())
        };
        // Of a vector's own columns.
        let within = |from: &dyn Fn(usize) -> usize| {
            moved(&|place| place - place % columns + from(place % columns))
        };
        match self {
            Self::Zero => each(&|_| May::ZERO),
            Self::Twice => each(&|may| may.times(2.0, may.of_twice)),
            Self::Half => each(&|may| may.times(0.5, 0.5 * may.radius)),
            Self::Negated => each(&|may| may.times(-1.0, may.radius)),
            Self::Exchanged(a, b) if b < columns && columns <= MOST_EXCHANGED => {
                within(&|column| match column {
                    _ if column == a => b,
                    _ if column == b => a,
                    _ => column,
                })
            }
            Self::FirstLast if columns == 4 => within(&|column| (column + 1) % 4),
            Self::LastFirst if columns == 4 => within(&|column| (column + 3) % 4),
            Self::Transposed => {
                let side = columns.isqrt();
                let square = side > 1 && side * side == columns && part.shape.len() > 2;
                let turned = |at: usize| at % side * side + at / side;
                square.then(|| within(&turned)).flatten()
            }
            Self::Planar if columns > 1 && rows > 1 => {
                moved(&|place| place % rows * columns + place / rows)
            }
            Self::Sideways => {
                let below = part.shape.len() - usize::from(columns > 1);
                let [.., height, width] = part.shape[..below] else { return None };
                let fits = height > 1 && width > 1 && height * width * columns == count;
                let from = |place: usize| {
                    let pixel = place / columns;
                    (pixel % height * width + pixel / height) * columns + place % columns
                };
                fits.then(|| moved(&from)).flatten()
            }
            Self::RowLater if rows > 1 => moved(&|place| (place + count - columns) % count),
            Self::RowEarlier if rows > 1 => moved(&|place| (place + columns) % count),
            Self::Exchanged(..)
            | Self::FirstLast
            | Self::LastFirst
            | Self::Planar
            | Self::RowLater
            | Self::RowEarlier => None,
        }
    }

    /// What is wrong with these outputs or columns.
    pub(super) fn words(self, subject: &str) -> String {
        match self {
            Self::Zero => format!("{subject}: 0, as if nothing was written or added there"),
            Self::Twice => format!(
                "{subject}: twice what it should be, as if everything was added twice, or to what a \
                 previous run had left there"
            ),
            Self::Half => format!("{subject}: half of what it should be"),
            Self::Negated => format!("{subject}: the sign is flipped"),
            Self::Exchanged(a, b) => format!("{subject}: columns {a} and {b} are exchanged"),
            Self::FirstLast => {
                format!("{subject}: the first column stands last (w x y z in the order x y z w)")
            }
            Self::LastFirst => {
                format!("{subject}: the last column stands first (x y z w in the order w x y z)")
            }
            Self::Transposed => format!("{subject}: every matrix is transposed"),
            Self::Planar => format!(
                "{subject}: column after column in memory (planar) where row after row is expected"
            ),
            Self::Sideways => {
                format!("{subject}: transposed, x for y (column after column in memory)")
            }
            Self::RowLater => format!("{subject}: every row stands one row too far down"),
            Self::RowEarlier => format!("{subject}: every row stands one row too far up"),
        }
    }

    /// Whether it moves numbers about, so that columns of it by themselves mean nothing.
    pub(super) fn moves(self) -> bool {
        match self {
            Self::Zero | Self::Twice | Self::Half | Self::Negated => false,
            Self::Exchanged(..)
            | Self::FirstLast
            | Self::LastFirst
            | Self::Transposed
            | Self::Planar
            | Self::Sideways
            | Self::RowLater
            | Self::RowEarlier => true,
        }
    }
}

impl May {
    fn times(&self, factor: f64, radius: f64) -> Self {
        // Of integers that rounding leaves open only the value is followed.
        Self { value: self.value * factor, radius, of_twice: 2.0 * radius, others: Vec::new() }
    }
}

/// What the outputs may be by each change.
pub(super) fn all(measured: &Measured) -> Vec<(What, Vec<Option<Vec<May>>>)> {
    let applied = |change: Change| {
        let may = measured.parts.iter().map(|part| change.applied(part)).collect();
        (What::Change(change), may)
    };
    Change::of(measured).into_iter().map(applied).collect()
}
