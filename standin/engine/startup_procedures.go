// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// setProcedureOption is sp_procoption
// (docs/relational-databases/system-stored-procedures/sp-procoption-transact-sql.md).
func setProcedureOption(ctx context.Context, c *ProcCall) error {
	on, known := map[string]bool{"true": true, "on": true, "false": false,
		"off": false}[lower(strings.TrimSpace(c.String("@OptionValue")))]
	if !known || !strings.EqualFold(strings.TrimSpace(c.String("@OptionName")), metadata.StartupOption) {
		return sqlerr.New(15600, 1, "sys.sp_procoption")
	}
	if !c.Session.login.Sysadmin {
		return sqlerr.New(15247, 1)
	}
	name := bind.SplitName(c.String("@ProcName"))
	return c.Session.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		o := d.LookUp(name)
		switch {
		case o == nil || o.Kind != metadata.KindProcedure:
			return sqlerr.New(15165, 1, c.String("@ProcName"))
		case d.db == nil || d.db.ID() != 1 || o.Schema != 1:
			return sqlerr.New(15398, 1)
		}
		_, node, err := bind.ParseModule(o)
		if err != nil {
			return err
		}
		if len(bind.ModuleOf(node).Parameters) > 0 {
			return sqlerr.New(15399, 1)
		}
		changed := *o
		changed.Properties = map[string]string{}
		for k, v := range o.Properties {
			changed.Properties[k] = v
		}
		if delete(changed.Properties, metadata.StartupOption); on {
			changed.Properties[metadata.StartupOption] = "on"
		}
		return d.Modify(&changed)
	})
}

// startProcedures runs the startup procedures, each in a session of its own beside the clients; a minimal start runs
// none.
func (inst *Instance) startProcedures(ctx context.Context) error {
	if inst.config.Minimal {
		return nil
	}
	s, err := inst.Session(ctx, SystemLogin, "master", "startup procedures")
	if err != nil {
		return err
	}
	defer s.Close()
	sch, err := s.schema(ctx, 1)
	if err != nil {
		return err
	}
	for _, o := range sch.Objects {
		if o.Kind == metadata.KindProcedure && o.Properties[metadata.StartupOption] != "" {
			go inst.startProcedure(sch.SchemaName(o), o.Name)
		}
	}
	return nil
}

func (inst *Instance) startProcedure(schema, name string) {
	ctx := context.Background()
	inst.log.Info("Launched startup procedure '" + name + "'.")
	s, err := inst.Session(ctx, SystemLogin, "master", "")
	if err == nil {
		defer s.Close()
		err = s.Exec(ctx, "EXEC "+syntax.QuoteName(schema)+"."+syntax.QuoteName(name))
	}
	if err != nil {
		inst.log.Error("a startup procedure failed", "procedure", name, "error", err)
	}
}
