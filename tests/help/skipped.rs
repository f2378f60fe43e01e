//! What a test says that cannot run here.

/// Says why the running test is skipped. What a test prints is kept back if the test passes, as this one will; this goes past that.
macro_rules! skipped {
    ($($why:tt)*) => {{
        use std::io::Write as _;
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let _ = writeln!(std::io::stderr(), "skipped: {} ({test})", format_args!($($why)*));
    }};
}
