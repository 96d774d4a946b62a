// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpdatePolicy says when a server's engine gets another image.
// +kubebuilder:validation:Enum=Automatic;OnRequest
type UpdatePolicy string

const (
	// UpdateAutomatic takes an image once it is declared, in a maintenance window where there are any; the default.
	UpdateAutomatic UpdatePolicy = "Automatic"
	// UpdateOnRequest goes on with the image that runs until a person asks for the one that is declared, by
	// UpdateAnnotation.
	UpdateOnRequest UpdatePolicy = "OnRequest"
)

// UpdateAnnotation on a SQLServer asks for an update of its engine: each other value for one, when its turn comes among
// the servers of its groups. It takes the image that is declared, whatever the policy and the windows say; of a tag,
// the image that it names by now. Any value will do, a time say; taking it away asks for nothing.
const UpdateAnnotation = "geosql.dev/update"

// MaintenanceWindow is a time in which what waits for a quiet hour may begin.
type MaintenanceWindow struct {
	// schedule is when it opens, in cron's five fields, such as "0 3 * * 0".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// timeZone by its name in the tz database, such as Europe/Dublin; Etc/UTC unless given.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// duration is how long it is open, between 5m and 168h. What has begun in it is finished.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|([0-9]+([.][0-9]+)?(ms|s|m|h))+)$') && duration(self) >= duration('5m') && duration(self) <= duration('168h')",message="duration must be between 5m and 168h; a duration is written like 90m, 12h or 1h30m"
	Duration metav1.Duration `json:"duration"`
}
