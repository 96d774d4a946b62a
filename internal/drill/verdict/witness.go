// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Witness is what clients saw of a fault that was to move service to another server.
type Witness struct {
	Status metav1.ConditionStatus
	Seen   string
}

// witnessed are the faults with what clients say of those that were to move service. Whether one did is theirs to tell:
// another server acknowledged them, in a higher term. What the operator's record says stands beside it.
func (m Measured) witnessed(s v1alpha1.DrillSpec) ([]v1alpha1.FaultStatus, map[string]Witness) {
	faults, seen := slices.Clone(m.Faults), map[string]Witness{}
	for i, f := range faults {
		if !fault.Moves(f.Kind) || f.Injected == nil || f.Effect == nil {
			continue
		}
		w := m.witness(f.Name, to(s, f.Name))
		seen[f.Name] = w
		effect := *f.Effect
		effect.Status, effect.Seen = w.Status, w.Seen
		faults[i].Effect = &effect
		if w.Status != metav1.ConditionTrue && effect.Operator != "" {
			faults[i].Effect.Seen += "; the operator says: " + effect.Operator
		}
	}
	return faults, seen
}

// to is the server that a fault names.
func to(s v1alpha1.DrillSpec, name string) v1alpha1.ServerName {
	for _, o := range drill.Expand(s.Faults) {
		if o.Name == name {
			return o.To
		}
	}
	return ""
}

func (m Measured) witness(name string, to v1alpha1.ServerName) Witness {
	for _, f := range m.History.Faults {
		if f.Name != name {
			continue
		}
		if f.Before == nil {
			return Witness{metav1.ConditionUnknown, "no client tells which server served before it"}
		}
		was := fmt.Sprintf("clients were served by %s in term %d", f.Before.Server, f.Before.Term)
		switch {
		case f.After == nil:
			return Witness{metav1.ConditionFalse, was + ", and then by nobody in a higher term"}
		case !f.Moved():
			return Witness{metav1.ConditionFalse, fmt.Sprintf("%s, and then by the same in term %d", was, f.After.Term)}
		}
		text := fmt.Sprintf("%s, and then by %s in term %d", was, f.After.Server, f.After.Term)
		if to != "" && !strings.EqualFold(credentials.HostName(to), f.After.Server) {
			return Witness{metav1.ConditionFalse, text + ", not by " + string(to)}
		}
		return Witness{metav1.ConditionTrue, text}
	}
	return Witness{metav1.ConditionUnknown, "no history tells of it"}
}
