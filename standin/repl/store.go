// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// The distribution database as agents use it.
func (e *Extension) installCommands(r *engine.Registry) {
	e.procedure(
		r,
		"sp_MSget_last_transaction",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db")},
		e.lastTransaction,
	)
	e.change(
		r,
		"sp_MSadd_replcmds27hp",
		distributionOwners,
		[]engine.Parameter{number("@publisher_database_id"), binary1("@data")},
		e.addCommands,
	)
	e.procedure(
		r,
		"sp_MSget_agent_state",
		agentLogins,
		[]engine.Parameter{
			text("@publisher"),
			text("@publisher_db"),
			text("@publication"),
			text("@subscriber"),
			text("@subscriber_db"),
		},
		e.agentState,
	)
	e.procedure(
		r,
		"sp_MSget_repl_commands",
		agentLogins,
		[]engine.Parameter{number("@agent_id"), binary1("@last_xact_seqno"), binary1("@upto"), text("@articles")},
		e.getCommands,
	)
	e.procedure(
		r,
		"sp_MSget_snapshot_commands",
		agentLogins,
		[]engine.Parameter{number("@publisher_database_id"), binary1("@xact_seqno"), number("@article_id")},
		e.snapshotCommands,
	)
	e.procedure(r, "sp_browsereplcmds", distributionOwners, nil, e.browseCommands)
	e.procedure(
		r,
		"sp_MSdistribution_cleanup",
		distributionOwners,
		[]engine.Parameter{number("@min_distretention"), number("@max_distretention")},
		e.cleanCommands,
	)
}

// binary1 is a binary parameter (its own name, because this package imports encoding/binary).
func binary1(name string) engine.Parameter {
	return engine.Parameter{Name: name, Type: sqltype.VarBinaryMax}
}

