//! The schemas that are kept in `docs/schema` are those of the types.

use std::{env, fs, path::Path};

use dgt2mqtt::cli::schema::schemas;

#[test]
fn the_documented_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    let update = env::var_os("UPDATE_GOLDEN").is_some();
    let mut names = Vec::new();
    for (name, schema) in schemas() {
        let path = folder.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if update {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "docs/schema/{name}.json: run with UPDATE_GOLDEN=1 when the change is meant"
        );
        names.push(format!("{name}.json"));
    }
    let mut kept: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, names, "a schema that no type has any more");
}
