// SPDX-License-Identifier: Apache-2.0

// Package sysviews has the system views and functions that the engine need not know of: those that are others in
// another form (the compatibility views, a part of INFORMATION_SCHEMA), those of settings that have one value here, and
// those of machinery that the stand-in lacks, which are empty (docs/relational-databases/system-catalog-views,
// docs/relational-databases/system-dynamic-management-views, docs/relational-databases/system-compatibility-views,
// docs/relational-databases/system-information-schema-views).
package sysviews

import "geosql.dev/standin/engine"

// Extension adds them to an instance.
type Extension struct{}

// Install registers them.
func (Extension) Install(r *engine.Registry) error {
	installCompatibilityViews(r)
	installInformationSchema(r)
	installUsageViews(r)
	installActivityViews(r)
	installHostViews(r)
	installAbsentViews(r)
	installUnkeptViews(r)
	installMsdbViews(r)
	installSettingViews(r)
	installSptValues(r)
	installResourceViews(r)
	installNamedFunctions(r)
	return nil
}
