// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/sqltype"
)

// snapshot is what other sessions may see of one.
type snapshot struct {
	running            bool
	command, text      string
	since, last        time.Time
	database, blocking int
	wait               string
	waitSince          time.Time
	openTran           int
	prevError          int32
}

func (s *Session) snapshot() snapshot {
	st := &s.status
	st.mu.Lock()
	defer st.mu.Unlock()
	out := snapshot{
		running:   st.running,
		command:   st.command,
		text:      st.text,
		since:     st.since,
		last:      st.last,
		database:  int(st.database),
		blocking:  st.blockedBy,
		wait:      st.wait,
		waitSince: st.waitSince,
		openTran:  st.openTran,
		prevError: st.prevError,
	}
	if out.since.IsZero() {
		out.since = s.started
	}
	if out.last.IsZero() {
		out.last = out.since
	}
	if out.database == 0 {
		out.database = 1
	}
	if out.command == "" {
		out.command = "AWAITING COMMAND"
		if out.running {
			out.command = firstWord(out.text)
		}
	}
	return out
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}

func connectionID(s *Session) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strconv.Itoa(s.spid)+s.started.String()))
}

func endpoint(a net.Addr) (host string, port int64) {
	if a == nil {
		return "<local machine>", 0
	}
	h, p, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String(), 0
	}
	n, _ := strconv.ParseInt(p, 10, 64)
	return h, n
}

