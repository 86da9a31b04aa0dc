// SPDX-License-Identifier: Apache-2.0
//! Structs are laid out as the C compiler does it: `WEFT_C_LAYOUT` is what a C program printed
//! (tests/bindings/rust.sh in weft's tree).

use std::mem::{align_of, size_of};
use weft::{sys, Context};

fn events() -> String {
    weft::event_type! { struct Any("layout.Any") {} }
    let field = weft::event::field("n\0", 1, 0);
    let of = Any::event_type() as *const _ as *const sys::EventType;
    // SAFETY: it is transparent.
    let of = unsafe { &*of };
    let at = |base: usize, field: usize| field - base;
    let base = &field as *const _ as usize;
    let field_at = [
        at(base, &field.kind as *const _ as usize),
        at(base, &field.content as *const _ as usize),
        at(base, &field.label as *const _ as usize),
        at(base, &field.description as *const _ as usize),
    ];
    let base = of as *const _ as usize;
    let of_at = [
        at(base, &of.category as *const _ as usize),
        at(base, &of.fields as *const _ as usize),
        at(base, &of.field_count as *const _ as usize),
        at(base, &of.flags as *const _ as usize),
        at(base, &of.threshold as *const _ as usize),
        at(base, &of.select as *const _ as usize),
        at(base, &of.row as *const _ as usize),
        at(base, &of.payload_bytes as *const _ as usize),
    ];

    format!(
        " event field {} {:?} type {} {:?} value {} event {} span {}",
        size_of::<sys::EventField>(),
        field_at,
        size_of::<sys::EventType>(),
        of_at,
        size_of::<sys::EventValue>(),
        size_of::<sys::Event>(),
        size_of::<sys::TimedSpan>(),
    )
}

#[test]
fn structs_are_those_of_c() {
    let label = sys::Label {
        key: std::ptr::null(),
        key_bytes: 0,
        value: std::ptr::null(),
        value_bytes: 0,
        result: 0,
    };
    let context = Context::default();
    let at = |base: usize, field: usize| field - base;
    let base = &label as *const _ as usize;
    let label_fields = [
        at(base, &label.key_bytes as *const _ as usize),
        at(base, &label.value as *const _ as usize),
        at(base, &label.value_bytes as *const _ as usize),
        at(base, &label.result as *const _ as usize),
    ];
    let base = &context as *const _ as usize;
    let context_fields = [
        at(base, &context.root_span_id as *const _ as usize),
        at(base, &context.trace_id as *const _ as usize),
        at(base, &context.trace_flags as *const _ as usize),
        at(base, &context.tags as *const _ as usize),
    ];
    let ours = format!(
        "ids {} context {} {} {:?} label {} {:?} scope {} {} attached {} {} tags {} most {} key {} value {} replace {}",
        size_of::<sys::Ids>(),
        size_of::<Context>(),
        align_of::<Context>(),
        context_fields,
        size_of::<sys::Label>(),
        label_fields,
        size_of::<sys::Scope>(),
        align_of::<sys::Scope>(),
        size_of::<sys::Attached>(),
        align_of::<sys::Attached>(),
        weft::TAGS,
        sys::LABELS_MOST,
        sys::KEY_BYTES,
        sys::VALUE_BYTES,
        sys::UPDATE_REPLACE,
    ) + &events();

    match std::env::var("WEFT_C_LAYOUT") {
        Ok(theirs) => assert_eq!(ours, theirs),
        Err(_) => println!("not compared: {}", ours),
    }
}

/// `WEFT_C_CTP`: "Struct size name offset name offset ...; ", as a C program printed it.
#[test]
fn the_shared_file_is_that_of_c() {
    use std::fmt::Write;
    use weft::ctp::{
        Anchor, ContextPrefix, CoroutineContext, Epoch, Header, Station, Totals, BUCKETS,
        DIRTY_WORDS, EXTENSION, MAGIC, PAYLOAD_MAX, SLOTS, VERSION,
    };
    let mut ours = format!(
        "{:x} {} {:x} {} {} {} {}; ",
        MAGIC, VERSION, EXTENSION, SLOTS, PAYLOAD_MAX, BUCKETS, DIRTY_WORDS
    );
    let mut add = |size: usize, fields: &[(&str, usize)]| {
        write!(ours, "{}", size).unwrap();
        for (name, offset) in fields {
            write!(ours, " {} {}", name, offset).unwrap();
        }
        ours.push_str("; ");
    };

    add(size_of::<Header>(), Header::FIELDS);
    add(size_of::<Anchor>(), Anchor::FIELDS);
    add(size_of::<Station>(), Station::FIELDS);
    add(size_of::<Epoch>(), Epoch::FIELDS);
    add(size_of::<Totals>(), Totals::FIELDS);
    add(size_of::<CoroutineContext>(), CoroutineContext::FIELDS);
    add(size_of::<ContextPrefix>(), ContextPrefix::FIELDS);
    match std::env::var("WEFT_C_CTP") {
        Ok(theirs) => assert_eq!(ours.trim_end(), theirs.trim_end()),
        Err(_) => println!("not compared: {}", ours),
    }
}
