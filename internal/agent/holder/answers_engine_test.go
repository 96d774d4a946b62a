// SPDX-License-Identifier: Apache-2.0

//go:build integration

package holder_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/tsql"
)

// soakVariable asks for every answer by itself as well.
const soakVariable = "GEOSQL_SOAK"

// atFailover are the answers that matter for a failover, all at once.
const atFailover = "hadr.offline-is-silent,hadr.resolving-follows,hadr.unready-when-disconnected," +
	"hadr.role-blocks-failover,hadr.offline-takes-time"

// Whatever the engines answer to what is not known of SQL Server (standin/docs/answers.md): a primary whose engine is
// killed is replaced, comes back, and is primary again after a switchover, and no acknowledged write is lost.
func TestElectionsUnderEveryAnswer(t *testing.T) {
	type engines struct {
		answers string
		role    ballot.Role
	}
	cases := []engines{
		{"", ballot.RoleResolving},
		{"hadr.offline-is-silent", ballot.RoleSecondary},
		{"hadr.offline-is-silent", ballot.RoleResolving},
		{"hadr.resolving-follows", ballot.RoleSecondary},
		{"hadr.unready-when-disconnected", ballot.RoleSecondary},
		{"hadr.role-blocks-failover", ballot.RoleSecondary},
		{"hadr.offline-takes-time", ballot.RoleSecondary},
		{"hadr.offline-takes-time", ballot.RoleResolving},
		{atFailover, ballot.RoleSecondary},
		{atFailover, ballot.RoleResolving},
		{"hadr.no-primary-name,hadr.hardened-unknown,hadr.primary-after-restart,hadr.half-known-replicas",
			ballot.RoleSecondary},
		{"hadr.former-primary-latched", ballot.RoleSecondary},
	}
	if os.Getenv(soakVariable) == "" {
		// Each by itself takes minutes; what they can do together is tried at all times.
		cases = slices.DeleteFunc(cases, func(c engines) bool {
			return !strings.Contains(c.answers, ",") || c.answers == atFailover && c.role == ballot.RoleResolving
		})
	}
	for _, c := range cases {
		name := strings.ReplaceAll(c.answers, "hadr.", "")
		t.Run(fmt.Sprintf("%s others %s", name, c.role), func(t *testing.T) {
			trio := newTrio(t, tsql.SynchronousCommit, func(of *trio) {
				of.answers, of.atFailover = []string{c.answers}, c.role
			})
			stop := trio.writing()
			next := -1
			took := trio.gap(func() { trio.members[0].engine.Kill(t) }, func() { next = trio.primaryOtherThan("tukpub-0") })
			t.Logf("no acknowledgement for %s after the engine was killed", took)
			trio.members[0].engine.Launch(t)
			trio.synchronized(next)
			trio.switchOver("back", 0)
			trio.synchronized(0)
			stop()
			trio.check()
		})
	}
}
