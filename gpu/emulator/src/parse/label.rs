//! Labels, and branches to one of a list.
//!
//! A label is known in its braces alone (PTX ISA, "Labels"), so that inline assembly may be there twice. Where braces
//! close, the branches in them are given the places of their labels.

use super::{Class, Function, Operand, Parsed, Parser, Register, Statement, Token};

/// The labels of the braces around, and where the statements in these begin.
pub(super) struct Outer<'a> {
    labels: std::collections::HashMap<&'a str, u32>,
    begin: usize,
}

impl<'a> Parser<'_, 'a> {
    /// Inner braces open.
    pub(super) fn open_labels(function: &mut Function<'a>) -> Outer<'a> {
        Outer { labels: std::mem::take(&mut function.labels), begin: function.body.len() }
    }

    /// They close.
    pub(super) fn close_labels(&mut self, function: &mut Function<'a>, outer: Outer<'a>) {
        let inner = std::mem::replace(&mut function.labels, outer.labels);
        if inner.is_empty() {
            return;
        }
        let branches = function.body[outer.begin..].iter().filter(|s| s.opcode.starts_with("bra"));
        for statement in branches {
            for operand in &mut self.operands[statement.operands.clone()] {
                if let Operand::Name(name) = operand
                    && let Some(&place) = inner.get(name)
                {
                    *operand = Operand::Label(place);
                }
            }
        }
    }

    pub(super) fn is_label(&self) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|t| t.token == Token::Mark(':'))
    }

    /// `name:`, and `name: .branchtargets label, label;`.
    pub(super) fn label(&mut self, name: &'a str, function: &mut Function<'a>) -> Parsed<()> {
        if self.tokens.get(self.at + 2).is_some_and(|t| t.token == Token::Word(".branchtargets")) {
            self.at += 3;
            let mut targets = Vec::new();
            loop {
                targets.push(self.word()?);
                if !self.eat(',') {
                    break;
                }
            }
            self.targets.insert(name, targets);
            return self.expect(';');
        }
        let next = u32::try_from(function.body.len()).unwrap_or(u32::MAX);
        if function.labels.insert(name, next).is_some() {
            return Err(self.error(format!("label '{name}' stands twice")));
        }
        self.at += 2;
        Ok(())
    }

    /// `brx.idx index, list;` as a comparison and a branch for each label. An index beyond the list, of which PTX says
    /// nothing, is a misuse.
    pub(super) fn branch_by_index(
        &mut self,
        statement: &Statement<'a>,
        function: &mut Function<'a>,
    ) -> Parsed<()> {
        let Statement { line, guard, opcode, operands } = statement;
        let branch = match *opcode {
            "brx.idx" => "bra",
            "brx.idx.uni" => "bra.uni",
            _ => return Err(super::Problem::outside(*line, opcode)),
        };
        let [index, Operand::Name(list)] = &self.operands[operands.clone()] else {
            return Err(self.error("expected an index and a list of labels"));
        };
        let (index, targets) = (index.clone(), self.targets.get(list).cloned());
        let targets = targets.ok_or_else(|| {
            self.error(format!("expected the label of .branchtargets, found '{list}'"))
        })?;
        let count = i64::try_from(targets.len()).unwrap_or(i64::MAX);
        let is_one = self
            .scopes
            .unnamed(Class::Predicate, 1)
            .ok_or_else(|| self.error("too many registers"))?;
        let is_one = Register { class: Class::Predicate, slot: is_one };
        let mut push = |guard, opcode, all: Vec<Operand<'a>>| {
            let first = self.operands.len();
            self.operands.extend(all);
            let operands = first..self.operands.len();
            function.body.push(Statement { line: *line, guard, opcode, operands });
        };
        push(*guard, "trap.index.u32", vec![index.clone(), Operand::Integer(count)]);
        for (at, target) in (0..count).zip(&targets) {
            let target = Operand::Name(target);
            if at + 1 == count {
                push(*guard, branch, vec![target]);
                break;
            }
            let mut compared = vec![Operand::Register(is_one), index.clone(), Operand::Integer(at)];
            // Of lanes that the guard leaves out nothing is known.
            let comparison = match guard {
                None => "setp.eq.u32",
                Some((register, negated)) => {
                    compared.push(match negated {
                        true => Operand::Not(*register),
                        false => Operand::Register(*register),
                    });
                    "setp.eq.and.u32"
                }
            };
            push(None, comparison, compared);
            push(Some((is_one, false)), branch, vec![target]);
        }
        Ok(())
    }
}
