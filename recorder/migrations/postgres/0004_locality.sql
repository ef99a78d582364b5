-- The ids of events that are sent at the same time are near each other where they begin with the time (UUIDv7), whatever their
-- sessions. So ordered, one commit of many sessions touches a page or two of this index rather than one for each session.
DROP INDEX entries_event;
CREATE UNIQUE INDEX entries_event ON entries (event, session_no);
