package file

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/treeline-dev/treeline/internal/durable"
)

// holder names the process that holds the lock of a file, for a message: best effort, "" if the system does not tell.
func holder(file durable.Info) string {
	locks, _ := os.ReadFile("/proc/locks")
	want := fmt.Sprintf("%02x:%02x:%d", unix.Major(file.Dev), unix.Minor(file.Dev), file.Ino)
	for line := range strings.Lines(string(locks)) {
		// "1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF". Waiting processes have "->" after the number.
		field := strings.Fields(line)
		if len(field) < 6 || field[1] != "FLOCK" || field[5] != want {
			continue
		}
		name, err := os.ReadFile("/proc/" + field[4] + "/comm")
		if err != nil {
			return ": process " + field[4]
		}
		return fmt.Sprintf(": process %s (%s)", field[4], strings.TrimSpace(string(name)))
	}
	return ""
}
