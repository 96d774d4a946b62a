// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"

	"geosql.dev/operator/internal/agent/links"
)

// addLinks adds the part that times round trips to other sites. Outside of a pod there is none.
func addLinks(a *Agent, o Options, log *slog.Logger) error {
	if o.PodUID == "" {
		return nil
	}
	_, source, err := o.orders()
	if err != nil {
		return err
	}
	part := links.NewPart(links.Options{Source: source, TLSDir: o.TLSDir, Namespace: o.Namespace, Log: log})
	a.Registerer().MustRegister(part)
	a.Add(part)
	return nil
}
