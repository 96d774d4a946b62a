// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// groupListed finds a file group that a partition scheme names; "PRIMARY" and PRIMARY in brackets alike.
func groupListed(d *engine.SchemaChange, name *ast.IdentifierOrValueExpression) (*metadata.Object, error) {
	text := engine.SpaceName(name)
	if strings.EqualFold(text, "default") {
		return d.Catalog().DefaultGroup(), nil
	}
	if g := d.Catalog().FileGroup(text); g != nil {
		return g, nil
	}
	return nil, sqlerr.New(208, 58, text)
}

// createScheme is CREATE PARTITION SCHEME (docs/t-sql/statements/create-partition-scheme-transact-sql.md).
func createScheme(
	ctx context.Context,
	s *engine.Session,
	n *ast.CreatePartitionSchemeStatement,
	w tds.Writer,
) error {
	next, ignored := "", 0
	err := change(ctx, s, func(d *engine.SchemaChange) error {
		function := d.Catalog().PartitionObject(metadata.KindPartitionFunction, n.PartitionFunction.Value)
		switch {
		case function == nil:
			return sqlerr.New(208, 57, n.PartitionFunction.Value)
		case d.Catalog().HasDataSpace(n.Name.Value):
			return sqlerr.New(2714, 8, n.Name.Value)
		case n.IsAll && len(n.FileGroups) != 1:
			return sqlerr.New(7723, 1)
		}
		scheme := &metadata.PartitionScheme{ID: 65601, Function: function.Function.ID}
		var groups []*metadata.Object
		for _, name := range n.FileGroups {
			g, err := groupListed(d, name)
			if err != nil {
				return err
			}
			groups = append(groups, g)
		}
		fanout := function.Function.Fanout()
		for n.IsAll && len(groups) <= fanout {
			groups = append(groups, groups[0])
		}
		if len(groups) < fanout {
			return sqlerr.New(7707, 1, function.Name, n.Name.Value)
		}
		if len(groups) > fanout {
			next, scheme.Next, ignored = groups[fanout].Name, groups[fanout].FileGroup.ID, len(groups)-fanout-1
		}
		for _, g := range groups[:fanout] {
			scheme.Groups = append(scheme.Groups, g.FileGroup.ID)
		}
		for _, other := range d.Catalog().Placed(metadata.KindPartitionScheme) {
			scheme.ID = max(scheme.ID, other.Scheme.ID+1)
		}
		return d.SavePlacement(
			newObject(metadata.KindPartitionScheme, scheme.ID, n.Name.Value, &metadata.Object{Scheme: scheme}),
		)
	})
	if err == nil && next != "" {
		err = w.Message(sqlerr.New(7712, 1, n.Name.Value, next, n.Name.Value))
	}
	if err == nil && ignored > 0 {
		err = w.Message(sqlerr.New(7713, 1, ignored))
	}
	return err
}

// alterScheme is ALTER PARTITION SCHEME ... NEXT USED
// (docs/t-sql/statements/alter-partition-scheme-transact-sql.md).
func alterScheme(ctx context.Context, s *engine.Session, n *ast.AlterPartitionSchemeStatement, w tds.Writer) error {
	unmarked := false
	err := change(ctx, s, func(d *engine.SchemaChange) error {
		o := d.Catalog().PartitionObject(metadata.KindPartitionScheme, n.Name.Value)
		if o == nil {
			return sqlerr.New(15151, 1, "alter", "partition scheme", n.Name.Value)
		}
		unmarked = n.FileGroup == nil && o.Scheme.Next == 0
		o.Scheme.Next = 0
		if n.FileGroup != nil {
			g, err := groupListed(d, n.FileGroup)
			if err != nil {
				return err
			}
			o.Scheme.Next = g.FileGroup.ID
		}
		return d.SavePlacement(o)
	})
	if err == nil && unmarked {
		err = w.Message(&sqlerr.Error{Number: 7710, State: 1, Message: sqlerr.Text(7710, n.Name.Value)})
	}
	return err
}
