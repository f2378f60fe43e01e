//! Certificates for tests, made by openssl.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

pub fn openssl(folder: &Path, args: &str) {
    let status = Command::new("openssl")
        .args(args.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(
        status.expect("these tests need openssl").success(),
        "openssl {args}"
    );
}

/// An authority, and servers' certificates by it: a good one, one for another name, one that is over.
pub fn certificates(folder: &Path) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for ca in ["ca", "stranger"] {
        openssl(
            folder,
            &format!("req -x509 {key} -days 2 -keyout {ca}.key -out {ca}.pem -subj /CN={ca}"),
        );
    }
    for (name, san) in [
        ("good", "DNS:localhost,IP:127.0.0.1"),
        ("elsewhere", "DNS:broker.example"),
        ("over", "DNS:localhost,IP:127.0.0.1"),
    ] {
        fs::write(folder.join("san"), format!("subjectAltName={san}\n")).unwrap();
        openssl(
            folder,
            &format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"),
        );
        if name == "over" {
            // This openssl signs no certificate of the past but by its `ca` command.
            fs::write(folder.join("index"), "").unwrap();
            fs::write(folder.join("serial"), "77\n").unwrap();
            let ca = "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n";
            fs::write(folder.join("ca.conf"), ca).unwrap();
            openssl(
                folder,
                &format!(
                    "ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in {name}.csr -out {name}.pem -notext \
                     -startdate 20200101000000Z -enddate 20210101000000Z -extfile san"
                ),
            );
        } else {
            openssl(
                folder,
                &format!(
                    "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out {name}.pem"
                ),
            );
        }
    }
}
