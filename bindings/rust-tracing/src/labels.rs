// SPDX-License-Identifier: Apache-2.0
//! Fields of spans that are labels.

use std::fmt;
use std::sync::Arc;
use tracing_core::field::{Field, Visit};

/// Keys and values: of a span, and of those around it.
#[derive(Clone, Default)]
pub(crate) struct Labels(Vec<(&'static str, Arc<str>)>);

impl Labels {
    fn put(&mut self, key: &'static str, value: &str) {
        match self.0.iter_mut().find(|label| label.0 == key) {
            Some(label) => label.1 = value.into(),
            None => self.0.push((key, value.into())),
        }
    }

    fn get(&self, key: &str) -> Option<&Arc<str>> {
        self.0
            .iter()
            .find(|label| label.0 == key)
            .map(|label| &label.1)
    }

    /// All that are wanted: those that are not here are to go.
    pub(crate) fn added_to<'a>(
        &'a self,
        mut update: weft::Update<'a>,
        wanted: &'a [String],
    ) -> weft::Update<'a> {
        for key in wanted {
            update = match self.get(key) {
                Some(value) => update.set(key, &**value),
                None => update.remove(key),
            };
        }
        update
    }

    /// In the thread, at once.
    pub(crate) fn set(&self) {
        for (key, value) in &self.0 {
            let _ = weft::set_label(key, &**value); // one that is refused harms no other
        }
    }
}

/// Picks the fields that are wanted.
pub(crate) struct Wanted<'a> {
    fields: &'a [String],
    labels: &'a mut Labels,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(fields: &'a [String], labels: &'a mut Labels) -> Wanted<'a> {
        Wanted { fields, labels }
    }

    fn wants(&self, field: &Field) -> bool {
        self.fields.iter().any(|name| name == field.name())
    }
}

impl Visit for Wanted<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if self.wants(field) {
            self.labels.put(field.name(), value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.wants(field) {
            self.labels.put(field.name(), &format!("{value:?}"));
        }
    }
}
