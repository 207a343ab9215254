// Package run is the other half of the model: what happened in one run of an agent. Beside the tree of a session, which
// says what was said, a run log says what was done: each request to the model as it was sent, each response, the whole
// output of each tool, the events that the user saw, and how it ended.
//
// # The format
//
// A run log is JSON Lines, appended in the order in which things were observed and never changed. The first record is the
// header,
//
//	{"type":"header","schema_version":1,"run_id":UUIDv4,"session_id"?:…,"started_at":ISO 8601 UTC,…}
//
// and every further one has a type, the id of the run and a time:
//
//	{"type":TYPE,"run_id":…,"ts":ISO 8601 UTC,…}
//
// There are ten types; see Type. The member "meta" of every record is kept free for extensions. Types that begin with
// "x.<org>." are anyone's. What is not known (types, members, values of enumerations, a schema_version above ours) is
// kept as it stands and reported nowhere as damage; a log of another schema_version is never written to.
//
// A request and its response have the same seq, which goes on counting from run to run of a session. The seq of events
// begins at 0 in each run and is the order in which they are played. A log without run.end is that of a run that crashed.
//
// The package does no I/O. A Decoder makes a Log from lines; a Recorder makes records and hands them to whoever keeps
// them.
package run
