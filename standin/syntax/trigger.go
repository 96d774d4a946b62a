// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax/token"
)

// altersTrigger tells whether a batch is ALTER TRIGGER, of whose statements teesql reads the first only, and takes the
// others for those of the batch: it is given CREATE TRIGGER, which it reads whole.
func altersTrigger(tokens []token.Token) bool {
	return tokens[0].Is("ALTER") && tokens[1].Is("TRIGGER")
}

// alterTrigger is the ALTER that teesql was given as CREATE.
func alterTrigger(n *ast.CreateTriggerStatement) *ast.AlterTriggerStatement {
	return &ast.AlterTriggerStatement{
		Fragment:            n.Fragment,
		Name:                n.Name,
		TriggerObject:       n.TriggerObject,
		TriggerType:         n.TriggerType,
		TriggerActions:      n.TriggerActions,
		Options:             n.Options,
		WithAppend:          n.WithAppend,
		IsNotForReplication: n.IsNotForReplication,
		MethodSpecifier:     n.MethodSpecifier,
		StatementList:       n.StatementList,
	}
}
