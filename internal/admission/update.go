// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/engineimage"
	"geosql.dev/operator/internal/schedule"
)

// image refuses what is no image's name, and one whose tag is of a lower major version than the engine that wrote the
// server's data: that opens them no more. What another tag or a digest names nobody knows before it runs.
func (w *World) image(at *field.Path, old, s *v1alpha1.SQLServer) field.ErrorList {
	image := s.Spec.Image
	if image == "" || old != nil && old.Spec.Image == image {
		return nil
	}
	if err := engineimage.Validate(image); err != nil {
		return field.ErrorList{field.Invalid(at, image, err.Error())}
	}
	live := w.Servers[s.Name]
	if live == nil {
		return nil
	}
	wrote := engineimage.MajorOf(live.Status.Version)
	if major, known := engineimage.Major(image); known && major < wrote {
		return field.ErrorList{field.Invalid(at, image, fmt.Sprintf("it is of %s, and the data of server %s were written by "+
			"%s of %s: no engine of a lower major version opens them. Allowed is %[4]s or later; to go back, declare another "+
			"server and restore a backup from before", engineimage.Name(major), s.Name, live.Status.Version,
			engineimage.Name(wrote)))}
	}
	return nil
}

// windows refuses maintenance windows that nobody can read.
func windows(at *field.Path, list []v1alpha1.MaintenanceWindow) field.ErrorList {
	var errs field.ErrorList
	for i, w := range list {
		errs = append(errs, times(at.Index(i), w.Schedule, w.TimeZone)...)
	}
	return errs
}

// times refuses a schedule, or the time zone beside it, that nobody can read.
func times(at *field.Path, cron, zone string) field.ErrorList {
	_, err := schedule.Parse(cron, zone)
	if err == nil {
		return nil
	}
	if _, unknown := time.LoadLocation(zone); unknown != nil {
		return field.ErrorList{field.Invalid(at.Child("timeZone"), zone, err.Error())}
	}
	return field.ErrorList{field.Invalid(at.Child("schedule"), cron, err.Error())}
}

// versions refuses a replica that a group gets anew whose server is of another major version than those of the others:
// a group has several only while its servers are upgraded in place, one after another.
func (w *World) versions(at *field.Path, old, g *v1alpha1.AvailabilityGroup) field.ErrorList {
	var errs field.ErrorList
	first, of := 0, v1alpha1.ServerName("")
	isNew := func(name v1alpha1.ServerName) bool { return old == nil || !hosts(old, name) }
	for _, r := range g.Spec.Replicas {
		if major := w.major(r.Server); major != 0 && (of == "" || isNew(of) && !isNew(r.Server)) {
			first, of = major, r.Server
		}
	}
	for i, r := range g.Spec.Replicas {
		major := w.major(r.Server)
		if major == 0 || major == first || !isNew(r.Server) {
			continue
		}
		errs = append(errs, field.Invalid(at.Child("replicas").Index(i).Child("server"), r.Server, fmt.Sprintf(
			"its engine is %s, and that of %s %s: a replica that is added must be of the group's major version. Upgrade one of "+
				"them first", engineimage.Name(major), of, engineimage.Name(first))))
	}
	return errs
}

// major is the major version of a server's engine, by what has answered, else by its image; 0 while it is not known.
func (w *World) major(server v1alpha1.ServerName) int {
	s := w.Servers[string(server)]
	if s == nil {
		return 0
	}
	if wrote := engineimage.MajorOf(s.Status.Version); wrote != 0 {
		return wrote
	}
	major, _ := engineimage.Major(s.Spec.Image)
	return major
}
