//! Addresses of what drawings and tables point to: pages of the viewer, or places within a report.
//!
//! Positions in addresses count from 1, as people do; turns go by their own number.

/// Where links lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// To the viewer's pages of a session.
    Viewer {
        /// Number of the session.
        session: i64,
    },
    /// To places within the same document.
    Report,
}

impl Links {
    /// The context at a turn. A report holds none.
    pub(crate) fn turn(self, number: u32) -> Option<String> {
        match self {
            Self::Viewer { session } => Some(format!("/sessions/{session}/turns/{number}")),
            Self::Report => None,
        }
    }

    pub(crate) fn mutation(self, index: usize) -> String {
        self.to("mutations", "mutation", index)
    }

    pub(crate) fn action(self, index: usize) -> String {
        self.to("actions", "action", index)
    }

    pub(crate) fn constraint(self, index: usize) -> String {
        self.to("constraints", "constraint", index)
    }

    /// The evidence of a cell. A report explains only cells in which something is amiss; for the others it leads to the
    /// statement.
    pub(crate) fn evidence(self, action: usize, constraint: usize, is_amiss: bool) -> String {
        match self {
            Self::Viewer { session } => {
                format!(
                    "/sessions/{session}/evidence/{}/{}",
                    action + 1,
                    constraint + 1
                )
            }
            Self::Report if is_amiss => format!("#cell-{}-{}", action + 1, constraint + 1),
            Self::Report => self.constraint(constraint),
        }
    }

    fn to(self, pages: &str, place: &str, index: usize) -> String {
        match self {
            Self::Viewer { session } => format!("/sessions/{session}/{pages}/{}", index + 1),
            Self::Report => format!("#{place}-{}", index + 1),
        }
    }
}
