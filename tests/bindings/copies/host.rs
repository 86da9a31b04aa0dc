// SPDX-License-Identifier: Apache-2.0
//! What host.cpp does, by the crate. usage: host PLUGIN; ends with a panic where it fails

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use weft::{get_label, Context, Label, Span, Update};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    static weft_fork_guard: *const u32;
}

const RTLD_NOW: c_int = 2;

#[derive(Clone, Copy)]
struct Plugin {
    copy: extern "C" fn() -> *const c_void,
    sees: unsafe extern "C" fn(u64, u64, *const c_char, *const c_char) -> c_int,
    within: unsafe extern "C" fn(extern "C" fn()),
    label: unsafe extern "C" fn(*const c_char),
}

impl Plugin {
    fn sees(&self, span: u64, root: u64, key: &str, value: Option<&str>) {
        let key = CString::new(key).unwrap();
        let value = value.map(|text| CString::new(text).unwrap());
        let at = value.as_ref().map_or(ptr::null(), |text| text.as_ptr());

        assert_eq!(unsafe { (self.sees)(span, root, key.as_ptr(), at) }, 1, "{:?} {:?}", key, value);
    }

    fn set_label(&self, value: Option<&str>) {
        let value = value.map(|text| CString::new(text).unwrap());

        unsafe { (self.label)(value.as_ref().map_or(ptr::null(), |text| text.as_ptr())) }
    }
}

fn open(path: &CStr) -> Plugin {
    unsafe {
        let library = dlopen(path.as_ptr(), RTLD_NOW);
        assert!(!library.is_null(), "{:?}", CStr::from_ptr(dlerror()));
        let find = |name: &str| dlsym(library, CString::new(name).unwrap().as_ptr());
        Plugin {
            copy: std::mem::transmute(find("plugin_copy")),
            sees: std::mem::transmute(find("plugin_sees")),
            within: std::mem::transmute(find("plugin_within")),
            label: std::mem::transmute(find("plugin_label")),
        }
    }
}

extern "C" fn inside() {
    assert_eq!(weft::current().span_id, 77);
    assert_eq!(get_label("plugin").unwrap(), *"inside");
    let _span = Span::enter(78, 7);
    let _label = Label::set("plugin", "host's");
    println!("inside");
}

fn both_ways(plugin: Plugin) {
    let _span = Span::enter(1, 2);
    let _label = Label::set("host", "outside");

    plugin.sees(1, 2, "host", Some("outside"));
    unsafe { (plugin.within)(inside) };
    assert_eq!(weft::current().span_id, 1);
    assert!(get_label("plugin").is_none());
    plugin.sees(1, 2, "plugin", None);
    plugin.sees(1, 2, "host", Some("outside"));
    plugin.set_label(Some("kept"));
    {
        let update = Update::new().context(Context::new(5, 6)).set("host", "as one").remove("plugin");
        let _span = Span::update(update);
        plugin.sees(5, 6, "host", Some("as one"));
        plugin.sees(5, 6, "plugin", None);
    }
    plugin.sees(1, 2, "host", Some("outside"));
    plugin.sees(1, 2, "plugin", Some("kept"));
    assert_eq!(get_label("plugin").unwrap(), *"kept");
    plugin.set_label(None);
    assert!(get_label("plugin").is_none());
}

fn main() {
    let path = std::env::args_os().nth(1).expect("the plugin");
    let before = Span::enter(9, 9);
    let early = Label::set("early", "yes");
    let plugin = open(&CString::new(path.as_bytes()).unwrap());

    assert_ne!((plugin.copy)(), unsafe { ptr::addr_of!(weft_fork_guard) }.cast());
    plugin.sees(9, 9, "early", Some("yes"));
    early.leave();
    before.leave();
    both_ways(plugin);
    std::thread::spawn(move || both_ways(plugin)).join().unwrap();
    plugin.sees(0, 0, "host", None);
    plugin.sees(0, 0, "early", None);
    println!("all of it");
}
