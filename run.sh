RUST_BACKTRACE=0 cargo test --test fixtures what_comes 2>&1 | sed -n '/panicked at/,$p;/^error/,$p' | grep -v 'rustc/\|core::\|  at ' | cut -c1-420
