// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"strconv"
	"strings"
)

// memoryShare is the part of memory that is used unless MSSQL_MEMORY_LIMIT_MB says otherwise.
const memoryShare = 0.8

// MemoryLimit is the soft limit in bytes: MSSQL_MEMORY_LIMIT_MB, or 80 % of what the container or machine has; 0 when
// that cannot be told.
func (s *Settings) MemoryLimit() int64 {
	if s.MemoryLimitMB > 0 {
		return int64(s.MemoryLimitMB) << 20
	}
	return int64(float64(AvailableMemory()) * memoryShare)
}

// leastMemory is what the machine or container must have, in bytes; the image ends at once with less
// (docs/linux/sql-server-linux-setup.md, System requirements).
const leastMemory = 2000 * 1000 * 1000

// CheckMemory refuses a machine or container with less memory than the image starts with; 0 stands for what cannot be
// told.
func CheckMemory(available int64) error {
	// The kernel rounds a container's limit down to whole pages.
	if available > 0 && available+int64(os.Getpagesize()) <= leastMemory {
		return refuse("This program requires a machine with at least 2000 megabytes of memory.")
	}
	return nil
}

// AvailableMemory is what the container or machine has, in bytes; 0 when that cannot be told.
func AvailableMemory() int64 {
	available := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
				kb, _ := strconv.ParseInt(fields[1], 10, 64)
				available = kb << 10
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 &&
				(available == 0 || n < available) {
				available = n
			}
		}
	}
	return available
}
