// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"bytes"
	"fmt"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

// Tell tells the sidecar of a server to keep the store, or to keep it no more: what it has stays.
type Tell struct {
	Server v1alpha1.ServerName
	// Order is nil to tell it nothing any more.
	Order []byte
}

// Describe names the server.
func (s Tell) Describe() string {
	if s.Order == nil {
		return "tell " + credentials.HostName(s.Server) + " to answer for the store no more"
	}
	return "tell " + credentials.HostName(s.Server) + " to keep the store on its backup volume, and to try it"
}

// planVolume has a server keep the store, and believes what its sidecar says of it. It is pure.
func planVolume(d Desired, o Observed) (p reconcile.Plan) {
	host := credentials.HostName(d.keeper())
	told, err := o.Told.Get()
	switch {
	case err != nil:
		p.Outcome = unreachable(host, err)
		return p
	case !bytes.Equal(told, d.Order):
		p.Add(Tell{Server: d.keeper(), Order: d.Order})
	}
	says, err := o.Says.Get()
	switch {
	case err != nil:
		p.Outcome = unreachable(host, err)
	case says == nil || says.Tried.IsZero():
		p.Outcome = conditions.InProgress(v1alpha1.ReasonStoreTesting, host+" has not tried it yet; the sidecar of an "+
			"earlier release never does: let the server be updated")
	case says.Error != "":
		p.Outcome = conditions.Unknown(v1alpha1.ReasonStoreUnreachable, fmt.Sprintf("%s says: %s. The servers keep their "+
			"backups meanwhile, and send them once they can", host, says.Error))
	default:
		p.Outcome = conditions.Ready(v1alpha1.ReasonStoreReady, "a file was written to the backup volume of "+host+
			", read back and removed")
	}
	return p
}

func unreachable(host string, err error) conditions.Outcome {
	return conditions.Unknown(v1alpha1.ReasonStoreUnreachable, fmt.Sprintf("%s does not answer: %v. The servers keep "+
		"their backups meanwhile, and send them once they reach it", host, err))
}

// leave takes the order away from the server; what it has of the store stays on its volume.
func leave(d Desired, o Observed) (p reconcile.Plan) {
	p.Done = true
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "what the store has stays on the volume of "+
		credentials.HostName(d.keeper()))
	told, err := o.Told.Get()
	switch why := d.Gone.Why(d.keeper()); {
	case err != nil && why != "":
		p.Leave("the order of BackupStore %s at %s: %s", d.Store.Name, credentials.HostName(d.keeper()), why)
	case err != nil:
		p.Done = false
		p.Outcome.Message += fmt.Sprintf("; it does not answer: %v; %s", err, sites.GoneForGood(d.keeper()))
	case len(told) > 0:
		p.Add(Tell{Server: d.keeper()})
	}
	return p
}
