// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/storage/disk"
)

// bootMS are the milliseconds that ms_ticks counts from.
var bootMS = time.Now().Add(-time.Hour)

func installServerViews(r *Registry) {
	r.View(View{Schema: "sys", Name: "configurations", Rows: configurationRows})
	r.RecordView("", "sys", "dm_os_sys_info", "", sysInfoRecords)
	r.RecordView("", "sys", "dm_os_host_info", "", func(ctx context.Context, s *Session) ([]record, error) {
		name, release := hostRelease()
		return []record{
			{
				"host_platform":           "Linux",
				"host_distribution":       name,
				"host_release":            release,
				"host_service_pack_level": "",
				"os_language_version":     1033,
			},
		}, nil
	})
	r.RecordView("", "sys", "dm_os_performance_counters", "", counterRecords)
	r.RecordView("", "sys", "dm_os_wait_stats", "", func(ctx context.Context, s *Session) ([]record, error) {
		return nil, nil
	})
	r.RecordView("", "sys", "dm_server_services", "", func(ctx context.Context, s *Session) ([]record, error) {
		exe, err := os.Executable()
		if err != nil {
			exe = ""
		}
		services := []record{{"servicename": "SQL Server (MSSQLSERVER)", "status": 4, "status_desc": "Running"}}
		agent := record{"servicename": "SQL Server Agent (MSSQLSERVER)", "status": 1, "status_desc": "Stopped"}
		if s.inst.config.AgentEnabled {
			agent["status"], agent["status_desc"] = 4, "Running"
		}
		services = append(services, agent)
		for _, rec := range services {
			rec["startup_type_desc"] = "Automatic"
			rec["startup_type"], rec["startup_desc"], rec["process_id"], rec["last_startup_time"] = 2, "Automatic", os.Getpid(),
				s.inst.started.UTC()
			rec["service_account"], rec["filename"], rec["is_clustered"], rec["instant_file_initialization_enabled"] = "mssql",
				exe, "N", "Y"
		}
		return services, nil
	})
	// Of two editions of the page one calls the column startup_desc, the other startup_type_desc.
	r.AddColumns("sys.dm_server_services", "startup_type_desc nvarchar(256)")
	r.RecordView("", "sys", "dm_db_log_space_usage", "", func(ctx context.Context, s *Session) ([]record, error) {
		st := s.viewDatabase().Storage()
		if st == nil {
			return nil, nil
		}
		total := st.Log().Size()
		used := int64(st.Log().Bytes(st.Log().End()) - st.Log().Bytes(st.Log().Oldest()))
		percent := float64(0)
		if total > 0 {
			percent = float64(used) * 100 / float64(total)
		}
		_, log := st.BackupPositions()
		since := used
		if !log.IsZero() && st.Log().Oldest().Less(log) {
			since = int64(st.Log().Bytes(st.Log().End()) - st.Log().Bytes(log))
		}
		return []record{
			{
				"database_id":                          s.viewDatabase().ID(),
				"total_log_size_in_bytes":              total,
				"used_log_space_in_bytes":              used,
				"used_log_space_in_percent":            percent,
				"log_space_in_bytes_since_last_backup": since,
			},
		}, nil
	})
	r.RecordView(
		"",
		"sys",
		"languages",
		"langid smallint, dateformat nchar(3), datefirst tinyint, upgrade int, name sysname, alias sysname, months "+
			"nvarchar(372), shortmonths nvarchar(132), days nvarchar(217), lcid int, msglangid smallint",
		languageRecords,
	)
	installServerFunctions(r)
}

func sysInfoRecords(ctx context.Context, s *Session) ([]record, error) {
	memory := physicalMemoryKB()
	if limit := s.inst.config.MemoryLimitMB * 1024; limit > 0 && limit < memory {
		memory = limit
	}
	now := time.Now()
	cpus := runtime.NumCPU()
	return []record{
		{
			"cpu_ticks":                      now.UnixNano(),
			"ms_ticks":                       now.Sub(bootMS).Milliseconds(),
			"cpu_count":                      cpus,
			"hyperthread_ratio":              cpus,
			"physical_memory_kb":             memory,
			"virtual_memory_kb":              int64(1) << 37,
			"committed_kb":                   memory / 8,
			"committed_target_kb":            memory,
			"visible_target_kb":              memory,
			"stack_size_in_bytes":            2093056,
			"os_quantum":                     4,
			"os_error_mode":                  0,
			"os_priority_class":              32,
			"max_workers_count":              512,
			"scheduler_count":                cpus,
			"scheduler_total_count":          cpus,
			"deadlock_monitor_serial_number": 0,
			"sqlserver_start_time_ms_ticks":  s.inst.started.Sub(bootMS).Milliseconds(),
			"sqlserver_start_time":           s.inst.started.UTC(),
			"affinity_type":                  2,
			"affinity_type_desc":             "AUTO",
			"process_kernel_time_ms":         0,
			"process_user_time_ms":           0,
			"time_source":                    0,
			"time_source_desc":               "QUERY_PERFORMANCE_COUNTER",
			"virtual_machine_type":           1,
			"virtual_machine_type_desc":      "HYPERVISOR",
			"softnuma_configuration":         0,
			"softnuma_configuration_desc":    "OFF",
			"sql_memory_model":               1,
			"sql_memory_model_desc":          "CONVENTIONAL",
			"socket_count":                   1,
			"cores_per_socket":               cpus,
			"numa_node_count":                1,
		},
	}, nil
}

