//! What may be asked of programs.

use crate::gradcheck::Judged;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether a backward kernel returns the derivatives of a forward kernel.
    Gradient,
    /// Whether two programs compute the same.
    Equal,
    /// How far a program is from its own exact values.
    Accuracy,
}

impl Question {
    const ALL: [Self; 3] = [Self::Gradient, Self::Equal, Self::Accuracy];

    /// That of a command.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.name() == name)
    }

    /// Its command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gradient => "gradcheck",
            Self::Equal => "compare",
            Self::Accuracy => "accuracy",
        }
    }

    /// What the elements of its arrays are.
    pub(super) fn element(self) -> &'static str {
        match self {
            Self::Gradient => "derivative",
            Self::Equal | Self::Accuracy => "element",
        }
    }

    /// Whether no output depends on what this is the gradient of.
    pub(super) fn is_constant(self, judged: &Judged) -> bool {
        self == Self::Gradient && judged.compared > 0 && judged.zeros == judged.compared
    }
}
