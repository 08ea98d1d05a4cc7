//! One thing or a list of such in a manifest.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One or several.
pub(super) enum Some<T> {
    One(T),
    All(Vec<T>),
}

/// By what stands there, so that an error is that of a launch or a name, at its own line.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Some<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Some<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a table, or a list of such")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Some<T>, E> {
                T::deserialize(text.into_deserializer()).map(Some::One)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Some<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Some::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Some<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Some::All)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<T> Some<T> {
    pub(super) fn all(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::All(all) => all,
        }
    }
}
