package wire

// Copied says what push or pull did, or would do. fates counts the logs by what became of them; logs lists all but the
// unchanged ones. size and blobSize are what was transferred. problems are those of sources and blobs.
type Copied struct {
	Archive  string       `json:"archive"`
	DryRun   bool         `json:"dryRun"`
	Redacted bool         `json:"redacted"`
	Fates    []CopiedFate `json:"fates"`
	Size     int64        `json:"size"`
	Blobs    int          `json:"blobs"`
	BlobSize int64        `json:"blobSize"`
	Secrets  int          `json:"secrets"`
	Logs     []CopiedLog  `json:"logs"`
	Problems []string     `json:"problems"`
}

// CopiedFate is a number of logs with one fate: created, extended, replaced, removed, branched, forked, ahead (the other side has
// more), absent (it was removed here), withheld, failed or unchanged.
type CopiedFate struct {
	Fate  string `json:"fate"`
	Count int    `json:"count"`
}

// CopiedLog is a log that was copied. name is its name in the archive, path the log on this machine. fork is the session
// created from the other side's part of the log. redacted is true for a redacted copy that was pulled because the original is
// lost. reason says why it was withheld.
type CopiedLog struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Fate     string `json:"fate"`
	Size     int64  `json:"size"`
	Fork     string `json:"fork,omitempty"`
	Redacted bool   `json:"redacted,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Error    string `json:"error,omitempty"`
}
