// SPDX-License-Identifier: Apache-2.0

package hadr

import (
	"strings"

	"geosql.dev/standin/hadr/group"
)

// Limits of a basic group
// (docs/database-engine/availability-groups/windows/basic-availability-groups-always-on-availability-groups.md).
const (
	maxBasicReplicas  = 2
	maxBasicDatabases = 1
)

// checkEdition refuses a group that the edition cannot create: Standard has basic groups alone, and Web and Express
// hold no replica with data (docs/sql-server/editions-and-components-of-sql-server-2022.md). Which numbers the engine
// answers with is documented nowhere.
func checkEdition(c *group.Configuration, edition string) error {
	switch e := strings.ToLower(edition); {
	case strings.HasPrefix(e, "express"), strings.HasPrefix(e, "web"):
		return failure(41199, "data replica")
	case strings.HasPrefix(e, "standard") && !c.Options.Basic:
		return failure(41199, "advanced availability group")
	}
	return checkBasic(c)
}

// checkBasic refuses what a basic group does not have.
func checkBasic(c *group.Configuration) error {
	if !c.Options.Basic {
		return nil
	}
	data := 0
	for i := range c.Replicas {
		r := &c.Replicas[i]
		if !r.Data() {
			continue
		}
		if data++; r.SecondaryConnections != "NO" {
			return failure(41199, "readable secondary")
		}
	}
	switch {
	case data > maxBasicReplicas:
		return failure(41199, "more than two replicas")
	case len(c.Databases) > maxBasicDatabases:
		return failure(41199, "more than one database")
	}
	return nil
}
