//! Gives the shared library a name with the version of its C interface. So a program never loads a
//! library of a different version.

fn main() {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbufferlab_capi.so.1");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
