//! Which variables need an address: those that a program indexes by what is known only when it runs. All
//! others live in registers.

use std::collections::{HashMap, HashSet};

use naga::{
    AddressSpace, Block, Expression, Function, GlobalVariable, Handle, Literal, LocalVariable,
    Module, Statement,
};

/// The variables of a module that need an address.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// Those of functions; the entry point has no handle.
    locals: HashSet<(Option<Handle<Function>>, Handle<LocalVariable>)>,
    /// `var<private>`.
    globals: HashSet<Handle<GlobalVariable>>,
    /// Parameters that are pointers to such variables.
    parameters: HashMap<Handle<Function>, HashSet<u32>>,
}

/// A known index.
pub(super) fn known(
    module: &Module,
    function: &Function,
    index: Handle<Expression>,
) -> Option<u32> {
    let literal = |literal: &Literal| match *literal {
        Literal::U32(value) => Some(value),
        Literal::I32(value) => u32::try_from(value).ok(),
        _ => None,
    };
    match &function.expressions[index] {
        Expression::Literal(value) => literal(value),
        Expression::Constant(constant) => {
            match &module.global_expressions[module.constants[*constant].init] {
                Expression::Literal(value) => literal(value),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Usage {
    /// Of a module and one of its entry points. Functions stand behind those that they call.
    pub(super) fn of(module: &Module, entry: &Function) -> Self {
        let mut usage = Self::default();
        for (handle, function) in module.functions.iter() {
            usage.function(module, Some(handle), function);
        }
        usage.function(module, None, entry);
        usage
    }

    pub(super) fn has_local(
        &self,
        function: Option<Handle<Function>>,
        variable: Handle<LocalVariable>,
    ) -> bool {
        self.locals.contains(&(function, variable))
    }

    pub(super) fn has_global(&self, variable: Handle<GlobalVariable>) -> bool {
        self.globals.contains(&variable)
    }

    fn function(&mut self, module: &Module, handle: Option<Handle<Function>>, function: &Function) {
        for (_, expression) in function.expressions.iter() {
            if let Expression::Access { base, index } = *expression
                && known(module, function, index).is_none()
            {
                self.mark(module, handle, function, base);
            }
        }
        self.block(module, handle, function, &function.body);
    }

    /// Marks what a pointer leads to; an index into a value marks nothing.
    fn mark(
        &mut self,
        module: &Module,
        handle: Option<Handle<Function>>,
        function: &Function,
        pointer: Handle<Expression>,
    ) {
        match function.expressions[pointer] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                self.mark(module, handle, function, base);
            }
            Expression::LocalVariable(variable) => {
                self.locals.insert((handle, variable));
            }
            Expression::GlobalVariable(variable)
                if module.global_variables[variable].space == AddressSpace::Private =>
            {
                self.globals.insert(variable);
            }
            Expression::FunctionArgument(number) => {
                if let Some(handle) = handle {
                    self.parameters.entry(handle).or_default().insert(number);
                }
            }
            _ => {}
        }
    }

    /// Marks what is handed to functions that index it.
    fn block(
        &mut self,
        module: &Module,
        handle: Option<Handle<Function>>,
        function: &Function,
        block: &Block,
    ) {
        for statement in block.iter() {
            match statement {
                Statement::Call { function: callee, arguments, .. } => {
                    let indexed = self.parameters.get(callee).cloned().unwrap_or_default();
                    for (argument, number) in arguments.iter().zip(0..) {
                        if indexed.contains(&number) {
                            self.mark(module, handle, function, *argument);
                        }
                    }
                }
                Statement::Block(inner) => self.block(module, handle, function, inner),
                Statement::If { accept, reject, .. } => {
                    self.block(module, handle, function, accept);
                    self.block(module, handle, function, reject);
                }
                Statement::Switch { cases, .. } => {
                    for case in cases {
                        self.block(module, handle, function, &case.body);
                    }
                }
                Statement::Loop { body, continuing, .. } => {
                    self.block(module, handle, function, body);
                    self.block(module, handle, function, continuing);
                }
                _ => {}
            }
        }
    }
}
