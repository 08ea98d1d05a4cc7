//! Expressions. Each is lowered where its `Emit` stands, once; what naga gives no `Emit` is lowered where it
//! is first needed.

use std::rc::Rc;

use naga::{Expression, Handle, Literal, RelationalFunction, TypeInner};

use super::access::Pointer;
use super::code::Scalar;
use super::{Evaluated, Frame, Lower, Lowered};

impl<'m> Lower<'m> {
    /// The type of an expression.
    pub(super) fn ty(&self, frame: &Frame<'_>, handle: Handle<Expression>) -> TypeInner {
        frame.info[handle].ty.inner_with(&self.module.types).clone()
    }

    /// The value of an expression.
    pub(super) fn value(
        &mut self,
        frame: &mut Frame<'_>,
        handle: Handle<Expression>,
    ) -> Lowered<Rc<[Scalar]>> {
        match self.evaluated(frame, handle)? {
            Evaluated::Value(value) => Ok(value),
            Evaluated::Pointer(_) => Err("a pointer as a value".to_owned()),
        }
    }

    /// The number or truth value of an expression that is one.
    pub(super) fn scalar(
        &mut self,
        frame: &mut Frame<'_>,
        handle: Handle<Expression>,
    ) -> Lowered<Scalar> {
        let value = self.value(frame, handle)?;
        value.first().copied().ok_or_else(|| "a value of no numbers".to_owned())
    }

    /// The pointer that an expression is.
    pub(super) fn pointer(
        &mut self,
        frame: &mut Frame<'_>,
        handle: Handle<Expression>,
    ) -> Lowered<Pointer> {
        match self.evaluated(frame, handle)? {
            Evaluated::Pointer(pointer) => Ok(pointer),
            Evaluated::Value(_) => Err("a value as a pointer".to_owned()),
        }
    }

    /// An expression, lowered if it is not yet.
    pub(super) fn evaluated(
        &mut self,
        frame: &mut Frame<'_>,
        handle: Handle<Expression>,
    ) -> Lowered<Evaluated> {
        if let Some(done) = frame.values.get(&handle) {
            return Ok(done.clone());
        }
        let (span, outer) = (frame.function.expressions.get_span(handle), self.code.at);
        self.code.at = self.lines.at(span).or(outer);
        let evaluated = self.evaluate(frame, handle)?;
        // What follows is of the expression that this one is a part of.
        self.code.at = outer;
        frame.values.insert(handle, evaluated.clone());
        Ok(evaluated)
    }

