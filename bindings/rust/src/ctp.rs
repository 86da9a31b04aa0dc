// SPDX-License-Identifier: Apache-2.0
//! The shared file of cTP (weft/abi/ctp.h) as Rust sees it, for whoever reads one or makes one.
//! Names and meaning are those of the C header; the size of each struct and the offset of each
//! field are asserted when this is compiled, and compared with the C compiler's by
//! `tests/layout.rs`.

/// On disk "RCRTOROC".
pub const MAGIC: u64 = 0x434F_524F_5452_4352;
/// Of the protocol.
pub const VERSION: u32 = 1;
/// "CTX1": the header has weft's extensions.
pub const EXTENSION: u32 = 0x3158_5443;
/// Of a station.
pub const SLOTS: usize = 8;
/// Bytes of the program's own for an event.
pub const PAYLOAD_MAX: usize = 28;
/// Of a histogram.
pub const BUCKETS: usize = 32;
/// Of the dirty bitmap.
pub const DIRTY_WORDS: usize = 94;

/// [`Station::state`]
pub mod state {
    #![allow(missing_docs)]
    pub const UNUSED: u8 = 0;
    pub const CREATED: u8 = 1;
    pub const RUNNING: u8 = 2;
    pub const SUSPENDED: u8 = 3;
    pub const READY: u8 = 4;
    pub const DEAD: u8 = 5;
    pub const LISTED: u8 = 6;
}

/// Declares a struct and asserts its size and each offset: a value that is all zeros but for one
/// field has its first other byte there. (`offset_of!` is younger than the Rust that this builds
/// with.)
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident, $size:literal, $align:literal {
        $($field:ident: $type:ty, $offset:literal;)+
    }) => {
        $(#[$doc])*
        #[allow(missing_docs)]
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $(pub $field: $type,)+
        }

        impl $name {
            /// All zeros.
            // SAFETY: integers and arrays of them.
            pub const ZERO: $name = unsafe { std::mem::transmute([0u8; $size]) };
            /// The size of each field, and where it is, by name: for tests.
            #[doc(hidden)]
            pub const FIELDS: &'static [(&'static str, usize)] =
                &[$((stringify!($field), $offset)),+];

            /// Its bytes, as they are in the file.
            pub fn to_bytes(&self) -> [u8; $size] {
                // SAFETY: integers without padding: the assertions below leave no room for it.
                unsafe { std::mem::transmute(*self) }
            }

            /// What the bytes of a file say.
            pub fn from_bytes(bytes: [u8; $size]) -> $name {
                // SAFETY: any bytes are a value.
                unsafe { std::mem::transmute(bytes) }
            }
        }

        const _: () = assert!(std::mem::size_of::<$name>() == $size);
        const _: () = assert!(std::mem::align_of::<$name>() == $align);
        const _: () = {
            let mut bytes = 0;
            $(bytes += std::mem::size_of::<$type>();)+
            assert!(bytes == $size, "no padding");
        };
        $(const _: () = {
            const SIZE: usize = std::mem::size_of::<$type>();
            // SAFETY: as above.
            let ones: $name = unsafe { std::mem::transmute([0xffu8; $size]) };
            let one = $name { $field: ones.$field, ..$name::ZERO };
            // SAFETY: no padding.
            let bytes: [u8; $size] = unsafe { std::mem::transmute(one) };
            assert!(bytes[$offset] == 0xff && bytes[$offset + SIZE - 1] == 0xff);
            assert!($offset == 0 || bytes[$offset - 1] == 0);
            assert!($offset + SIZE == $size || bytes[($offset + SIZE) % $size] == 0);
        };)+
    };
}

layout! {
    /// `struct weft_ctp_context_prefix`
    ContextPrefix, 28, 2 {
        trace_id: [u8; 16], 0x00;
        span_id: [u8; 8], 0x10;
        valid: u8, 0x18;
        trace_flags: u8, 0x19;
        attrs_bytes: u16, 0x1A;
    }
}

layout! {
    /// `struct weft_ctp_epoch`: an event.
    Epoch, 64, 8 {
        timestamp: u64, 0x00;
        tid: u64, 0x08;
        addr: u64, 0x10;
        seq: u64, 0x18;
        reserved: [u8; PAYLOAD_MAX], 0x20;
        kind: u8, 0x3C;
        payload_bytes: u8, 0x3D;
        holds: u8, 0x3E;
        is_active: u8, 0x3F;
    }
}

layout! {
    /// `struct weft_ctp_context`
    CoroutineContext, 128, 8 {
        prefix: ContextPrefix, 0x00;
        seq: u32, 0x1C;
        root_span_id: u64, 0x20;
        label_bytes: u16, 0x28;
        left_out: u16, 0x2A;
        labels: [u8; 84], 0x2C;
    }
}

layout! {
    /// `struct weft_ctp_totals`
    Totals, 64, 8 {
        resumes: u64, 0x00;
        suspends: u64, 0x08;
        run_ns: u64, 0x10;
        wait_ns: u64, 0x18;
        max_run_ns: u64, 0x20;
        max_wait_ns: u64, 0x28;
        last_ns: u64, 0x30;
        wakes: u64, 0x38;
    }
}

layout! {
    /// `struct weft_ctp_station`: a coroutine.
    Station, 1024, 8 {
        probe_id: u64, 0x000;
        birth_ts: u64, 0x008;
        is_dead: u8, 0x010;
        dialect: u8, 0x011;
        language: u8, 0x012;
        state: u8, 0x013;
        generation: u32, 0x014;
        pid: u32, 0x018;
        next_dead: u32, 0x01C;
        parent_station: u32, 0x020;
        parent_generation: u32, 0x024;
        site: u64, 0x028;
        first_event: u64, 0x030;
        last_wake_ns: u64, 0x038;
        slots: [Epoch; SLOTS], 0x040;
        totals: Totals, 0x240;
        run_histogram: [u32; BUCKETS], 0x280;
        wait_histogram: [u32; BUCKETS], 0x300;
        context: CoroutineContext, 0x380;
    }
}

layout! {
    /// `struct weft_ctp_anchor`
    Anchor, 64, 8 {
        seq: u32, 0x00;
        rsv: u32, 0x04;
        base_tsc: u64, 0x08;
        base_ns: u64, 0x10;
        mult: u64, 0x18;
        valid_ticks: u64, 0x20;
        rsv2: [u64; 3], 0x28;
    }
}

layout! {
    /// `struct weft_ctp_header`
    Header, 1024, 8 {
        magic: u64, 0x000;
        version: u32, 0x008;
        max_stations: u32, 0x00C;
        allocated_count: u32, 0x010;
        tracer_sleeping: u32, 0x014;
        extension: u32, 0x018;
        features: u32, 0x01C;
        engine_epoch: u64, 0x020;
        engine_pid: i32, 0x028;
        clock_id: i32, 0x02C;
        mono_ns: u64, 0x030;
        real_ns: u64, 0x038;
        boot_ns: u64, 0x040;
        refused: u64, 0x048;
        wakes_sent: u64, 0x050;
        harvested_ns: u64, 0x058;
        dirty_shift: u32, 0x060;
        rsv0: u32, 0x064;
        rsv1: [u64; 3], 0x068;
        recycle: [u64; 2], 0x080;
        recycle_turn: u32, 0x090;
        recycle_count: u32, 0x094;
        rsv2: [u64; 5], 0x098;
        anchor: Anchor, 0x0C0;
        rsv3: [u64; 2], 0x100;
        dirty: [u64; DIRTY_WORDS], 0x110;
    }
}