func installSessionViews(r *Registry) {
	r.RecordView(
		"",
		"sys",
		"dm_exec_sessions",
		"session_id smallint, login_time datetime, host_name nvarchar(128), program_name nvarchar(128), host_process_id "+
			"int, client_version int, "+
			"client_interface_name nvarchar(32), security_id varbinary(85), login_name nvarchar(128), nt_domain "+
			"nvarchar(128), nt_user_name nvarchar(128), status nvarchar(30), context_info varbinary(128), "+
			"cpu_time int, memory_usage int, total_scheduled_time int, total_elapsed_time int, endpoint_id int, "+
			"last_request_start_time datetime, last_request_end_time datetime, reads bigint, writes bigint, "+
			"logical_reads bigint, is_user_process bit, text_size int, language nvarchar(128), date_format nvarchar(3), "+
			"date_first smallint, quoted_identifier bit, arithabort bit, ansi_null_dflt_on bit, "+
			"ansi_defaults bit, ansi_warnings bit, ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, "+
			"transaction_isolation_level smallint, lock_timeout int, deadlock_priority int, "+
			"row_count bigint, prev_error int, original_security_id varbinary(85), original_login_name nvarchar(128), "+
			"last_successful_logon datetime, last_unsuccessful_logon datetime, "+
			"unsuccessful_logons bigint, group_id int, database_id smallint, authenticating_database_id int, "+
			"open_transaction_count int, page_server_reads bigint, contained_availability_group_id uniqueidentifier",
		sessionRecords,
	)
	r.RecordView(
		"",
		"sys",
		"dm_exec_connections",
		"session_id int, most_recent_session_id int, connect_time datetime, net_transport nvarchar(40), protocol_type "+
			"nvarchar(40), protocol_version int, "+
			"endpoint_id int, encrypt_option nvarchar(40), auth_scheme nvarchar(40), node_affinity smallint, num_reads int, "+
			"num_writes int, last_read datetime, last_write datetime, net_packet_size int, "+
			"client_net_address varchar(48), client_tcp_port int, local_net_address varchar(48), local_tcp_port int, "+
			"connection_id uniqueidentifier, parent_connection_id uniqueidentifier, "+
			"most_recent_sql_handle varbinary(64)",
		connectionRecords,
	)
	r.RecordView(
		"",
		"sys",
		"dm_exec_requests",
		"session_id smallint, request_id int, start_time datetime, status nvarchar(30), command nvarchar(32), sql_handle "+
			"varbinary(64), "+
			"statement_start_offset int, statement_end_offset int, plan_handle varbinary(64), database_id smallint, user_id "+
			"int, connection_id uniqueidentifier, blocking_session_id smallint, "+
			"wait_type nvarchar(60), wait_time int, last_wait_type nvarchar(60), wait_resource nvarchar(256), "+
			"open_transaction_count int, open_resultset_count int, transaction_id bigint, "+
			"context_info varbinary(128), percent_complete real, estimated_completion_time bigint, cpu_time int, "+
			"total_elapsed_time int, scheduler_id int, task_address varbinary(8), reads bigint, writes bigint, "+
			"logical_reads bigint, text_size int, language nvarchar(128), date_format nvarchar(3), date_first smallint, "+
			"quoted_identifier bit, arithabort bit, ansi_null_dflt_on bit, ansi_defaults bit, "+
			"ansi_warnings bit, ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, transaction_isolation_level "+
			"smallint, lock_timeout int, deadlock_priority int, row_count bigint, prev_error int, "+
			"nest_level int, granted_query_memory int, executing_managed_code bit, group_id int, query_hash binary(8), "+
			"query_plan_hash binary(8), statement_sql_handle varbinary(64), statement_context_id bigint, "+
			"dop int, parallel_worker_count int, external_script_request_id uniqueidentifier, is_resumable bit, "+
			"page_resource binary(8), page_server_reads bigint, dist_statement_id uniqueidentifier",
		requestRecords,
	)
	r.RecordView(
		"",
		"sys",
		"sysprocesses",
		"spid smallint, kpid smallint, blocked smallint, waittype binary(2), waittime bigint, lastwaittype nchar(32), "+
			"waitresource nchar(256), dbid smallint, uid smallint, "+
			"cpu int, physical_io bigint, memusage int, login_time datetime, last_batch datetime, ecid smallint, open_tran "+
			"smallint, status nchar(30), sid binary(86), hostname nchar(128), "+
			"program_name nchar(128), hostprocess nchar(10), cmd nchar(52), nt_domain nchar(128), nt_username nchar(128), "+
			"net_address nchar(12), net_library nchar(12), loginame nchar(128), context_info binary(128), "+
			"sql_handle binary(20), stmt_start int, stmt_end int, request_id int, page_resource binary(8)",
		func(ctx context.Context, s *Session) ([]record, error) {
			var out []record
			for _, x := range s.inst.Sessions() {
				n := x.snapshot()
				status := "sleeping"
				if n.running {
					status = "runnable"
				}
				out = append(
					out,
					record{
						"spid":         x.spid,
						"kpid":         0,
						"blocked":      n.blocking,
						"waittime":     0,
						"lastwaittype": n.wait,
						"dbid":         n.database,
						"uid":          1,
						"cpu":          0,
						"physical_io":  0,
						"memusage":     0,
						"login_time":   x.started.UTC(),
						"last_batch":   n.since.UTC(),
						"ecid":         0,
						"open_tran":    n.openTran,
						"status":       status,
						"hostname":     x.request.HostName,
						"program_name": x.request.AppName,
						"cmd":          n.command,
						"nt_domain":    "",
						"nt_username":  "",
						"net_address":  "",
						"net_library":  "TCP/IP",
						"loginame":     x.original.Name,
						"sid":          x.original.SID,
						"waitresource": "",
						"sql_handle":   []byte{byte(x.spid >> 8), byte(x.spid)},
						"stmt_start":   0,
						"stmt_end":     -1,
						"request_id":   0,
					},
				)
			}
			return out, nil
		},
	)
	r.RecordView(
		"",
		"sys",
		"dm_tran_session_transactions",
		"session_id int, transaction_id bigint, transaction_descriptor binary(8), enlist_count int, is_user_transaction "+
			"bit, is_local bit, "+
			"is_enlisted bit, is_bound bit, open_transaction_count int",
		func(ctx context.Context, s *Session) ([]record, error) {
			var out []record
			if s.count > 0 {
				out = append(
					out,
					record{
						"session_id":             s.spid,
						"transaction_id":         int64(s.descriptor),
						"enlist_count":           1,
						"is_user_transaction":    true,
						"is_local":               true,
						"is_enlisted":            false,
						"is_bound":               false,
						"open_transaction_count": s.count,
					},
				)
			}
			return out, nil
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       "dm_exec_sql_text",
			Parameters: []sqltype.Type{sqltype.VarBinaryOf(64)},
			Columns:    columns("dbid smallint, objectid int, number smallint, encrypted bit, text nvarchar(max)"),
			Rows: func(ctx context.Context, s *Session, args []any) ([][]any, error) {
				h, _ := args[0].([]byte)
				for _, x := range s.inst.Sessions() {
					if len(h) == 2 && int(h[0])<<8|int(h[1]) == x.spid {
						n := x.snapshot()
						return [][]any{{int64(n.database), nil, nil, false, n.text}}, nil
					}
				}
				return nil, nil
			},
		},
	)
}

