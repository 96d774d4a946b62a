// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"

	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
)

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

// MakeAuthority makes the operator's CA, or another one in place of one that ends. Certificates are issued by it once
// it is trusted.
type MakeAuthority struct{ Reason string }

// Describe says why.
func (s MakeAuthority) Describe() string { return "make the operator's CA: " + s.Reason }

// IssueCertificate issues a certificate from the operator's CA and writes it to the site, then to the hub.
type IssueCertificate struct {
	Names []string
	// Authority is the operator's CA that the step was planned with, PEM: nobody trusts another one yet. Empty when there
	// was none.
	Authority []byte
	// Trust are the CAs that are trusted beside the operator's, Issuers those of the server's own certificates; PEM.
	Trust, Issuers []byte
	Reason         string
}

// Describe says why.
func (s IssueCertificate) Describe() string { return "issue a certificate: " + s.Reason }

// CopyCertificate writes a certificate that exists to the site, to the hub, or first to one and then to the other.
type CopyCertificate struct {
	Data      map[string][]byte
	Site, Hub bool
	Reason    string
}

// Describe says why.
func (s CopyCertificate) Describe() string { return "copy the certificate: " + s.Reason }

// RestartPod deletes the pod, which its StatefulSet makes again from the present template.
type RestartPod struct {
	Name string
	// UID of the pod that was observed: another one is not deleted.
	UID types.UID
	// Version is the resourceVersion of the pod that was observed: one of which its kubelet has written otherwise since is
	// not deleted.
	Version string
	Reason  string
	// Once is written into the StatefulSet's annotation when the pod has been deleted, so that the same cause restarts it
	// only once; empty when the cause goes with the restart for sure.
	Once string
}

// Describe names the pod.
func (s RestartPod) Describe() string { return "restart pod " + s.Name + ": " + s.Reason }

// ForgetPreviousSA takes the former sa passwords out of the Secrets, once the engine takes the present one.
type ForgetPreviousSA struct{}

// Describe says why.
func (ForgetPreviousSA) Describe() string {
	return "forget the previous sa password: the engine takes the new one"
}

// RefreshPod makes the kubelet look at the pod's Secrets now rather than at its next round, so that the sidecar has a
// new password about when the engine has it.
type RefreshPod struct {
	Name   string
	Reason string
}

// Describe names the pod.
func (s RefreshPod) Describe() string {
	return "refresh the Secrets of pod " + s.Name + ": " + s.Reason
}

// RemovePolicy deletes the server's NetworkPolicy.
type RemovePolicy struct {
	Name string
	// UID of the policy that was observed: another one is not deleted.
	UID types.UID
}

// Describe says why.
func (s RemovePolicy) Describe() string {
	return "delete NetworkPolicy " + s.Name + ": networkPolicy is None"
}

// policyUnwritten is why the NetworkPolicy is not as it should be: nothing else waits for it.
type policyUnwritten struct{ err error }

func asUnwritten(failed error) error {
	if failed == nil {
		return nil
	}
	return &policyUnwritten{failed}
}

func (e *policyUnwritten) Error() string { return e.err.Error() }
func (e *policyUnwritten) Unwrap() error { return e.err }

// DeleteStatefulSet deletes the StatefulSet and with it the pod.
type DeleteStatefulSet struct {
	// UID of the StatefulSet that was observed: another one is not deleted.
	UID types.UID
}

// Describe says what stays.
func (s DeleteStatefulSet) Describe() string {
	return "delete the StatefulSet and its pod; the volumes stay until both are gone"
}

// TakeAway deletes what else the server has at its site; volumes and Secrets only if told so.
type TakeAway struct{ Data bool }

// Describe says whether data go.
func (s TakeAway) Describe() string {
	if s.Data {
		return "delete the server's configuration, account, volumes and Secrets: its reclaimPolicy is Delete"
	}
	return "delete the server's configuration and account; volumes and Secrets stay"
}

// ArrangeTempDB is a statement about the files of tempdb, which nothing else depends on.
type ArrangeTempDB struct{ mssql.Execute }

// tempDBRefused is the engine's refusal of an ArrangeTempDB. One that timed out may be taken the next time.
type tempDBRefused struct{ err error }

// asRefused is the failure of such a step: a refusal where the engine has answered so, itself else.
func asRefused(failed error) error {
	if answer := (*mssql.Error)(nil); errors.As(failed, &answer) && answer.Class == mssql.Refused {
		return &tempDBRefused{failed}
	}
	return failed
}

func (e *tempDBRefused) Error() string { return e.err.Error() }
func (e *tempDBRefused) Unwrap() error { return e.err }

// pending is why the pod should be restarted when the operator does not do it by itself: the note of a plan.
type pending struct {
	Why string
	// Reason is the reason of the condition RestartPending, empty for RestartNeeded.
	Reason string
	// Announced are the switchovers that are waited for, with what they break.
	Announced []v1alpha1.AnnouncedSwitchover
}

// waits is what the pod waits for by a plan.
func waits(p reconcile.Plan) pending { return reconcile.Noted[pending](p) }

// waitFor adds to what the pod waits for, under the reason that is there.
func waitFor(p *reconcile.Plan, why string) { pend(p, why, waits(*p).Reason) }

// idle tells of a reason that asks for no restart and waits for one that is due anyway: it keeps nobody from anything,
// and stands behind any other.
func idle(reason string) bool {
	return reason == v1alpha1.ReasonPromisesOnDataVolume || reason == v1alpha1.ReasonBuffersAtNextStart
}

// pend adds to what the pod waits for.
func pend(p *reconcile.Plan, why, reason string) {
	now := waits(*p)
	switch {
	case now.Why == "":
		now.Reason = reason
	case idle(reason):
	case now.Reason == v1alpha1.ReasonSidecarOutdated || idle(now.Reason):
		now.Reason = reason
	case now.Reason != reason:
		now.Reason = ""
	}
	if now.Why != "" {
		why = now.Why + "; " + why
	}
	now.Why = why
	p.Note = now
}
