//! The error of the first hour: a port that the daemon may not open. The message says who owns the port, who runs the
//! daemon, and what to do.

use std::{fmt, fs, os::unix::fs::MetadataExt, path::PathBuf};

use rustix::process::{getegid, geteuid, getgroups};

/// A port that the operating system does not let us open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The port.
    pub path: PathBuf,
    /// Owner, group and mode; none when the system does not tell even these.
    pub node: Option<Node>,
    /// The user that runs this program.
    pub user: Owner,
    /// The groups of this program.
    pub groups: Vec<Owner>,
}

/// The owner and the permissions of a device node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its owner.
    pub owner: Owner,
    /// Its group.
    pub group: Owner,
    /// Its permission bits.
    pub mode: u32,
}

/// A user or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The number.
    pub number: u32,
    /// The name, where the machine's own files know it.
    pub name: Option<String>,
}

impl Denied {
    /// Asks the system who owns `path` and who runs this program.
    pub(super) fn gather(path: PathBuf) -> Self {
        let node = fs::metadata(&path).ok().map(|meta| Node {
            owner: Owner::user(meta.uid()),
            group: Owner::group(meta.gid()),
            mode: meta.mode() & 0o7777,
        });
        let mut groups: Vec<u32> = getgroups()
            .unwrap_or_default()
            .into_iter()
            .chain([getegid()])
            .map(rustix::process::Gid::as_raw)
            .collect();
        groups.sort_unstable();
        groups.dedup();
        Self {
            path,
            node,
            user: Owner::user(geteuid().as_raw()),
            groups: groups.into_iter().map(Owner::group).collect(),
        }
    }

    fn advice(&self) -> String {
        const RULE: &str = "install the udev rule that comes with the program and plug the board in again";
        let Some(node) = &self.node else {
            return format!("make the folder readable, or {RULE}");
        };
        // Nobody should join root's own group for the sake of a port.
        let group_may = node.mode & 0o060 == 0o060 && node.group.number != 0;
        let member = self.groups.iter().any(|g| g.number == node.group.number);
        if !group_may {
            return format!("no group that you could join may read and write it: {RULE}");
        }
        if member || self.user.number == node.owner.number {
            return "the permissions would do, so something else forbids it: a container without this device, \
                    or DevicePolicy= and DeviceAllow= of the systemd unit"
                .to_owned();
        }
        format!(
            "join the group: `sudo usermod -aG {} {}`, then log in again (a service: SupplementaryGroups={}), or {RULE}",
            node.group, self.user, node.group
        )
    }
}

impl std::error::Error for Denied {}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "may not open {}", self.path.display())?;
        if let Some(node) = &self.node {
            write!(
                f,
                ": owner {}, group {}, mode {:04o}",
                node.owner, node.group, node.mode
            )?;
        }
        let groups: Vec<String> = self.groups.iter().map(ToString::to_string).collect();
        write!(
            f,
            "; we are {} with the groups {}; ",
            self.user,
            groups.join(", ")
        )?;
        f.write_str(&self.advice())
    }
}

impl Owner {
    fn user(number: u32) -> Self {
        Self::named(number, "/etc/passwd")
    }

    fn group(number: u32) -> Self {
        Self::named(number, "/etc/group")
    }

    /// Looks up the number in a file of lines `name:x:number:...`.
    fn named(number: u32, file: &str) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        let name = text.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
        });
        Self { number, name }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32, name: &str) -> Owner {
        Owner {
            number,
            name: Some(name.to_owned()),
        }
    }

    fn denied(mode: u32, groups: Vec<Owner>) -> String {
        Denied {
            path: "/dev/ttyUSB0".into(),
            node: Some(Node {
                owner: id(0, "root"),
                group: id(20, "dialout"),
                mode,
            }),
            user: id(1000, "arbiter"),
            groups,
        }
        .to_string()
    }

    #[test]
    fn says_who_we_are_and_what_to_do() {
        assert_eq!(
            denied(0o660, vec![id(1000, "arbiter")]),
            "may not open /dev/ttyUSB0: owner root, group dialout, mode 0660; we are arbiter with the groups arbiter; \
             join the group: `sudo usermod -aG dialout arbiter`, then log in again (a service: \
             SupplementaryGroups=dialout), or install the udev rule that comes with the program and plug the board in \
             again"
        );
        assert!(denied(0o600, vec![id(20, "dialout")]).contains("no group that you could join"));
        assert!(denied(0o660, vec![id(20, "dialout")]).contains("DeviceAllow="));
    }

    #[test]
    fn knows_this_machine() {
        let denied = Denied::gather("/dev/null".into());
        assert_eq!(denied.node.unwrap().owner, id(0, "root"));
    }
}
