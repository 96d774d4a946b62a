// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
)

// givenPlaces are those of sp_addpublication: 21157 for compression without an alternate folder.
func givenPlaces(call *engine.ProcCall) (agent.SnapshotPlaces, error) {
	p := agent.SnapshotPlaces{
		InDefault: !call.Given("@snapshot_in_defaultfolder") || yes(call, "@snapshot_in_defaultfolder"),
		Alt:       call.String("@alt_snapshot_folder"),
		Compress: yes(
			call,
			"@compress_snapshot",
		),
		Pre:  call.String("@pre_snapshot_script"),
		Post: call.String("@post_snapshot_script"),
	}
	return p, p.Check("sp_addpublication")
}

// changePlaces is sp_changepublication for where snapshots go: the next one counts, so the one that is there must be
// given up (20607).
func (e *Extension) changePlaces(
	ctx context.Context,
	call *engine.ProcCall,
	pub publication,
	property, value string,
) error {
	s := call.Session
	r, err := s.Query(ctx, "SELECT "+agent.PlacesColumns+" FROM dbo.syspublications WHERE pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	p := agent.SnapshotPlaces{
		InDefault: r.Int(0, "snapshot_in_defaultfolder") == 1,
		Alt:       r.String(0, "alt_snapshot_folder"),
		Compress:  r.Int(0, "compress_snapshot") == 1,
	}
	stored := orNull(value)
	flag := strings.EqualFold(value, "true")
	switch property {
	case "alt_snapshot_folder":
		p.Alt = value
	case "compress_snapshot", "snapshot_in_defaultfolder":
		if !flag && !strings.EqualFold(value, "false") {
			return raise(14137, 1)
		}
		stored = int64(0)
		if flag {
			stored = int64(1)
		}
		if property == "compress_snapshot" {
			p.Compress = flag
		} else {
			p.InDefault = flag
		}
	}
	if err := p.Check("sp_changepublication"); err != nil {
		return err
	}
	if err := e.mayChangeArticles(ctx, s, pub, call); err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.syspublications SET "+bracket(property)+" = @p2 WHERE pubid = @p1", pub.id, stored)
}
