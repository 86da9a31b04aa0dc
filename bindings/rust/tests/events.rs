// SPDX-License-Identifier: Apache-2.0
//! Events as a program without a recording has them: nothing is on, guards come and go, contexts
//! are put back. What a recorded program commits: tests/bindings/rust_events.sh in weft's tree.

use weft::event::{Pooled, SpanId, ThreadId};

weft::event_type! {
    /// Every kind of field.
    struct All("rust.All") {
        a: bool, b: i8, c: i16, d: u8, e: i32, f: u16, g: i64, h: u32, i: u64, j: f32, k: f64,
        l: &str, m: Option<&str>, n: Pooled, o: ThreadId, p: SpanId,
    }
    .label("All").description("All kinds").category("Rust|Tests").instant()
}

weft::event_type! {
    pub struct WayOut("rust.WayOut") { n: i32 } .stack().threshold("0 ns").throttle("1000/s")
}

weft::event_type! { struct Nothing("rust.Nothing") {} .off().experimental() }

weft::event_type! {
    struct Request("rust.Request") { path: &str } .contextual().select("if-triggered")
}

fn way_out(how: i32) -> bool {
    let mut event = WayOut::begin();

    if how == 1 {
        panic!("gone");
    }
    if how == 2 {
        return false;
    }
    event.end();
    event.commit(how)
}

/// Run by itself under `weft record`, it commits; else it must not.
#[test]
fn every_kind_and_way_out() {
    let on = std::env::var("WEFT_TEST_RECORDED").is_ok();
    let name = String::from("Zoë");
    let mut kept = 0;

    assert_eq!(All::is_on(), on);
    let pool = weft::tag_intern("pool");
    // SAFETY: it takes nothing.
    let tid = unsafe { gettid() };
    for text in [None, Some("some")] {
        kept += i32::from(All::emit(
            true,
            -8,
            -16,
            8,
            -32,
            16,
            -64,
            4_000_000_000,
            u64::MAX,
            0.5,
            -2.25,
            &name,
            text,
            Pooled(pool),
            ThreadId(tid),
            SpanId(0xABC),
        ));
    }
    for how in 0..3 {
        let result = std::panic::catch_unwind(|| way_out(how));

        assert_eq!(result.is_err(), how == 1);
        kept += i32::from(result.unwrap_or(false));
    }
    kept += i32::from(Nothing::emit());
    for path in ["/empty", "/full"] {
        let event = Request::begin();

        if path == "/full" {
            kept += i32::from(WayOut::begin().commit(100));
        }
        kept += i32::from(event.commit(path));
    }
    let span = weft::timed_span!("checkout", 0x11, 0x22);
    assert_eq!(weft::current().span_id, 0x11);
    kept += i32::from(span.leave());
    assert_eq!(weft::current().span_id, 0);
    assert_eq!(kept, if on { 6 } else { 0 });
}

extern "C" {
    fn gettid() -> i32;
}
