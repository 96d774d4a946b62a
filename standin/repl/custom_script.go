// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// Scripts of one's own for the procedures of subscribers, when the schema of a table changes
// (docs/relational-databases/replication/transactional/transactional-articles-regenerate-to-reflect-schema-changes.md):
// a procedure of the publication database that scripts the one for a kind of change, or a file that runs after the
// change once.

// customFile is the type of a registered file; the others are kinds of changes.
const customFile = "custom_script"

func (e *Extension) installCustomScripting(r *engine.Registry) {
	kind := engine.Parameter{
		Name:     "@type",
		Type:     sqltype.Type{Kind: sqltype.VarChar, Length: 16},
		Required: true,
		Allowed:  []string{"insert", "update", "delete", customFile},
	}
	where := []engine.Parameter{{Name: "@publication", Type: sqltype.Sysname}, {Name: "@article", Type: sqltype.Sysname}}
	e.change(
		r,
		"sp_register_custom_scripting",
		owners,
		append([]engine.Parameter{kind, {Name: "@value", Type: sqltype.NVarCharOf(1024), Required: true}}, where...),
		e.registerScript,
	)
	e.change(r, "sp_unregister_custom_scripting", owners, append([]engine.Parameter{kind}, where...), e.registerScript)
}

// scriptColumns are the columns of sysarticles that keep what is registered
// (docs/relational-databases/system-tables/sysarticles-transact-sql.md).
var scriptColumns = map[string]string{
	"insert":   "ins_scripting_proc",
	"update":   "upd_scripting_proc",
	"delete":   "del_scripting_proc",
	customFile: "custom_script",
}

// registerScript registers with the articles that are named: without an article all of the publication, without a
// publication all of the database. Without a value nothing is registered any more.
func (e *Extension) registerScript(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	where, args := "1 = 1", []any{nil}
	if name := call.String("@publication"); name != "" {
		pub, err := findPublication(ctx, s, name)
		if err != nil {
			return err
		}
		where, args = "pubid = @p2", append(args, pub.id)
		if article := call.String("@article"); article != "" {
			if _, err := e.findArticle(ctx, s, p.db, pub, article); err != nil {
				return err
			}
			where, args = where+" AND name = @p3", append(args, article)
		}
	}
	kind, value := strings.ToLower(call.String("@type")), call.String("@value")
	switch {
	case value == "":
	case kind == customFile:
		args[0] = value
	default:
		r, err := s.Query(ctx, "SELECT OBJECT_ID(@p1) AS id", value)
		if err != nil {
			return err
		}
		if r.Value(0, "id") == nil {
			return raise(14027, 1, value)
		}
		args[0] = r.Int(0, "id")
	}
	return s.Exec(ctx, "UPDATE dbo.sysarticles SET "+scriptColumns[kind]+" = @p1 WHERE "+where, args...)
}

// registered is what is registered of a type for an article: the name of a procedure, or of a file; empty when nothing
// is.
func (c *alteration) registered(ctx context.Context, a *article.Article, kind string) (string, error) {
	r, err := c.s.Query(
		ctx,
		"SELECT "+scriptColumns[kind]+" AS value FROM "+c.table("sysarticles")+" WHERE artid = @p1",
		a.ID,
	)
	if err != nil || r.Value(0, "value") == nil || kind == customFile {
		return r.String(0, "value"), err
	}
	o, err := c.s.Object(ctx, c.Database, int32(r.Int(0, "value")))
	if err != nil || o == nil {
		return "", err
	}
	schema, err := c.s.SchemaNameOf(ctx, c.Database, o)
	return stored.TwoPart(schema, o.Name), err
}

// afterwards is what the subscribers of an article, which was before and is now, run after a change of the schema that
// they get: the article's procedures, and a registered file once.
func (c *alteration) afterwards(ctx context.Context, before, a *article.Article) (string, error) {
	if before.SnapshotOnly || !c.concerns(before) || len(c.added)+len(c.dropped)+len(c.altered) == 0 {
		return "", nil
	}
	out := ""
	if a.Options&article.OptionProcedures != 0 {
		for _, p := range []struct {
			kind string
			make func() string
		}{{"insert", a.InsertProcedure}, {"update", a.UpdateProcedure}, {"delete", a.DeleteProcedure}} {
			name, err := c.registered(ctx, a, p.kind)
			if err != nil {
				return "", err
			}
			if name == "" {
				out += p.make()
				continue
			}
			script, err := c.scripted(ctx, a, name)
			if err != nil {
				return "", err
			}
			out += script
		}
	}
	file, err := c.registered(ctx, a, customFile)
	if err != nil || file == "" {
		return out, err
	}
	content, err := c.e.agents.ReadScript(file)
	if err != nil {
		return "", err
	}
	return out + asBatches(content),
		c.s.Exec(ctx, "UPDATE "+c.table("sysarticles")+" SET custom_script = NULL WHERE artid = @p1", a.ID)
}

// scripted is what a registered procedure scripts for an article, whose number it is given: a line in each row.
func (c *alteration) scripted(ctx context.Context, a *article.Article, name string) (string, error) {
	r, err := c.s.Query(ctx, "EXEC "+bracket(c.Database.Name())+"."+name+" @p1", a.ID)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, row := range r.Rows {
		if row[0] != nil {
			fmt.Fprint(&b, row[0])
		}
		b.WriteByte('\n')
	}
	return asBatches(b.String()), nil
}

// asBatches is a script as runScript takes it.
func asBatches(script string) string {
	out := ""
	for _, b := range agent.Batches(script) {
		out += b + "\nGO\n"
	}
	return out
}
