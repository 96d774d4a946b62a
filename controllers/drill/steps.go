// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
)

// MakeSecret makes the clients' password.
type MakeSecret struct{}

// Describe implements reconcile.Step.
func (MakeSecret) Describe() string { return "make the clients' password" }

// MakeLogin declares the clients' login.
type MakeLogin struct{}

// Describe implements reconcile.Step.
func (MakeLogin) Describe() string { return "declare the clients' login" }

// PrepareTables makes the clients' tables, lets them see which term they are in, and notes which rows are there
// already.
type PrepareTables struct{}

// Describe implements reconcile.Step.
func (PrepareTables) Describe() string { return "make the clients' tables unless they exist" }

// StartClients starts the clients of a site.
type StartClients struct{ Site v1alpha1.SiteName }

// Describe implements reconcile.Step.
func (s StartClients) Describe() string { return "start clients at site " + string(s.Site) }

// Inject creates the objects of a fault.
type Inject struct {
	Fault   string
	Objects []fault.Object
}

// Describe implements reconcile.Step.
func (s Inject) Describe() string {
	return fmt.Sprintf("inject fault %s: %d objects", s.Fault, len(s.Objects))
}

// Freeze stops engines for some time.
type Freeze struct {
	Fault   string
	Servers []v1alpha1.ServerName
	For     time.Duration
}

// Describe implements reconcile.Step.
func (s Freeze) Describe() string {
	return fmt.Sprintf("freeze %v for %s (fault %s)", s.Servers, s.For, s.Fault)
}

// Thaw lets an engine go on. BestEffort: that it cannot be asked is no failure, since the freeze ends by itself.
type Thaw struct {
	Server     v1alpha1.ServerName
	BestEffort bool
}

// Describe implements reconcile.Step.
func (s Thaw) Describe() string { return "let the engine of " + string(s.Server) + " go on" }

// RemoveObject takes back an object of a fault.
type RemoveObject struct {
	Fault  string
	Object v1alpha1.FaultObject
}

// Describe implements reconcile.Step.
func (s RemoveObject) Describe() string {
	return fmt.Sprintf(
		"take back fault %s: %s %s at %s",
		s.Fault,
		s.Object.Kind,
		s.Object.Name,
		cmp.Or(s.Object.Site, "the hub"),
	)
}

// Remove takes away what is left of a drill.
type Remove struct {
	Site   v1alpha1.SiteName
	Object client.Object
}

// Describe implements reconcile.Step.
func (s Remove) Describe() string {
	return fmt.Sprintf(
		"take away %s %s at %s",
		s.Object.GetObjectKind().GroupVersionKind().Kind,
		s.Object.GetName(),
		cmp.Or(string(s.Site), "the hub"),
	)
}

// Gather fetches histories and rows, keeps them, and judges them.
type Gather struct{}

// Describe implements reconcile.Step.
func (Gather) Describe() string { return "gather the histories and judge them" }
