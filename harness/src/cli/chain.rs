//! `--chain`: whose forward pass a backward stage goes on from.

use clap::{Args, ValueEnum};

use splatcheck_judge::campaign::Chain;

/// Whose forward outputs backward stages are given, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ChainName {
    /// The oracle's, in f32: the same for every engine
    #[default]
    Oracle,
    /// The engine's own, once they agree
    Own,
}

/// Whose forward pass backward stages go on from, as typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ChainArgs {
    /// Whose image, final transmittances and last contributors the backward rasterization is given. 'own'
    /// finds a backward pass that decides a threshold differently from its own forward pass
    #[arg(long, value_name = "WHOSE", default_value = "oracle")]
    pub chain: ChainName,
}

impl ChainArgs {
    /// As a campaign takes it.
    #[must_use]
    pub fn resolve(self) -> Chain {
        match self.chain {
            ChainName::Oracle => Chain::Oracle,
            ChainName::Own => Chain::Own,
        }
    }
}
