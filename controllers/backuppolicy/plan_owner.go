// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// folder is a store in which another hub has the target's folder.
type folder struct {
	store string
	owner backup.Owner
}

// foreign are the policy's stores in which the target's folder is another hub's, by who has listed each last.
func foreign(d Desired, o Observed) (all []folder) {
	for _, name := range d.Policy.Spec.Stores {
		says, _ := lastListed(d, o, string(name))
		if says == nil {
			continue
		}
		for _, s := range says.Stores {
			if s.Name == string(name) && s.OtherHub != nil {
				all = append(all, folder{s.Name, *s.OtherHub})
			}
		}
	}
	return all
}

// taken is the outcome where other hubs have folders of the target. It needs a person, unless one has said already that
// all of them are to be taken over.
func taken(d Desired, foreign []folder, failing []string) conditions.Outcome {
	var says, claims []string
	given := true
	for _, f := range foreign {
		whose := "nobody's that is known: its " + backup.OwnerName + " cannot be read"
		if f.owner.Hub != "" {
			whose = fmt.Sprintf("that of the hub %s, by its BackupPolicy %s, since %s", f.owner.Hub, f.owner.Policy,
				f.owner.At.UTC().Format(time.RFC3339))
		}
		says = append(says, fmt.Sprintf("%s in store %s is %s", backup.Folder(d.Order.Namespace, d.Order.Target), f.store,
			whose))
		claims = append(claims, f.owner.Claim)
		given = given && slices.Contains(d.Order.TakeOver, f.owner.Claim)
	}
	message := strings.Join(says, "; ")
	if given {
		return conditions.InProgress(v1alpha1.ReasonBackupOtherHub, message+". It is being taken over"+also(failing))
	}
	message += ". Nothing is sent or removed there, and backups stay on the servers' backup volumes. If that hub is " +
		"gone for good, or is to back this up no more: kubectl annotate --overwrite backuppolicy "
	return conditions.Stalled(v1alpha1.ReasonBackupOtherHub, fmt.Sprintf("%s%s -n %s %s=%s%s", message, d.Policy.Name,
		d.Policy.Namespace, v1alpha1.TakeOverBackupsAnnotation, strings.Join(claims, ","), also(failing)))
}

func also(failing []string) string {
	if len(failing) == 0 {
		return ""
	}
	return "; besides: " + strings.Join(failing, "; ")
}
