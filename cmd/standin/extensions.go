// SPDX-License-Identifier: Apache-2.0

package main

import (
	"geosql.dev/operator/standin/config"
	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/hadr"
	"geosql.dev/operator/standin/security"
	"geosql.dev/operator/standin/sqlagent"
)

// extensions are installed into the instance in this order. A new one is a line here.
func extensions(settings *config.Settings) []engine.Extension {
	principals := security.New(security.Options{SAPassword: settings.Password})
	return []engine.Extension{
		principals,
		hadr.New(mirroring{principals}),
		sqlagent.New(sqlagent.Options{}),
	}
}