func sessionRecords(ctx context.Context, s *Session) ([]record, error) {
	var out []record
	for _, x := range s.inst.Sessions() {
		n := x.snapshot()
		status := "sleeping"
		if n.running {
			status = "running"
		}
		rec := record{
			"session_id":     x.spid,
			"login_time":     x.started.UTC(),
			"host_name":      x.request.HostName,
			"program_name":   x.request.AppName,
			"client_version": 7,
			"client_interface_name": sqltype.Cut(
				x.request.Library,
				32,
			),
			"security_id":                 x.original.SID,
			"login_name":                  x.original.Name,
			"nt_domain":                   "",
			"nt_user_name":                "",
			"status":                      status,
			"cpu_time":                    0,
			"memory_usage":                2,
			"total_scheduled_time":        0,
			"total_elapsed_time":          int(time.Since(x.started).Milliseconds()),
			"endpoint_id":                 4,
			"last_request_start_time":     n.since.UTC(),
			"last_request_end_time":       n.last.UTC(),
			"reads":                       0,
			"writes":                      0,
			"logical_reads":               0,
			"is_user_process":             !x.internal,
			"language":                    "us_english",
			"date_format":                 "mdy",
			"date_first":                  7,
			"quoted_identifier":           true,
			"arithabort":                  true,
			"ansi_null_dflt_on":           true,
			"ansi_defaults":               false,
			"ansi_warnings":               true,
			"ansi_padding":                true,
			"ansi_nulls":                  true,
			"concat_null_yields_null":     true,
			"transaction_isolation_level": 2,
			"lock_timeout":                -1,
			"deadlock_priority":           0,
			"row_count":                   0,
			"prev_error":                  n.prevError,
			"original_security_id":        x.original.SID,
			"original_login_name":         x.original.Name,
			"group_id":                    2,
			"database_id":                 n.database,
			"authenticating_database_id":  1,
			"open_transaction_count":      n.openTran,
			"page_server_reads":           0,
		}
		if x == s {
			// Only the session itself may read what its statements change.
			rec["transaction_isolation_level"], rec["lock_timeout"], rec["deadlock_priority"] = int64(
				s.settings.isolation,
			), s.settings.lockTimeout, s.settings.deadlock
			rec["row_count"], rec["text_size"], rec["login_name"], rec["open_transaction_count"] = s.rowCount,
				s.settings.textSize, s.login.Name, s.count
			rec["language"], rec["date_format"], rec["date_first"] = s.settings.language, s.settings.dates.order.String(),
				s.settings.dates.first
			if s.settings.contextInfo != nil {
				rec["context_info"] = s.settings.contextInfo
			}
		}
		out = append(out, rec)
	}
	return out, nil
}

func connectionRecords(ctx context.Context, s *Session) ([]record, error) {
	var out []record
	for _, x := range s.inst.Sessions() {
		if x.internal {
			continue
		}
		n := x.snapshot()
		remote, remotePort := endpoint(x.request.Remote)
		local, localPort := endpoint(x.request.Local)
		encrypted := "FALSE"
		if x.request.Encrypted {
			encrypted = "TRUE"
		}
		out = append(
			out,
			record{
				"session_id":             x.spid,
				"most_recent_session_id": x.spid,
				"connect_time":           x.started.UTC(),
				"net_transport":          "TCP",
				"protocol_type":          "TSQL",
				"protocol_version":       1946157060,
				"endpoint_id":            4,
				"encrypt_option":         encrypted,
				"auth_scheme":            "SQL",
				"node_affinity":          0,
				"num_reads":              0,
				"num_writes":             0,
				"last_read":              n.since.UTC(),
				"last_write":             n.last.UTC(),
				"net_packet_size":        x.request.PacketSize,
				"client_net_address":     remote,
				"client_tcp_port":        remotePort,
				"local_net_address":      local,
				"local_tcp_port":         localPort,
				"connection_id":          connectionID(x),
				"most_recent_sql_handle": []byte{byte(x.spid >> 8), byte(x.spid)},
			},
		)
	}
	return out, nil
}

