// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
)

// serverOption is sp_serveroption.
func (e *Extension) serverOption(ctx context.Context, call *engine.ProcCall) error {
	option, value := strings.ToLower(strings.TrimSpace(call.String("@optname"))), call.String("@optvalue")
	return e.changing(ctx, call.Session, call.String("@server"), "ALTER ANY LINKED SERVER", func(s *server) error {
		o := &s.Options
		flags := map[string]*bool{"rpc": &o.RPC, "rpc out": &o.RPCOut, "data access": &o.DataAccess,
			"collation compatible": &o.CollationCompatible, "use remote collation": &o.UseRemoteCollation,
			"lazy schema validation": &o.LazySchemaValidation, "remote proc transaction promotion": &o.Promotion,
			"system": &o.System, "pub": &o.Publisher, "sub": &o.Subscriber, "dist": &o.Distributor}
		if flag, ok := flags[option]; ok {
			switch strings.ToLower(value) {
			case "true", "on", "1":
				*flag = true
			case "false", "off", "0":
				*flag = false
			default:
				return failure(15600, 1, "sp_serveroption")
			}
			return nil
		}
		numbers := map[string]*int64{"connect timeout": &o.ConnectTimeout, "query timeout": &o.QueryTimeout}
		if number, ok := numbers[option]; ok {
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 0 {
				return failure(15600, 2, "sp_serveroption")
			}
			*number = n
			return nil
		}
		if option == "collation name" {
			o.CollationName = value
			return nil
		}
		return failure(15600, 3, "sp_serveroption")
	})
}

// helpServer is sp_helpserver.
func (e *Extension) helpServer(ctx context.Context, call *engine.ProcCall) error {
	rows, err := e.serverRows(ctx, call.Session)
	if err != nil {
		return err
	}
	cols := columns("name sysname", "network_name sysname", "status varchar(70)", "id char(4)", "collation_name sysname",
		"connect_timeout int", "query_timeout int")
	var out [][]any
	for _, r := range rows {
		if name := call.String("@server"); name != "" && !strings.EqualFold(name, r["name"].(string)) {
			continue
		}
		status := statusText(r)
		if option := call.String("@optname"); option != "" && !strings.Contains(","+status+",", ","+option+",") {
			continue
		}
		out = append(
			out,
			[]any{r["name"], cell(r["data_source"]), status, fmt.Sprintf("%-4d", r["server_id"]), cell(r["collation_name"]),
				cell(r["connect_timeout"]), cell(r["query_timeout"])},
		)
	}
	if len(out) == 0 && call.String("@server") != "" {
		return failure(15015, 1, call.String("@server"))
	}
	return call.ResultSet(cols, out)
}

// statusText lists the options that are on.
func statusText(r viewRow) string {
	var on []string
	for _, o := range []struct{ column, word string }{{"is_remote_login_enabled", "rpc"},
		{"is_rpc_out_enabled", "rpc out"},
		{"is_publisher", "pub"}, {"is_subscriber", "sub"}, {"is_distributor", "dist"}, {"is_system", "system"},
		{"is_data_access_enabled", "data access"}, {"is_collation_compatible", "collation compatible"},
		{"lazy_schema_validation", "lazy schema validation"}, {"uses_remote_collation", "use remote collation"}} {
		if r[o.column] == true {
			on = append(on, o.word)
		}
	}
	return strings.Join(on, ",")
}

func (e *Extension) installServerViews(r *engine.Registry) {
	e.view(r, "servers", documented("sys.servers"), e.serverRows)
	e.view(r, "linked_logins", documented("sys.linked_logins"), e.linkedLoginRows)
}

func (e *Extension) serverRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	local := &server{ID: localServerID, Name: e.inst.ServerName(), Product: "SQL Server", Provider: "SQLNCLI",
		DataSource: e.inst.ServerName(), Modified: e.inst.StartTime().UTC(),
		Options: serverOptions{RPC: true, RPCOut: true, UseRemoteCollation: true, Promotion: true}}
	var rows []viewRow
	for _, srv := range append([]*server{local}, c.servers...) {
		o := srv.Options
		row := viewRow{"server_id": srv.ID, "name": srv.Name, "product": srv.Product, "provider": srv.Provider,
			"data_source": srv.DataSource, "connect_timeout": o.ConnectTimeout, "query_timeout": o.QueryTimeout,
			"is_linked": srv.Linked, "is_remote_login_enabled": o.RPC, "is_rpc_out_enabled": o.RPCOut,
			"is_data_access_enabled": o.DataAccess, "is_collation_compatible": o.CollationCompatible,
			"uses_remote_collation": o.UseRemoteCollation, "lazy_schema_validation": o.LazySchemaValidation,
			"is_system": o.System, "is_publisher": o.Publisher, "is_subscriber": o.Subscriber, "is_distributor": o.Distributor,
			"is_nonsql_subscriber": false, "is_remote_proc_transaction_promotion_enabled": o.Promotion,
			"modify_date": srv.Modified}
		for column, text := range map[string]string{"location": srv.Location, "provider_string": srv.ProviderString,
			"catalog": srv.Catalog, "collation_name": o.CollationName} {
			if text != "" {
				row[column] = text
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (e *Extension) linkedLoginRows(ctx context.Context, s *engine.Session) ([]viewRow, error) {
	c, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	rows := []viewRow{{"server_id": int32(localServerID), "local_principal_id": 0, "uses_self_credential": true,
		"modify_date": e.inst.StartTime().UTC()}}
	for _, srv := range c.servers {
		for _, l := range srv.Logins {
			row := viewRow{"server_id": srv.ID, "local_principal_id": l.Local, "uses_self_credential": l.UseSelf,
				"modify_date": l.Modified}
			if l.Remote != "" {
				row["remote_name"] = l.Remote
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
