// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/sqlc-dev/teesql/ast"

// altersTrigger tells whether a batch is ALTER TRIGGER, of whose statements teesql reads the first only, and takes the
// others for those of the batch: it is given CREATE TRIGGER, which it reads whole.
func altersTrigger(tokens []token) bool { return tokens[0].is("ALTER") && tokens[1].is("TRIGGER") }

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
