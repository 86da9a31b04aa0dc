// SPDX-License-Identifier: Apache-2.0
//! A Rust program that calls the C interface of the Custom Labels library, as a crate without
//! its own copy of it does. Exit status 0 if all is as it should be.
use std::os::raw::{c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
struct Str {
    len: usize,
    buf: *const u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Label {
    key: Str,
    value: Str,
}

#[repr(C)]
struct Set {
    _opaque: [u8; 0],
}

type Callback = extern "C" fn(*mut c_void) -> *mut c_void;

#[link(name = "customlabels-weft")]
extern "C" {
    static custom_labels_abi_version: u32;
    fn custom_labels_new(capacity: usize) -> *mut Set;
    fn custom_labels_free(ls: *mut Set);
    fn custom_labels_clone(ls: *const Set) -> *mut Set;
    fn custom_labels_current() -> *mut Set;
    fn custom_labels_replace(ls: *mut Set) -> *mut Set;
    fn custom_labels_get(ls: *mut Set, key: Str) -> *const Label;
    fn custom_labels_set(ls: *mut Set, key: Str, value: Str, old: *mut Str) -> c_int;
    fn custom_labels_careful_delete(ls: *mut Set, key: Str);
    fn custom_labels_count(ls: *mut Set) -> usize;
    fn custom_labels_careful_run_with(
        ls: *mut Set, labels: *mut Label, n: c_int, f: Callback, data: *mut c_void,
        out: *mut *mut c_void,
    ) -> c_int;
}

fn text(s: &str) -> Str {
    Str { len: s.len(), buf: s.as_ptr() }
}

unsafe fn value(ls: *mut Set, key: &str) -> Option<Vec<u8>> {
    let label = custom_labels_get(ls, text(key));
    label.as_ref().map(|l| std::slice::from_raw_parts(l.value.buf, l.value.len).to_vec())
}

extern "C" fn inside(data: *mut c_void) -> *mut c_void {
    unsafe {
        assert_eq!(value(custom_labels_current(), "route").as_deref(), Some(&b"/cart"[..]));
    }
    data
}

fn work(n: usize) {
    unsafe {
        let ls = custom_labels_new(0);
        let old = custom_labels_replace(ls);
        let name = n.to_string();
        assert_eq!(custom_labels_set(ls, text("n"), text(&name), std::ptr::null_mut()), 0);
        let mut labels = [Label { key: text("route"), value: text("/cart") }];
        let (mut data, mut out) = (n, std::ptr::null_mut());
        let data: *mut c_void = (&mut data as *mut usize).cast();
        assert_eq!(
            custom_labels_careful_run_with(ls, labels.as_mut_ptr(), 1, inside, data, &mut out), 0);
        assert_eq!(out, data);
        assert_eq!(value(ls, "route"), None);
        assert_eq!(value(ls, "n").as_deref(), Some(name.as_bytes()));
        let copy = custom_labels_clone(ls);
        custom_labels_careful_delete(ls, text("n"));
        assert_eq!((custom_labels_count(ls), custom_labels_count(copy)), (0, 1));
        custom_labels_free(copy);
        assert_eq!(custom_labels_replace(old), ls);
        custom_labels_free(ls);
    }
}

fn main() {
    assert_eq!(unsafe { custom_labels_abi_version }, 1);
    let threads: Vec<_> = (0..8).map(|n| std::thread::spawn(move || work(n))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("ok");
}
