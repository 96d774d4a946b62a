// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
)

// installHostViews registers what the operating system tells: processors and memory
// (docs/relational-databases/system-dynamic-management-views).
func installHostViews(r *engine.Registry) {
	r.RecordView(
		"",
		"sys",
		"dm_os_schedulers",
		"scheduler_address varbinary(8), parent_node_id int, scheduler_id int, cpu_id smallint, status nvarchar(60), "+
			"is_online bit, is_idle bit, preemptive_switches_count int, "+
			"context_switches_count int, idle_switches_count int, current_tasks_count int, runnable_tasks_count int, "+
			"current_workers_count int, active_workers_count int, work_queue_count bigint, pending_disk_io_count int, "+
			"load_factor int, "+
			"yield_count int, last_timer_activity bigint, failed_to_create_worker bit, active_worker_address varbinary(8), "+
			"memory_object_address varbinary(8), task_memory_object_address varbinary(8), quantum_length_us bigint, "+
			"total_cpu_usage_ms bigint, total_cpu_idle_capped_ms bigint, total_scheduler_delay_ms bigint, "+
			"ideal_workers_limit int",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			var out []engine.Record
			for i := range runtime.NumCPU() {
				out = append(
					out,
					engine.Record{
						"parent_node_id": 0,
						"scheduler_id":   i,
						"cpu_id":         i,
						"status":         "VISIBLE ONLINE",
						"is_online":      true,
						"is_idle":        i > 0,
					},
				)
			}
			return out, nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"dm_os_sys_memory",
		"total_physical_memory_kb bigint, available_physical_memory_kb bigint, total_page_file_kb bigint, "+
			"available_page_file_kb bigint, system_cache_kb bigint, "+
			"kernel_paged_pool_kb bigint, kernel_nonpaged_pool_kb bigint, system_high_memory_signal_state bit, "+
			"system_low_memory_signal_state bit, system_memory_state_desc nvarchar(256)",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			m := kilobytes("/proc/meminfo")
			return []engine.Record{
				{
					"total_physical_memory_kb":        m["MemTotal"],
					"available_physical_memory_kb":    m["MemAvailable"],
					"total_page_file_kb":              m["MemTotal"] + m["SwapTotal"],
					"available_page_file_kb":          m["MemAvailable"] + m["SwapFree"],
					"system_cache_kb":                 m["Cached"],
					"system_high_memory_signal_state": true,
					"system_low_memory_signal_state":  false,
					"system_memory_state_desc":        "Available physical memory is high",
				},
			}, nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"dm_os_process_memory",
		"physical_memory_in_use_kb bigint, large_page_allocations_kb bigint, locked_page_allocations_kb bigint, "+
			"total_virtual_address_space_kb bigint, "+
			"virtual_address_space_reserved_kb bigint, virtual_address_space_committed_kb bigint, "+
			"virtual_address_space_available_kb bigint, page_fault_count bigint, memory_utilization_percentage int, "+
			"available_commit_limit_kb bigint, process_physical_memory_low bit, process_virtual_memory_low bit",
		func(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
			m := kilobytes("/proc/self/status")
			return []engine.Record{
				{
					"physical_memory_in_use_kb":          m["VmRSS"],
					"large_page_allocations_kb":          int64(0),
					"locked_page_allocations_kb":         m["VmLck"],
					"virtual_address_space_committed_kb": m["VmData"],
					"virtual_address_space_reserved_kb":  m["VmSize"],
					"memory_utilization_percentage":      100,
					"process_physical_memory_low":        false,
					"process_virtual_memory_low":         false,
				},
			}, nil
		},
	)
}

// kilobytes reads a file of lines "Name: 123 kB".
func kilobytes(path string) map[string]int64 {
	out := map[string]int64{}
	data, err := os.ReadFile(path)
	if err != nil {
		return out // another system; the columns are 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
			out[name] = n
		}
	}
	return out
}