// settingsOfRequest are the columns that a request has of its session.
var settingsOfRequest = []string{
	"text_size",
	"language",
	"date_format",
	"date_first",
	"quoted_identifier",
	"arithabort",
	"ansi_null_dflt_on",
	"ansi_defaults",
	"ansi_warnings",
	"ansi_padding",
	"ansi_nulls",
	"concat_null_yields_null",
	"transaction_isolation_level",
	"lock_timeout",
	"deadlock_priority",
	"prev_error",
	"context_info",
}

func requestRecords(ctx context.Context, s *Session) ([]record, error) {
	sessions, err := sessionRecords(ctx, s)
	if err != nil {
		return nil, err
	}
	of := map[any]record{}
	for _, rec := range sessions {
		of[rec["session_id"]] = rec
	}
	var out []record
	for _, x := range s.inst.Sessions() {
		n := x.snapshot()
		if !n.running {
			continue
		}
		rec := record{
			"session_id":                x.spid,
			"request_id":                0,
			"start_time":                n.since.UTC(),
			"status":                    "running",
			"command":                   n.command,
			"sql_handle":                []byte{byte(x.spid >> 8), byte(x.spid)},
			"statement_start_offset":    0,
			"statement_end_offset":      -1,
			"database_id":               n.database,
			"user_id":                   1,
			"connection_id":             connectionID(x),
			"blocking_session_id":       n.blocking,
			"last_wait_type":            "MISCELLANEOUS",
			"wait_resource":             "",
			"open_transaction_count":    n.openTran,
			"open_resultset_count":      1,
			"transaction_id":            0,
			"percent_complete":          float64(0),
			"estimated_completion_time": 0,
			"cpu_time":                  0,
			"total_elapsed_time":        int(time.Since(n.since).Milliseconds()),
			"scheduler_id":              0,
			"reads":                     0,
			"writes":                    0,
			"logical_reads":             0,
			"text_size":                 4096,
			"row_count":                 0,
			"nest_level":                0,
			"granted_query_memory":      0,
			"executing_managed_code":    false,
			"group_id":                  2,
			"wait_time":                 0,
			"dop":                       1,
			"is_resumable":              false,
			"page_server_reads":         0,
		}
		for _, name := range settingsOfRequest {
			if v := of[x.spid][name]; v != nil {
				rec[name] = v
			}
		}
		if n.wait != "" {
			rec["status"], rec["wait_type"], rec["last_wait_type"], rec["wait_time"] = "suspended", n.wait, n.wait, int(
				time.Since(n.waitSince).Milliseconds(),
			)
		}
		out = append(out, rec)
	}
	return out, nil
}

// InputBuffer is the text that the session sent last; empty before the first.
func (s *Session) InputBuffer() string { return s.snapshot().text }

// OldestTransaction is the session with the oldest open transaction in db, the transaction's name where that is known,
// and its start, as far as they are known from between batches; spid is 0 when there is none.
func (s *Session) OldestTransaction(db *Database) (spid int, name string, began time.Time) {
	began, spid, name = s.began, s.spid, s.name
	if s.count == 0 || s.db != db {
		spid = 0
	}
	for _, other := range s.inst.Sessions() {
		other.status.mu.Lock()
		if other != s && other.status.openTran > 0 && other.status.database == db.ID() &&
			(spid == 0 || other.status.began.Before(began)) {
			began, spid, name = other.status.began, other.spid, ""
		}
		other.status.mu.Unlock()
	}
	return spid, name, began
}