// lastTransaction tells the log reader where to go on.
func (e *Extension) lastTransaction(ctx context.Context, call *engine.ProcCall) error {
	r, err := call.Session.Query(
		ctx,
		`SELECT d.id, (SELECT TOP (1) t.xact_seqno FROM dbo.MSrepl_transactions AS t WHERE t.publisher_database_id = d.id AND DATALENGTH(t.xact_seqno) = 10 ORDER BY t.xact_seqno DESC) AS last,
		a.id AS agent_id, a.name, a.profile_id, a.publisher_security_mode, a.publisher_login, a.publisher_password
		FROM dbo.MSpublisher_databases AS d JOIN dbo.MSreplservers AS v ON v.srvid = d.publisher_id
		JOIN dbo.MSlogreader_agents AS a ON a.publisher_id = d.publisher_id AND a.publisher_db = d.publisher_db
		WHERE v.srvname = @p1 AND d.publisher_db = @p2`,
		call.String("@publisher"),
		call.String("@publisher_db"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(21799, 1, "Log Reader", call.String("@publisher"), call.String("@publisher_db"), "ALL")
	}
	return call.ResultSet(r.Columns, r.Rows)
}

// chunk is the longest MSrepl_commands.command.
const chunk = 1024

const packedHeader = 10 + 10 + 7*4

func readPacked(buf []byte) (c stored.Packed, rest []byte, err error) {
	if len(buf) < packedHeader {
		return c, nil, stored.ErrShort
	}
	c.Seqno, c.Begin, buf = buf[:10], buf[10:20], buf[20:]
	n := [7]int32{}
	for i := range n {
		n[i] = int32(binary.LittleEndian.Uint32(buf[4*i:]))
	}
	buf = buf[4*len(n):]
	c.Part, c.Kind, c.Article, c.Publication = n[0], n[1], n[2], n[3]
	var parts [3][]byte
	for i, length := range n[4:] {
		if length < 0 || int(length) > len(buf) {
			return c, nil, stored.ErrShort
		}
		parts[i], buf = buf[:length], buf[length:]
	}
	c.Command, c.From = parts[0], stored.Origin{Server: string(parts[1]), Database: string(parts[2])}
	return c, buf, nil
}

// partLength is how long the number of a part of a transaction is (-MaxCmdsInTran): where the transaction began, behind
// which no other one commits before it does, and the part, marked so that it comes after a snapshot made there.
const partLength = 14

// inserter gathers rows into INSERT statements of a few sizes, so that few plans serve them all.
type inserter struct {
	table   string
	columns int
	values  []any
}

func (n *inserter) add(ctx context.Context, s *engine.Session, row ...any) error {
	n.values = append(n.values, row...)
	if len(n.values) >= 100*n.columns {
		return n.flush(ctx, s)
	}
	return nil
}

func (n *inserter) flush(ctx context.Context, s *engine.Session) error {
	for len(n.values) > 0 {
		rows := 1
		for _, size := range []int{100, 20, 5} {
			if len(n.values) >= size*n.columns {
				rows = size
				break
			}
		}
		if err := s.Exec(ctx, "INSERT INTO "+n.table+" VALUES "+agent.RowsOfParameters(rows, n.columns),
			n.values[:rows*n.columns]...); err != nil {
			return err
		}
		n.values = n.values[rows*n.columns:]
	}
	return nil
}

// commandInserter stores commands of one publisher database.
type commandInserter struct {
	inserter
	database int64
	// originator is the number of where the commands come from.
	originator int64
}

func insertCommands(database int64) *commandInserter {
	return &commandInserter{inserter: inserter{table: "dbo.MSrepl_commands", columns: 10}, database: database}
}

// add adds a command in as many parts as its column takes, numbered from after id on, and returns the last one's
// number. publication is nil where the article tells it.
func (n *commandInserter) add(
	ctx context.Context,
	s *engine.Session,
	seqno []byte,
	kind, article, id int64,
	command []byte,
	publication any,
) (int64, error) {
	for {
		id++
		partial := len(command) > chunk
		if err := n.inserter.add(ctx, s, n.database, seqno, kind, article, n.originator, id, partial,
			command[:min(len(command), chunk)], publication, []byte(nil)); err != nil ||
			!partial {
			return id, err
		}
		command = command[chunk:]
	}
}

// addCommands stores transactions of the log reader: all of them or none. What is there already is passed over, so
// that a log reader that was interrupted can send it again.
func (e *Extension) addCommands(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Int("@publisher_database_id")
	// Transactions of the log reader have 10 bytes; those of snapshots are longer and say nothing about the log reader.
	r, err := s.Query(
		ctx,
		"SELECT TOP (1) xact_seqno AS last FROM dbo.MSrepl_transactions WHERE publisher_database_id = @p1 AND "+
			"DATALENGTH(xact_seqno) = 10 ORDER BY xact_seqno DESC",
		db,
	)
	if err != nil {
		return err
	}
	last := r.Bytes(0, "last")
	transactions := &inserter{table: "dbo.MSrepl_transactions", columns: 4}
	commands := insertCommands(db)
	from := &originators{publisherDatabase: db}
	var current []byte
	id := int64(0)
	for buf := call.Bytes("@data"); len(buf) > 0; {
		var c stored.Packed
		if c, buf, err = readPacked(buf); err != nil {
			return err
		}
		if string(c.Seqno) <= string(last) {
			continue
		}
		seqno := c.Number()
		if string(current) != string(seqno) {
			current, id = seqno, 0
			if err := transactions.add(ctx, s, db, c.Begin, seqno, stored.NowText()); err != nil {
				return err
			}
		}
		if c.Kind == stored.CommandSetUp {
			if err := e.setUp(ctx, s, db, int64(c.Article), c.Command); err != nil {
				return err
			}
			continue
		}
		if c.Kind == stored.CommandToken {
			if err := noteToken(ctx, s, c.Command); err != nil {
				return err
			}
		}
		if commands.originator, err = from.id(ctx, s, c.From); err != nil {
			return err
		}
		if id, err = commands.add(ctx, s, seqno, int64(c.Kind), int64(c.Article), id, c.Command,
			int64(c.Publication)); err != nil {
			return err
		}
	}
	if err := transactions.flush(ctx, s); err != nil {
		return err
	}
	return commands.flush(ctx, s)
}

// agentState is what a distribution agent has to know: a row for each article of its subscription.
func (e *Extension) agentState(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	agent, err := agentOf(ctx, s, call)
	if err != nil {
		return err
	}
	if agent == 0 {
		return raise(21056, 1, call.String("@publication"))
	}
	return call.Exec(
		ctx,
		`SELECT a.id AS agent_id, a.name, a.publisher_database_id, a.profile_id, a.subscription_type, a.subscription_guid, a.subscriber_security_mode, a.subscriber_login,
		p.publication_id, p.publication_type, m.article_id, r.article,
		CASE WHEN EXISTS (`+setUpsOf("a.id", "m.article_id")+`) THEN 1 ELSE m.status END AS status, m.subscription_seqno, m.snapshot_seqno_flag, m.sync_type, r.destination_object, r.destination_owner
		FROM dbo.MSdistribution_agents AS a
		JOIN dbo.MSpublications AS p ON p.publisher_id = a.publisher_id AND p.publisher_db = a.publisher_db AND p.publication = a.publication
		JOIN dbo.MSsubscriptions AS m ON m.agent_id = a.id
		JOIN dbo.MSarticles AS r ON r.publisher_id = m.publisher_id AND r.publisher_db = m.publisher_db AND r.article_id = m.article_id
		WHERE a.id = @p1 ORDER BY m.article_id`,
		agent,
	)
}

// getCommands streams the commands of an agent's articles after a transaction, in the order of commit. What its
// subscriber made itself is a command of no kind: the subscription moves on over it.
func (e *Extension) getCommands(ctx context.Context, call *engine.ProcCall) error {
	upto := call.Bytes("@upto")
	if upto == nil {
		upto = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	r, err := call.Session.Query(ctx, `SELECT a.publisher_database_id, p.publication_id FROM dbo.MSdistribution_agents AS a
		JOIN dbo.MSpublications AS p ON p.publisher_id = a.publisher_id AND p.publisher_db = a.publisher_db AND p.publication = a.publication WHERE a.id = @p1`, call.Int("@agent_id"))
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(21056, 2, "")
	}
	own, err := ownOriginators(ctx, call.Session, call.Int("@agent_id"))
	if err != nil {
		return err
	}
	kind, partial, command := "c.type", "c.partial_command", "c.command"
	if own != ",," {
		isOwn := "CASE WHEN CHARINDEX(N',' + CAST(c.originator_id AS nvarchar(11)) + N',', N'" + own + "') > 0 THEN "
		kind, partial, command = isOwn+"0 ELSE c.type END AS type",
			isOwn+"CAST(0 AS bit) ELSE c.partial_command END AS partial_command", isOwn+"NULL ELSE c.command END AS command"
	}
	return call.Exec(
		ctx,
		fmt.Sprintf(`SELECT c.xact_seqno, `+kind+`, c.article_id, `+partial+`, `+command+`
		FROM dbo.MSrepl_commands AS c
		LEFT JOIN dbo.MSsubscriptions AS m ON m.agent_id = @p1 AND m.article_id = c.article_id AND m.status = 2 AND c.xact_seqno > m.subscription_seqno AND CHARINDEX(N',' + CAST(m.article_id AS nvarchar(11)) + N',', @p2) > 0
		WHERE c.publisher_database_id = @p3 AND c.xact_seqno > @p4 AND c.xact_seqno <= @p5 AND c.type > 0 AND (m.agent_id IS NOT NULL OR c.type = %d AND c.hashkey = @p6)
		ORDER BY c.xact_seqno, c.command_id`, stored.CommandToken),
		call.Int(
			"@agent_id",
		),
		call.String("@articles"),
		r.Int(0, "publisher_database_id"),
		call.Bytes("@last_xact_seqno"),
		upto,
		r.Int(0, "publication_id"),
	)
}

func (e *Extension) snapshotCommands(ctx context.Context, call *engine.ProcCall) error {
	return call.Exec(
		ctx,
		`SELECT type, command, command_id, partial_command FROM dbo.MSrepl_commands WHERE publisher_database_id = @p1 AND xact_seqno = @p2 AND article_id = @p3 AND type < 0 ORDER BY command_id`,
		call.Int("@publisher_database_id"),
		call.Bytes("@xact_seqno"),
		call.Int("@article_id"),
	)
}

func (e *Extension) browseCommands(ctx context.Context, call *engine.ProcCall) error {
	if err := inDistributionDatabase(call, "sp_browsereplcmds"); err != nil {
		return err
	}
	low, high, err := seqnoRange(call)
	if err != nil {
		return err
	}
	if !call.IsNull("@command_id") {
		switch {
		case call.IsNull("@xact_seqno_start") || call.IsNull("@publisher_database_id"):
			return raise(21110, 1)
		case !bytes.Equal(low, high):
			return raise(21109, 1)
		}
	}
	query := `SELECT c.xact_seqno, o.srvname, o.dbname, c.article_id, c.type, c.partial_command, c.hashkey, c.command, c.command_id FROM dbo.MSrepl_commands AS c
		LEFT JOIN dbo.MSrepl_originators AS o ON o.id = c.originator_id WHERE c.xact_seqno >= @p1 AND c.xact_seqno <= @p2`
	args := []any{low, high}
	for parameter, column := range map[string]string{"@publisher_database_id": "publisher_database_id",
		"@article_id": "article_id", "@command_id": "command_id"} {
		if !call.IsNull(parameter) {
			args = append(args, call.Int(parameter))
			query += fmt.Sprintf(" AND c.%s = @p%d", column, len(args))
		}
	}
	r, err := call.Session.Query(ctx, query+" ORDER BY c.publisher_database_id, c.xact_seqno, c.command_id", args...)
	if err != nil {
		return err
	}
	var out [][]any
	var whole []byte
	for i := range r.Len() {
		whole = append(whole, r.Bytes(i, "command")...)
		if r.Int(i, "partial_command") == 1 {
			continue
		}
		out = append(
			out,
			[]any{
				r.Value(i, "xact_seqno"),
				r.Value(i, "srvname"),
				r.Value(i, "dbname"),
				r.Value(i, "article_id"),
				r.Value(i, "type"),
				false,
				r.Value(i, "hashkey"),
				nil,
				nil,
				nil,
				stored.Clip(stored.ShowCommand(r.Int(i, "type"), whole), 1024),
				r.Value(i, "command_id"),
			},
		)
		whole = nil
	}
	n, i := sqltype.NVarCharOf, sqltype.IntType
	seqno := sqltype.VarBinaryOf(16)
	return call.ResultSet(
		columns(
			"xact_seqno",
			seqno,
			"originator_srvname",
			n(128),
			"originator_db",
			n(128),
			"article_id",
			i,
			"type",
			i,
			"partial_command",
			sqltype.BitType,
			"hashkey",
			i,
			"originator_publication_id",
			i,
			"originator_db_version",
			i,
			"originator_lsn",
			seqno,
			"command",
			n(1024),
			"command_id",
			i,
		),
		out,
	)
}

func seqnoRange(call *engine.ProcCall) (low, high []byte, err error) {
	parse := func(parameter string, otherwise byte) ([]byte, error) {
		given := strings.TrimPrefix(strings.TrimSpace(call.String(parameter)), "0x")
		if given == "" {
			return []byte(strings.Repeat(string([]byte{otherwise}), 10)), nil
		}
		out := make([]byte, 0, 16)
		for len(given) >= 2 {
			v, err := strconv.ParseUint(given[:2], 16, 8)
			if err != nil {
				return nil, raise(20587, 1, parameter, "sp_browsereplcmds")
			}
			out, given = append(out, byte(v)), given[2:]
		}
		return out, nil
	}
	if low, err = parse("@xact_seqno_start", 0); err != nil {
		return nil, nil, err
	}
	high, err = parse("@xact_seqno_end", 0xff)
	return low, high, err
}
