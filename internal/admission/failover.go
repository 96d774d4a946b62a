// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
)

// failover checks a new Failover against its group's declaration: what can never be carried out is refused here. What
// depends on the moment - whether the replica is synchronized - is decided when it is carried out.
func (w *World) failover(at *field.Path, old, f *v1alpha1.Failover) field.ErrorList {
	g := w.Groups[string(f.Spec.Group)]
	if old != nil || f.Spec.RecordedTerm != nil || g == nil {
		// Objects may come in any order; without its group it ends as Expired.
		return nil
	}
	var errs field.ErrorList
	if p := requests.CheckDeclaration(g, f.Spec); p.Verdict == requests.Refuse {
		path, value := at.Child("to"), any(f.Spec.To)
		if p.Reason == requests.ReasonNotFenced {
			path, value = at.Child("group"), any(f.Spec.Group)
		}
		errs = append(errs, field.Invalid(path, value, p.Message))
	}
	if holder := f.Spec.FencedHolder; holder != "" {
		errs = append(errs, fencedHolder(at.Child("fencedHolder"), g, holder)...)
	}
	return errs
}

// fencedHolder refuses a word about somebody who cannot be the holder.
func fencedHolder(at *field.Path, g *v1alpha1.AvailabilityGroup, holder string) field.ErrorList {
	h, err := votes.ParseHolder(holder)
	if err != nil {
		return field.ErrorList{
			field.Invalid(at, holder, err.Error()+"; kubectl geosql failover --confirm-fenced SERVER fills it in"),
		}
	}
	var servers []string
	for _, r := range g.Spec.Replicas {
		if requests.SameServer(string(r.Server), h.Server) {
			return nil
		}
		servers = append(servers, string(r.Server))
	}
	return field.ErrorList{
		field.Invalid(
			at,
			holder,
			fmt.Sprintf("%s is no replica of group %s; its replicas are %s", h.Server, g.Name, strings.Join(servers, ", ")),
		),
	}
}