func physicalMemoryKB() int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			n := int64(0)
			for _, c := range fields[1] {
				n = n*10 + int64(c-'0')
			}
			return n
		}
	}
	return 0
}

func hostRelease() (name, version string) {
	raw, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "Linux", ""
	}
	name = "Linux"
	for _, line := range strings.Split(string(raw), "\n") {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(value, `"`)
		switch key {
		case "NAME":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	return name, version
}

// counterRecords are the counters that the engine and its extensions count
// (docs/relational-databases/performance-monitor).
func counterRecords(ctx context.Context, s *Session) ([]record, error) {
	const object, bulk, large = "SQLServer:", int64(272696576), int64(65792)
	var out []record
	add := func(group, counter, instance string, value, kind int64) {
		out = append(
			out,
			record{
				"object_name":   object + group,
				"counter_name":  counter,
				"instance_name": instance,
				"cntr_value":    value,
				"cntr_type":     kind,
			},
		)
	}
	c := &s.inst.counters
	add("SQL Statistics", "Batch Requests/sec", "", c.batches.Load(), bulk)
	add("General Statistics", "User Connections", "", int64(len(s.inst.Sessions())), large)
	add("General Statistics", "Logins/sec", "", c.logins.Load(), bulk)
	add("Databases", "Transactions/sec", "_Total", c.transactions.Load(), bulk)
	for _, db := range s.inst.Databases() {
		st := db.Storage()
		if st == nil {
			continue
		}
		info := db.Info()
		add("Databases", "Data File(s) Size (KB)", info.Name, disk.Size(s.inst.filesOnDisk(info.Files).Data)/1024, large)
		add("Databases", "Log File(s) Size (KB)", info.Name, st.Log().Size()/1024, large)
		used := int64(st.Log().Bytes(st.Log().End()) - st.Log().Bytes(st.Log().Oldest()))
		add("Databases", "Log File(s) Used Size (KB)", info.Name, used/1024, large)
		add("Databases", "Log Flushes/sec", info.Name, st.Log().Flushes(), bulk)
		add("Databases", "Log Bytes Flushed/sec", info.Name, int64(st.Log().Bytes(st.Log().Hardened())), bulk)
	}
	for _, more := range s.inst.registry.counters {
		for _, c := range more() {
			kind := large
			if strings.HasSuffix(c.Name, "/sec") {
				kind = bulk
			}
			add(c.Object, c.Name, c.Instance, c.Value, kind)
		}
	}
	return out, nil
}

func installServerFunctions(r *Registry) {
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_db_log_stats",
			Parameters: []sqltype.Type{intT},
			Columns: columns("database_id int, recovery_model nvarchar(60), log_min_lsn nvarchar(24), " +
				"log_end_lsn nvarchar(24), current_vlf_sequence_number bigint, current_vlf_size_mb float, total_vlf_count " +
				"bigint, total_log_size_mb float, active_vlf_count bigint, active_log_size_mb float, " +
				"log_truncation_holdup_reason nvarchar(60), log_backup_time datetime, log_backup_lsn nvarchar(24), " +
				"log_since_last_log_backup_mb float, log_checkpoint_lsn nvarchar(24), " +
				"log_since_last_checkpoint_mb float, log_recovery_lsn nvarchar(24), log_recovery_size_mb float, " +
				"recovery_vlf_count bigint"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				db := s.db
				if args[0] != nil {
					db = s.inst.DatabaseByID(int32(integer(args[0])))
				}
				if db == nil || db.Storage() == nil {
					return nil, nil
				}
				return logStats(db, db.Storage()), nil
			},
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_io_virtual_file_stats",
			Parameters: []sqltype.Type{intT, intT},
			Columns: columns("database_id smallint, file_id smallint, sample_ms bigint, " +
				"num_of_reads bigint, num_of_bytes_read bigint, io_stall_read_ms bigint, io_stall_queued_read_ms bigint, " +
				"num_of_writes bigint, num_of_bytes_written bigint, io_stall_write_ms bigint, " +
				"io_stall_queued_write_ms bigint, io_stall bigint, size_on_disk_bytes bigint, file_handle varbinary(8)"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				var rows [][]any
				for _, db := range s.inst.Databases() {
					if args[0] != nil && integer(args[0]) != int64(db.ID()) {
						continue
					}
					for _, f := range db.Files(ctx) {
						if args[1] != nil && integer(args[1]) != int64(f.ID) {
							continue
						}
						written := int64(0)
						if st := db.Storage(); st != nil && f.Log {
							written = int64(st.Log().Bytes(st.Log().Hardened()))
						}
						rows = append(
							rows,
							[]any{
								int64(db.ID()),
								int64(f.ID),
								time.Since(s.inst.started).Milliseconds(),
								int64(0),
								int64(0),
								int64(0),
								int64(0),
								int64(0),
								written,
								int64(0),
								int64(0),
								int64(0),
								disk.Size(f.PhysicalName),
								nil,
							},
						)
					}
				}
				return rows, nil
			},
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_os_volume_stats",
			Parameters: []sqltype.Type{intT, intT},
			Columns: columns("database_id int, file_id int, volume_mount_point nvarchar(512), " +
				"volume_id nvarchar(512), logical_volume_name nvarchar(512), file_system_type nvarchar(512), total_bytes " +
				"bigint, available_bytes bigint, supports_compression bit, " +
				"supports_alternate_streams bit, supports_sparse_files bit, is_read_only bit, is_compressed bit"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				db := s.inst.DatabaseByID(int32(integer(args[0])))
				if db == nil {
					return nil, nil
				}
				for _, f := range db.Files(ctx) {
					if int64(f.ID) == integer(args[1]) {
						total, free := disk.Volume(f.PhysicalName)
						return [][]any{
							{int64(db.ID()), int64(f.ID), "/", "", "", "", total, free, int64(0), int64(0), int64(1), int64(0), int64(0)},
						}, nil
					}
				}
				return nil, nil
			},
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "string_split ordinal",
			Parameters: []sqltype.Type{nmax, nmax, sqltype.IntType},
			Columns:    columns("value nvarchar(4000), ordinal bigint"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				rows, err := s.inst.registry.tableFunctions["sys.string_split"].Rows(ctx, s, args[:2])
				for i := range rows {
					rows[i] = append(rows[i], int64(i+1))
				}
				return rows, err
			},
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "string_split",
			Parameters: []sqltype.Type{nmax, nmax},
			Columns:    columns("value nvarchar(4000)"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				text, ok := args[0].(string)
				sep, separates := args[1].(string)
				switch {
				case separates && len([]rune(sep)) != 1:
					return nil, sqlerr.New(214, 11, "separator", "nchar(1)/nvarchar(1)")
				case !ok || !separates:
					return nil, nil
				}
				var rows [][]any
				for _, part := range strings.Split(text, sep) {
					rows = append(rows, []any{part})
				}
				return rows, nil
			},
		},
	)
	installSeries(r)
}

func logStats(db *Database, st *storage.Database) [][]any {
	log := st.Log()
	mb := func(n uint64) any { return float64(n) / (1 << 20) }
	_, reason := st.ReuseWait()
	active := log.Bytes(log.End()) - log.Bytes(log.Oldest())
	_, backup := st.BackupPositions()
	since := active
	if !backup.IsZero() && log.Oldest().Less(backup) {
		since = log.Bytes(log.End()) - log.Bytes(backup)
	}
	segment := uint64(max(1, log.Segments()))
	return [][]any{
		{
			int64(db.ID()),
			db.RecoveryName(),
			log.Oldest().String(),
			log.End().String(),
			int64(log.End().VLF()),
			mb(uint64(log.Size()) / segment),
			int64(log.Segments()),
			mb(
				uint64(log.Size()),
			),
			int64(log.Segments()),
			mb(active),
			reason,
			nil,
			backup.String(),
			mb(since),
			log.Oldest().String(),
			mb(active),
			log.Oldest().String(),
			mb(active),
			int64(log.Segments()),
		},
	}
}
