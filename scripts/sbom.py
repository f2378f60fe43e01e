#!/usr/bin/env python3
"""Writes the bill of materials of the packaged program to standard output, as CycloneDX 1.5: scripts/sbom.py TRIPLE

What is compiled into the program, with versions, licences, checksums and who needs whom; what only tests and builds need is left out."""

import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As scripts/package.sh builds it: without the broker of `demo`.
FEATURES = ["--locked", "--no-default-features", "--features", "daemon"]


def cargo(*words):
    """What it says."""
    return subprocess.run(["cargo", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def metadata(triple):
    """What cargo knows of the crates for a platform."""
    return json.loads(cargo("metadata", *FEATURES, "--format-version", "1", "--filter-platform", triple))


def built(triple):
    """Names and versions of the crates that are built without the tests, whose features bring more."""
    tree = cargo("tree", *FEATURES, "--target", triple, "--edges", "normal", "--prefix", "none", "--format", "{p}")
    words = (line.split() for line in tree.splitlines())
    return {(name, version.removeprefix("v")) for name, version, *_ in words}


def checksums():
    """The checksums that Cargo.lock holds every crate to."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock["package"]}


def is_linked(package, dependency, crates):
    """Whether a dependency is in the program: one that only builds, tests and macros use is not."""
    is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
    is_macro = any("proc-macro" in target["kind"] for target in package["targets"])
    return is_normal and not is_macro and (package["name"], package["version"]) in crates


def linked(resolve, packages, crates):
    """The crates that the program is made of, each with those that it needs."""
    needs = {
        node["id"]: sorted(dep["pkg"] for dep in node["deps"] if is_linked(packages[dep["pkg"]], dep, crates))
        for node in resolve["nodes"]
    }
    found, ahead = {}, [resolve["root"]]
    while ahead:
        crate = ahead.pop()
        if crate not in found:
            found[crate] = needs[crate]
            ahead.extend(needs[crate])
    return found


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums):
    """One crate."""
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package["license"]:
        # Cargo allows the slash of old for OR.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := sums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def bill(triple):
    known = metadata(triple)
    packages = {package["id"]: package for package in known["packages"]}
    crates = linked(known["resolve"], packages, built(triple))
    sums = checksums()
    root = packages[known["resolve"]["root"]]
    others = sorted((packages[crate] for crate in crates if crate != root["id"]), key=purl)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root, sums) | {"type": "application"}},
        "components": [component(package, sums) for package in others],
        "dependencies": sorted(
            ({"ref": purl(packages[crate]), "dependsOn": [purl(packages[other]) for other in needs]} for crate, needs in crates.items()),
            key=lambda entry: entry["ref"],
        ),
    }


if len(sys.argv) != 2:
    sys.exit("say for which platform: scripts/sbom.py x86_64-unknown-linux-gnu")
json.dump(bill(sys.argv[1]), sys.stdout, indent=1)
print()
