//! Names the shared library's interface version, so that a program never loads another one.

fn main() {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbufferlab_capi.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
