// SPDX-License-Identifier: Apache-2.0

// Package catalogview is the catalog views of what the engine keeps: databases, files, objects, columns, constraints,
// indexes, modules, partitions and extended properties, with the views of INFORMATION_SCHEMA and the compatibility
// views over the same (docs/relational-databases/system-catalog-views,
// docs/relational-databases/system-information-schema-views, docs/relational-databases/system-compatibility-views).
// What only the engine knows it asks a session for: what one sees of a database's metadata, the columns that a view's
// query gives, parameters of modules, the last values of identities and sequences, and counts of rows.
package catalogview

import "geosql.dev/standin/engine"

// Extension adds the views to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	installDatabaseViews(r)
	installObjectViews(r)
	installColumnViews(r)
	installConstraintViews(r)
	installModuleViews(r)
	installPartitionViews(r)
	installInformationSchema(r)
	installExtendedProperties(r)
	return nil
}
