// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/tsql"
)

// Step is one thing to do. Steps are plain data: the plan is made without a cluster, and printed without carrying it out.
type Step interface {
	// Describe says what is done and why, without secrets.
	Describe() string
}

// ApplyObject writes an object at the site by server-side apply.
type ApplyObject struct {
	Object client.Object
	Reason string
}

// Describe names the object.
func (s ApplyObject) Describe() string {
	return fmt.Sprintf("apply %s %s: %s", s.Object.GetObjectKind().GroupVersionKind().Kind, s.Object.GetName(), s.Reason)
}

// AgreePasswords brings site and hub to the same passwords, see credentials.Agree; the site is written first.
type AgreePasswords struct {
	// VolumesExist forbids a new sa password.
	VolumesExist bool
	Reason       string
}

// Describe says why.
func (s AgreePasswords) Describe() string { return "agree on the passwords: " + s.Reason }

// IssueCertificate issues a certificate from the operator's CA and writes it to the site, then to the hub.
type IssueCertificate struct {
	Names  []string
	Reason string
}

// Describe says why.
func (s IssueCertificate) Describe() string { return "issue a certificate: " + s.Reason }

// CopyCertificate writes a certificate that exists to the site, then to the hub.
type CopyCertificate struct {
	Data   map[string][]byte
	Reason string
}

// Describe says why.
func (s CopyCertificate) Describe() string { return "copy the certificate: " + s.Reason }

// RestartPod deletes the pod, which its StatefulSet makes again from the present template.
type RestartPod struct {
	Name string
	// UID of the pod that was observed: another one is not deleted.
	UID    types.UID
	Reason string
	// Once is written into the StatefulSet's annotation when the pod has been deleted, so that the same cause restarts it
	// only once; empty when the cause goes with the restart for sure.
	Once string
}

// Describe names the pod.
func (s RestartPod) Describe() string { return "restart pod " + s.Name + ": " + s.Reason }

// Execute executes a statement on the server.
type Execute struct {
	Role      credentials.Role
	Database  string
	Statement tsql.Statement
}

// Describe is the statement without its secrets.
func (s Execute) Describe() string {
	return fmt.Sprintf("execute as %s in %s: %s", s.Role.Login(), s.Database, s.Statement.Redacted())
}

// Plan is what to do and what is so until it is done.
type Plan struct {
	Steps []Step
	// Outcome holds while the steps remain, or when there are none.
	Outcome conditions.Outcome
	// Pending says why the pod should be restarted when the operator does not do it by itself.
	Pending string
}

func (p *Plan) add(s Step) { p.Steps = append(p.Steps, s) }

// settle sets the outcome and ends the planning.
func (p *Plan) settle(o conditions.Outcome) bool {
	p.Outcome = o
	return false
}
