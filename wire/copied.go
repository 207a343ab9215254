package wire

// Copied says what push or pull did, or would do. The numbers are logs by what became of them; logs lists all but the unchanged
// ones. problems are those of sources and blobs.
type Copied struct {
	Archive   string      `json:"archive"`
	DryRun    bool        `json:"dryRun"`
	Redacted  bool        `json:"redacted"`
	Created   int         `json:"created"`
	Extended  int         `json:"extended"`
	Replaced  int         `json:"replaced"`
	Removed   int         `json:"removed"`
	Branched  int         `json:"branched"`
	Forked    int         `json:"forked"`
	Ahead     int         `json:"ahead"`
	Withheld  int         `json:"withheld"`
	Failed    int         `json:"failed"`
	Unchanged int         `json:"unchanged"`
	Bytes     int64       `json:"bytes"`
	Blobs     int         `json:"blobs"`
	BlobBytes int64       `json:"blobBytes"`
	Secrets   int         `json:"secrets"`
	Logs      []CopiedLog `json:"logs"`
	Problems  []string    `json:"problems"`
}

// CopiedLog is a log that was copied. name is that in the archive, path that of the log here. fork is the session that the other
// side's part of a log became. why says why it was withheld.
type CopiedLog struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Fate  string `json:"fate"`
	Bytes int64  `json:"bytes"`
	Fork  string `json:"fork,omitempty"`
	Why   string `json:"why,omitempty"`
	Error string `json:"error,omitempty"`
}