    fn evaluate(
        &mut self,
        frame: &mut Frame<'_>,
        handle: Handle<Expression>,
    ) -> Lowered<Evaluated> {
        let value: Rc<[Scalar]> = match frame.function.expressions[handle] {
            Expression::Literal(literal) => [of_literal(literal)?].into(),
            Expression::Constant(constant) => {
                self.constant(self.module.constants[constant].init)?.into()
            }
            Expression::ZeroValue(ty) => self.zeros(&self.module.types[ty].inner)?,
            Expression::Compose { ref components, .. } => {
                let mut all = Vec::new();
                for &component in components {
                    all.extend_from_slice(&self.value(frame, component)?);
                }
                all.into()
            }
            Expression::Splat { size, value } => {
                let value = self.scalar(frame, value)?;
                vec![value; size as usize].into()
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, vector)?;
                pattern[..size as usize].iter().map(|&c| vector[c as usize]).collect()
            }
            Expression::Access { base, index } => return self.index(frame, base, index),
            Expression::AccessIndex { base, index } => return self.part(frame, base, index),
            Expression::FunctionArgument(number) => {
                let argument = frame.arguments.get(number as usize);
                return argument.cloned().ok_or_else(|| "an argument that is not there".to_owned());
            }
            Expression::GlobalVariable(variable) => {
                let root = self.globals.get(&variable).cloned();
                let root = root.ok_or("a variable of another entry point")?;
                let ty = self.module.global_variables[variable].ty;
                let ty = self.module.types[ty].inner.clone();
                return Ok(Evaluated::Pointer(Pointer::to(root, ty)));
            }
            Expression::LocalVariable(variable) => {
                let root = frame.locals.get(&variable).cloned();
                let root = root.ok_or("a variable that is not there")?;
                let ty = frame.function.local_variables[variable].ty;
                let ty = self.module.types[ty].inner.clone();
                return Ok(Evaluated::Pointer(Pointer::to(root, ty)));
            }
            Expression::Load { pointer } => {
                let pointer = self.pointer(frame, pointer)?;
                self.load(&pointer)?
            }
            Expression::Unary { op, expr } => {
                let (ty, value) = (self.ty(frame, expr), self.value(frame, expr)?);
                self.unary(op, &ty, &value)?
            }
            Expression::Binary { op, left, right } => {
                let types = [self.ty(frame, left), self.ty(frame, right)];
                let values = [self.value(frame, left)?, self.value(frame, right)?];
                self.binary(op, &types, &values)?
            }
            Expression::Select { condition, accept, reject } => {
                let condition = self.value(frame, condition)?;
                let (accept, reject) = (self.value(frame, accept)?, self.value(frame, reject)?);
                self.choose(&condition, &accept, &reject)
            }
            Expression::Relational { fun, argument } => {
                let value = self.value(frame, argument)?;
                self.relational(fun, &value)?
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let ty = self.ty(frame, arg);
                let mut values = Vec::new();
                for argument in [Some(arg), arg1, arg2, arg3].into_iter().flatten() {
                    values.push(self.value(frame, argument)?);
                }
                self.math(fun, &ty, &values)?
            }
            Expression::As { expr, kind, convert } => {
                let (ty, value) = (self.ty(frame, expr), self.value(frame, expr)?);
                self.conversion(&ty, kind, convert, &value)?
            }
            Expression::ArrayLength(array) => [self.array_length(frame, array)?].into(),
            Expression::Override(_) => return Err("an override without a value".to_owned()),
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => {
                return Err("a result in front of its statement".to_owned());
            }
            Expression::ImageSample { .. }
            | Expression::ImageLoad { .. }
            | Expression::ImageQuery { .. } => return Err("a texture".to_owned()),
            Expression::Derivative { .. } => return Err("a derivative".to_owned()),
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => return Err("a ray query".to_owned()),
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                return Err("a cooperative matrix".to_owned());
            }
        };
        Ok(Evaluated::Value(value))
    }

    /// `AccessIndex`: of what a pointer leads to, or of a value.
    fn part(
        &mut self,
        frame: &mut Frame<'_>,
        base: Handle<Expression>,
        index: u32,
    ) -> Lowered<Evaluated> {
        match self.evaluated(frame, base)? {
            Evaluated::Pointer(pointer) => {
                Ok(Evaluated::Pointer(self.pointer_part(&pointer, index)?))
            }
            Evaluated::Value(all) => {
                let ty = self.ty(frame, base);
                let part = self.shapes.part(&ty, index, super::shape::Layout::Words)?;
                let count = self.shapes.count(&part.ty)?;
                Ok(Evaluated::Value(all[part.first..part.first + count].into()))
            }
        }
    }

    /// `select`: one condition for all, or one for each.
    fn choose(
        &mut self,
        condition: &[Scalar],
        accept: &[Scalar],
        reject: &[Scalar],
    ) -> Rc<[Scalar]> {
        let conditions = condition.iter().copied().cycle();
        let pairs = accept.iter().zip(reject).zip(conditions);
        pairs.map(|((&a, &b), condition)| self.code.select(condition, a, b)).collect()
    }

    fn relational(&mut self, fun: RelationalFunction, value: &[Scalar]) -> Lowered<Rc<[Scalar]>> {
        match fun {
            RelationalFunction::All => {
                let all =
                    value.iter().fold(Scalar::Truth(true), |all, &one| self.code.and(all, one));
                Ok([all].into())
            }
            RelationalFunction::Any => {
                let any =
                    value.iter().fold(Scalar::Truth(false), |any, &one| self.code.or(any, one));
                Ok([any].into())
            }
            RelationalFunction::IsNan => {
                Ok(value.iter().map(|&x| self.code.test("setp.nan.f32", &[x, x])).collect())
            }
            RelationalFunction::IsInf => Err("isInf".to_owned()),
        }
    }

    /// An expression of the module that is a constant.
    pub(super) fn constant(&self, handle: Handle<Expression>) -> Lowered<Vec<Scalar>> {
        let module: &'m _ = self.module;
        match &module.global_expressions[handle] {
            Expression::Literal(literal) => Ok(vec![of_literal(*literal)?]),
            Expression::Constant(constant) => self.constant(module.constants[*constant].init),
            Expression::ZeroValue(ty) => Ok(self.zeros(&module.types[*ty].inner)?.to_vec()),
            Expression::Compose { components, .. } => {
                let mut all = Vec::new();
                for &component in components {
                    all.extend(self.constant(component)?);
                }
                Ok(all)
            }
            Expression::Splat { size, value } => {
                let value = self.constant(*value)?;
                let value = value.first().copied().ok_or("a value of no numbers")?;
                Ok(vec![value; *size as usize])
            }
            _ => Err("a constant that is not known".to_owned()),
        }
    }
}

fn of_literal(literal: Literal) -> Lowered<Scalar> {
    match literal {
        Literal::F32(value) => Ok(Scalar::float(value)),
        Literal::U32(value) => Ok(Scalar::Bits(value)),
        Literal::I32(value) => Ok(Scalar::Bits(value.cast_unsigned())),
        Literal::Bool(value) => Ok(Scalar::Truth(value)),
        Literal::F64(_)
        | Literal::F16(_)
        | Literal::U16(_)
        | Literal::I16(_)
        | Literal::U64(_)
        | Literal::I64(_)
        | Literal::AbstractInt(_)
        | Literal::AbstractFloat(_) => Err("a number of other than 32 bits".to_owned()),
    }
}
