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
	return int64(float64(available) * memoryShare)
}
