//! A small file system of a test's own, in a mount namespace of its own: nothing outside sees it, and it is gone with the
//! process that holds it.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::process::first_line;

/// A tmpfs that a process holds.
pub(crate) struct SmallDisk {
    holder: Child,
    /// Where it is mounted, as processes inside see it.
    pub(crate) inside: PathBuf,
    /// Whether the namespace belongs to a user namespace, as it must where the test is not root.
    is_of_user: bool,
}

impl SmallDisk {
    /// Mounts a file system of so many MiB on a folder. `None` where neither root nor a user namespace may mount.
    pub(crate) fn mount(folder: &Path, mebibytes: u32) -> Option<Self> {
        [false, true]
            .into_iter()
            .find_map(|is_of_user| Self::mount_as(folder, mebibytes, is_of_user))
    }

    fn mount_as(folder: &Path, mebibytes: u32, is_of_user: bool) -> Option<Self> {
        let script = r#"mount -t tmpfs -o "size=$1m,mode=700" tmpfs "$0" && echo mounted && exec sleep 3600"#;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if is_of_user {
            command.args(["--user", "--map-root-user"]);
        }
        let mut holder = command
            .args(["sh", "-c", script])
            .arg(folder)
            .arg(mebibytes.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let said = first_line(holder.stdout.take()?).recv_timeout(Duration::from_secs(10));
        let disk = Self {
            holder,
            inside: folder.to_owned(),
            is_of_user,
        };
        (said.is_ok_and(|line| line.trim() == "mounted")).then_some(disk)
    }

    /// What a command line is appended to, to run inside.
    pub(crate) fn enter(&self) -> Vec<OsString> {
        let id = self.holder.id();
        let mut enter: Vec<OsString> = vec![
            "nsenter".into(),
            format!("--mount=/proc/{id}/ns/mnt").into(),
        ];
        if self.is_of_user {
            enter.push(format!("--user=/proc/{id}/ns/user").into());
            enter.push("--preserve-credentials".into());
        }
        enter.push("--".into());
        enter
    }

    /// Where the test itself finds what is inside.
    pub(crate) fn outside(&self, inside: &Path) -> PathBuf {
        let relative = inside.strip_prefix("/").expect("an absolute path");
        Path::new("/proc")
            .join(self.holder.id().to_string())
            .join("root")
            .join(relative)
    }

    fn ballast(&self) -> PathBuf {
        self.outside(&self.inside).join("ballast")
    }

    /// Writes until nothing more fits.
    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.ballast()).expect("the disk can be written");
        for piece in [64 * 1024, 4096, 1] {
            let piece = vec![0; piece];
            let full = loop {
                if let Err(error) = file.write_all(&piece) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
    }

    /// Gives back what [`Self::fill`] took.
    pub(crate) fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("the ballast can be removed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}
