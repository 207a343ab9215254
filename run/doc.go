// Package run is the other half of the model: what happened in one run of an agent. The tree of a session records what was
// said; a run log records what was done: each request to the model as it was sent, each response, the whole output of each
// tool, the events that the user saw, and how the run ended.
//
// # The format
//
// A run log is JSON Lines, appended in the order in which things were observed and never changed. The first record is the
// header,
//
//	{"type":"header","schema_version":1,"run_id":UUIDv4,"session_id"?:…,"started_at":ISO 8601 UTC,…}
//
// and every other one has a type, the id of the run and a time:
//
//	{"type":TYPE,"run_id":…,"ts":ISO 8601 UTC,…}
//
// There are ten types; see Type. The member "meta" of every record is reserved for extensions, and so are types that begin
// with "x.<org>.". Unknown types, members, values of enumerations and schema versions are kept as they are and are not
// damage. A log of another schema_version is never written to.
//
// A request and its response have the same seq, which continues from run to run of a session. The seq of events begins at 0
// in each run and is the order in which they are replayed. A log without run.end is that of a run that crashed.
//
// The package does no I/O. A Decoder makes a Log from lines. A Recorder makes records and passes them to a function that
// stores them.
package run
