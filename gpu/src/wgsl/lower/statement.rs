//! Statements: jumps for `if`, `switch` and `loop`, and functions in place of their calls.

use naga::{
    Barrier, Block, Expression, Function, Handle, Span, Statement, SwitchCase, SwitchValue,
};

use super::code::{Label, Scalar};
use super::{Evaluated, Exits, Frame, Lower, Lowered};

/// Bytes of text from which a kernel is given up: its functions call each other many times over.
const MOST_TEXT: usize = 1 << 26;

impl<'m> Lower<'m> {
    /// Statements one after the other; false if their end is not reached.
    pub(super) fn block(&mut self, frame: &mut Frame<'m>, block: &'m Block) -> Lowered<bool> {
        for (statement, span) in block.span_iter() {
            if !self.statement(frame, statement, *span)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn statement(
        &mut self,
        frame: &mut Frame<'m>,
        statement: &'m Statement,
        span: Span,
    ) -> Lowered<bool> {
        self.code.at = self.lines.at(span).or(self.code.at);
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    // A place evaluates anew each time that it comes by.
                    frame.values.remove(&handle);
                    self.evaluated(frame, handle)?;
                }
            }
            Statement::Block(block) => return self.block(frame, block),
            Statement::If { condition, accept, reject } => {
                let condition = self.scalar(frame, *condition)?;
                return self.branch(frame, condition, [accept, reject]);
            }
            Statement::Switch { selector, cases } => {
                let selector = self.scalar(frame, *selector)?;
                return self.switch(frame, selector, cases);
            }
            Statement::Loop { body, continuing, break_if } => {
                return self.repeat(frame, body, continuing, *break_if);
            }
            Statement::Break => {
                let exits = frame.exits.last().ok_or("a break outside of a loop")?;
                self.code.jump(exits.end);
                return Ok(false);
            }
            Statement::Continue => {
                let next = frame.exits.iter().rev().find_map(|exits| exits.next);
                self.code.jump(next.ok_or("a continue outside of a loop")?);
                return Ok(false);
            }
            Statement::Return { value } => {
                self.return_from(frame, *value)?;
                return Ok(false);
            }
            Statement::ControlBarrier(which) => self.barrier(*which)?,
            Statement::MemoryBarrier(_) => self.code.line(format_args!("membar.gl")),
            Statement::Store { pointer, value } => {
                let (pointer, value) = (self.pointer(frame, *pointer)?, self.value(frame, *value)?);
                self.store(&pointer, &value)?;
            }
            Statement::Atomic { pointer, fun, value, result } => {
                self.atomic(frame, (*pointer, *value), *fun, *result)?;
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let pointer = self.pointer(frame, *pointer)?;
                self.barrier(Barrier::WORK_GROUP)?;
                let value = self.load(&pointer)?;
                self.barrier(Barrier::WORK_GROUP)?;
                frame.values.insert(*result, Evaluated::Value(value));
            }
            Statement::Call { function, arguments, result } => {
                self.call(frame, *function, arguments, *result)?;
            }
            Statement::SubgroupBallot { result, predicate } => {
                let predicate = match predicate {
                    Some(predicate) => self.scalar(frame, *predicate)?,
                    None => Scalar::Truth(true),
                };
                let ballot = self.ballot(predicate)?;
                frame.values.insert(*result, Evaluated::Value(ballot));
            }
            Statement::SubgroupGather { mode, argument, result } => {
                let value = self.gather(frame, *mode, *argument)?;
                frame.values.insert(*result, Evaluated::Value(value));
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let value = self.collective(frame, *op, *collective_op, *argument)?;
                frame.values.insert(*result, Evaluated::Value(value));
            }
            Statement::Kill => return Err("discard".to_owned()),
            Statement::ImageStore { .. } | Statement::ImageAtomic { .. } => {
                return Err("a texture".to_owned());
            }
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
                return Err("a ray query".to_owned());
            }
            Statement::CooperativeStore { .. } => return Err("a cooperative matrix".to_owned()),
        }
        Ok(true)
    }

    fn barrier(&mut self, which: Barrier) -> Lowered<()> {
        if which == Barrier::SUB_GROUP {
            return self.subgroup_barrier();
        }
        self.code.line(format_args!("bar.sync 0"));
        Ok(())
    }

    /// `if`. What is known behind it is what both ways know that lead there.
    fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Scalar,
        [accept, reject]: [&'m Block; 2],
    ) -> Lowered<bool> {
        match condition {
            Scalar::Truth(true) => return self.block(frame, accept),
            Scalar::Truth(false) => return self.block(frame, reject),
            Scalar::Word(_) | Scalar::Bits(_) | Scalar::Predicate(_) => {}
        }
        for (block, other, is) in [(accept, reject, true), (reject, accept, false)] {
            if let Some(target) = target(frame, block) {
                self.code.jump_if(condition, is, target);
                return self.block(frame, other);
            }
        }
        let [otherwise, end] = [self.code.label(), self.code.label()];
        let before = self.known.clone();
        self.code.jump_if(condition, false, otherwise);
        let accepted = self.block(frame, accept)?;
        if accepted && !reject.is_empty() {
            self.code.jump(end);
        }
        let after = std::mem::replace(&mut self.known, before);
        self.code.bind(otherwise);
        let rejected = self.block(frame, reject)?;
        self.code.bind(end);
        self.known = match (accepted, rejected) {
            (true, true) => self.known.meet(&after),
            (true, false) => after,
            (false, _) => std::mem::take(&mut self.known),
        };
        Ok(accepted || rejected)
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'m>,
        selector: Scalar,
        cases: &'m [SwitchCase],
    ) -> Lowered<bool> {
        let end = self.code.label();
        let labels: Vec<Label> = cases.iter().map(|_| self.code.label()).collect();
        let mut default = end;
        for (case, &label) in cases.iter().zip(&labels) {
            let value = match case.value {
                SwitchValue::I32(value) => value.cast_unsigned(),
                SwitchValue::U32(value) => value,
                SwitchValue::Default => {
                    default = label;
                    continue;
                }
            };
            let here = self.code.test("setp.eq.u32", &[selector, Scalar::Bits(value)]);
            self.code.jump_if(here, true, label);
        }
        self.code.jump(default);
        let mut before = self.known.clone();
        before.forget_variables();
        frame.exits.push(Exits { end, next: None });
        for (case, &label) in cases.iter().zip(&labels) {
            self.code.bind(label);
            self.known = before.clone();
            if self.block(frame, &case.body)? && !case.fall_through {
                self.code.jump(end);
            }
        }
        frame.exits.pop();
        self.code.bind(end);
        self.known = before;
        Ok(true)
    }

    /// `loop`. At its begin and behind it nothing is known of variables, which the body may write.
    fn repeat(
        &mut self,
        frame: &mut Frame<'m>,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Lowered<bool> {
        let [begin, next, end] = [self.code.label(), self.code.label(), self.code.label()];
        self.known.forget_variables();
        let before = self.known.clone();
        self.code.bind(begin);
        frame.exits.push(Exits { end, next: Some(next) });
        self.block(frame, body)?;
        self.code.bind(next);
        self.known = before.clone();
        self.block(frame, continuing)?;
        match break_if {
            None => self.code.jump(begin),
            Some(condition) => match self.scalar(frame, condition)? {
                Scalar::Truth(true) => {}
                Scalar::Truth(false) => self.code.jump(begin),
                condition => self.code.jump_if(condition, false, begin),
            },
        }
        frame.exits.pop();
        self.code.bind(end);
        self.known = before;
        Ok(true)
    }

    fn return_from(
        &mut self,
        frame: &mut Frame<'m>,
        value: Option<Handle<Expression>>,
    ) -> Lowered<()> {
        let Some(end) = frame.end else {
            self.code.line(format_args!("ret"));
            return Ok(());
        };
        if let Some(value) = value {
            let value = self.value(frame, value)?;
            for (&to, &from) in frame.result.iter().zip(value.iter()) {
                self.code.copy(to, from);
            }
        }
        frame.returned = true;
        self.code.jump(end);
        Ok(())
    }

    /// A function in place of its call.
    fn call(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Lowered<()> {
        let (module, info) = (self.module, self.info);
        let function = &module.functions[handle];
        if self.code.bytes() > MOST_TEXT {
            return Err("functions that are called too many times over".to_owned());
        }
        let mut handed = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            handed.push(self.evaluated(frame, argument)?);
        }
        self.inside.push(function.name.clone().unwrap_or_default());
        let mut inner = self.frame(Some(handle), (function, &info[handle]), handed)?;
        let returned = self.returned_value(&mut inner)?;
        let value = match returned {
            Some(value) => value,
            None => self.called(&mut inner)?,
        };
        self.inside.pop();
        if let Some(result) = result {
            frame.values.insert(result, Evaluated::Value(value.into()));
        }
        Ok(())
    }

    /// The value of a function that returns at its end alone: it needs no registers of its own.
    fn returned_value(&mut self, inner: &mut Frame<'m>) -> Lowered<Option<Vec<Scalar>>> {
        let body = &inner.function.body;
        let Some((Statement::Return { value }, others)) = body.split_last() else {
            return Ok(None);
        };
        if others.iter().any(returns) {
            return Ok(None);
        }
        for (statement, span) in body.span_iter().take(others.len()) {
            self.statement(inner, statement, *span)?;
        }
        match value {
            Some(value) => Ok(Some(self.value(inner, *value)?.to_vec())),
            None => Ok(Some(Vec::new())),
        }
    }

    /// The value of a function that returns from several places.
    fn called(&mut self, inner: &mut Frame<'m>) -> Lowered<Vec<Scalar>> {
        let end = self.code.label();
        inner.end = Some(end);
        if let Some(result) = &inner.function.result {
            let ty = &self.module.types[result.ty].inner;
            let kinds = self.shapes.kinds(ty)?;
            inner.result = kinds
                .iter()
                .map(|kind| match kind {
                    super::shape::Kind::Bool => self.code.truth(),
                    _ => self.code.word(),
                })
                .collect();
        }
        let mut before = self.known.clone();
        self.block(inner, &inner.function.body)?;
        self.code.bind(end);
        if inner.returned {
            before.forget_variables();
            self.known = before;
        }
        Ok(std::mem::take(&mut inner.result))
    }
}

/// Whether a statement returns, or something in it does.
fn returns(statement: &Statement) -> bool {
    let any = |block: &Block| block.iter().any(returns);
    match statement {
        Statement::Return { .. } => true,
        Statement::Block(block) => any(block),
        Statement::If { accept, reject, .. } => any(accept) || any(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| any(&case.body)),
        Statement::Loop { body, continuing, .. } => any(body) || any(continuing),
        _ => false,
    }
}

/// Where a block goes that does nothing but go there.
fn target(frame: &Frame<'_>, block: &Block) -> Option<Label> {
    let mut statements = block.iter();
    match (statements.next(), statements.next()) {
        (Some(Statement::Break), None) => Some(frame.exits.last()?.end),
        (Some(Statement::Continue), None) => frame.exits.iter().rev().find_map(|exits| exits.next),
        _ => None,
    }
}
