//! How values without a form of their own in JSON are written: exactly what was written is read.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The shortest decimal text that is read as the same f64; JSON has no infinities.
fn text(x: f64) -> String {
    format!("{x:e}")
}

fn parse<E: serde::de::Error>(text: &str) -> Result<f64, E> {
    text.parse().map_err(|_| E::custom(format!("'{text}' is no number")))
}

/// An f64 as text.
pub mod number {
    use super::*;

    /// Writes one.
    ///
    /// # Errors
    /// The writer's.
    pub fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
        text(*x).serialize(to)
    }

    /// Reads one.
    ///
    /// # Errors
    /// That it is no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        parse(&String::deserialize(from)?)
    }
}

/// An f64 that may be missing.
pub mod furthest {
    use super::*;

    /// Writes one.
    ///
    /// # Errors
    /// The writer's.
    pub fn serialize<S: Serializer>(x: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        x.map(text).serialize(to)
    }

    /// Reads one.
    ///
    /// # Errors
    /// That it is no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Option::<String>::deserialize(from)?.map(|text| parse(&text)).transpose()
    }
}

/// A sum's number of terms and their magnitude.
pub mod sum {
    use super::*;

    /// Writes one.
    ///
    /// # Errors
    /// The writer's.
    pub fn serialize<S: Serializer>(sum: &Option<(u64, f64)>, to: S) -> Result<S::Ok, S::Error> {
        sum.map(|(terms, magnitude)| (terms, text(magnitude))).serialize(to)
    }

    /// Reads one.
    ///
    /// # Errors
    /// That the magnitude is no number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(u64, f64)>, D::Error> {
        let sum = Option::<(u64, String)>::deserialize(from)?;
        sum.map(|(terms, text)| Ok((terms, parse(&text)?))).transpose()
    }
}

/// A map whose keys are no texts, as pairs in the order of keys.
pub mod pairs {
    use super::*;
    use std::collections::BTreeMap;

    /// Writes one.
    ///
    /// # Errors
    /// The writer's.
    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    /// Reads one.
    ///
    /// # Errors
    /// That a key stands twice.
    pub fn deserialize<'de, K, V, D>(from: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(from)?;
        let count = pairs.len();
        let map: BTreeMap<K, V> = pairs.into_iter().collect();
        if map.len() == count { Ok(map) } else { Err(D::Error::custom("a key stands twice")) }
    }
}
