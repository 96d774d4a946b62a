// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
)

// planOutcome is what becomes of a plan when something changes at a server that runs.
type planOutcome struct {
	name   string
	change func(e *environ)
	ready  metav1.ConditionStatus
	reason string
	says   string
	// steps is how the descriptions of the plan's steps begin.
	steps   []string
	pending string
}

func TestPlanOutcomes(t *testing.T) {
	for _, tc := range slices.Concat(outcomesOfObjects(t), outcomesOfEngines(t)) {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			settled, _ := e.settle(t, 100)
			g.Expect(settled.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
			tc.change(e)
			p := plan(e.d, e.o)
			g.Expect(p.Outcome.Reason).To(Equal(tc.reason), "%+v", p.Outcome)
			g.Expect(p.Outcome.Ready).To(Equal(tc.ready))
			g.Expect(p.Outcome.Message).To(ContainSubstring(tc.says))
			g.Expect(waits(p).Why).To(ContainSubstring(tc.pending))
			if tc.pending == "" {
				g.Expect(waits(p).Why).To(BeEmpty())
			}
			g.Expect(p.All()).To(HaveLen(len(tc.steps)))
			for i, s := range p.All() {
				g.Expect(s.Describe()).To(HavePrefix(tc.steps[i]))
			}
			g.Expect(plan(e.d, e.o)).To(Equal(p), "the same world gives the same plan")
		})
	}
}

// outcomesOfObjects are about sites, Secrets, volumes and what else is there beside the engine.
func outcomesOfObjects(t *testing.T) []planOutcome {
	return []planOutcome{
		{
			name: "a silent site is unknown, not failed",
			change: func(e *environ) {
				e.o.Site = &sites.UnreachableError{Site: "tukwila", Since: start, Cause: errors.New("i/o timeout")}
			},
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonSiteUnreachable,
			says: "has not answered since 2026-11-20T10:00:00Z",
		},
		{
			name: "a namespace that is not allowed",
			change: func(e *environ) {
				e.o.Site = &sites.NamespaceError{Site: "tukwila", Namespace: "web", Allowed: []string{"shop"}}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNamespaceNotAllowed, says: "allowed are shop",
		},
		{
			name:   "a site that is declared lost",
			change: func(e *environ) { e.o.Site = fmt.Errorf("site tukwila: %w", sites.ErrSiteLost) },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonSiteLost,
		},
		{
			name: "lost passwords of existing volumes are not made again",
			change: func(e *environ) {
				e.o.SitePasswords, e.o.HubPasswords = nil, nil
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCredentialsLost, says: "restore Secret tukpub-credentials",
		},
		{
			name:   "a rebuilt hub adopts the site's passwords",
			change: func(e *environ) { e.o.HubPasswords = nil },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"agree on the passwords: the hub adopts those of the site"},
		},
		{
			name:   "an old certificate is renewed",
			change: func(e *environ) { e.o.Now = start.Add(250 * 24 * time.Hour) },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"issue a certificate: two thirds of its life", "refresh the Secrets of pod tukpub-0"},
		},
		{
			name: "a certificate of the user's is copied to the site",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "tukpub-0")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"copy the certificate", "refresh the Secrets of pod tukpub-0"},
		},
		{
			name: "a certificate of the user's that is in place",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: credentials.CertificateName("tukpub")}
				e.o.UserCertificate = e.o.HubCertificate
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
		},
		{
			name: "a certificate of the user's for another name",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "sql.example.com")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateKept,
			says: "it is not for the name tukpub-0 but for sql.example.com",
		},
		{
			name: "a certificate of the user's that sidecars of a group do not know whose it is by",
			change: func(e *environ) {
				e.d.Server.Spec.TLS, e.d.Groups = &v1alpha1.ServerTLS{SecretName: "mine"}, []string{"content"}
				e.o.UserCertificate = issued(t, "tukpub-0", "tukpub-0.web")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateKept,
			says: "in group content sidecars show it to each other: it must be for the name tukpub-0.web.svc, too",
		},
		{
			name: "a certificate of the user's for servers alone, in a group",
			change: func(e *environ) {
				e.d.Server.Spec.TLS, e.d.Groups = &v1alpha1.ServerTLS{SecretName: "mine"}, []string{"content"}
				e.o.UserCertificate = forServers(t, "tukpub-0", "*.web", "*.web.svc")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateKept, says: "client auth beside server auth",
		},
		{
			name: "a certificate of the user's for servers alone",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = forServers(t, "tukpub-0")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"copy the certificate", "refresh the Secrets of pod tukpub-0",
				"complete Secret geosql-agent-reader"},
			pending: "it is shown once its CA is trusted beside the present one",
		},
		{
			name: "a certificate of the user's that is not there",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificateError = errors.New("secret web/mine does not exist in the hub")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateKept, says: "does not exist in the hub",
		},
		{
			name: "a certificate of the user's that is not there, before the first start",
			change: func(e *environ) {
				e.d.Server.Spec.TLS, e.o.SiteCertificate = &v1alpha1.ServerTLS{SecretName: "mine"}, nil
				e.o.UserCertificateError = errors.New("secret web/mine does not exist in the hub")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateInvalid, says: "does not exist in the hub",
		},
		{
			name: "a certificate of the user's that has ended",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "tukpub-0")
				e.o.Now = start.Add(400 * 24 * time.Hour)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateInvalid, says: "it ended at 2027-11-20",
		},
		{
			name: "a certificate of the user's for another namespace's server",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "tukpub-0", "tukpub-0.shop.svc.cluster.local")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCertificateKept,
			says: "it is not that of tukpub-0 in namespace web",
		},
		{
			name:   "a storage class that does not exist",
			change: func(e *environ) { e.d.Site.Spec.StorageClasses.Log = "quick"; delete(e.o.Claims, placement.RoleLog) },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonStorageClassNotFound,
			says: "storage class quick for log does not exist; existing classes: archive, capacity, fast",
		},
		{
			name: "classes that exclude each other, for a new server",
			change: func(e *environ) {
				e.d.Site.Spec.StorageClasses.Backup = "archive"
				e.o.Claims, e.o.StatefulSet, e.o.Pod = map[placement.Role]*corev1.PersistentVolumeClaim{}, nil, nil
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNoNodeForVolumes,
			says: "class fast allows tukwila-worker; class archive allows tukwila-worker2; no node can serve data, log, " +
				"tempdb, agent (fast) and backup (archive)",
		},
		{
			name:   "a cordoned node is not held against a running pod",
			change: func(e *environ) { e.o.Cluster.Nodes[0].Spec.Unschedulable = true },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
		},
		{
			name: "a claim of somebody else",
			change: func(e *environ) {
				e.o.Claims[placement.RoleLog].Labels = nil
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict,
			says: "PersistentVolumeClaim tukpub-log exists",
		},
		{
			name:   "a Secret of somebody else",
			change: func(e *environ) { e.o.ForeignSecrets = []string{"tukpub-tls of site tukwila"} },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict,
			says: "not the operator's: tukpub-tls of site tukwila. Remove them",
		},
		{
			name:   "a ConfigMap of somebody else",
			change: func(e *environ) { e.o.ConfigMap.Labels = nil },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict, says: "ConfigMap tukpub-mssql-conf exists",
		},
		{
			name:   "a Role of somebody else",
			change: func(e *environ) { e.o.Account.Role.Labels = nil },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict, says: "Role tukpub-agent exists",
		},
		{
			name: "a PodDisruptionBudget of somebody else",
			change: func(e *environ) {
				e.o.Budget = disruptionBudget(e.d, false, nil)
				e.o.Budget.Labels = map[string]string{"app": "tukpub"}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict, says: "PodDisruptionBudget tukpub exists",
		},
		{
			name:   "a StatefulSet of somebody else",
			change: func(e *environ) { e.o.StatefulSet.Labels = map[string]string{"app": "x"} },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonObjectConflict, says: "StatefulSet tukpub exists",
		},
		{
			name:   "a volume grows where its class allows it",
			change: func(e *environ) { e.d.Server.Spec.Storage.Backup.Size = resource.MustParse("80Gi") },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			steps: []string{"apply PersistentVolumeClaim tukpub-backup: it grows from 50Gi to 80Gi"},
		},
		{
			name:   "a volume can't grow where its class does not allow it",
			change: func(e *environ) { e.d.Server.Spec.Storage.Data.Size = resource.MustParse("80Gi") },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonVolumeCannotGrow,
			says: "storage class fast does not allow it",
		},
		{
			name: "and keeps nothing else from being done",
			change: func(e *environ) {
				e.d.Server.Spec.Storage.Data.Size = resource.MustParse("80Gi")
				e.o.StatefulSet.Spec.Replicas = ptr.To[int32](2)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"apply StatefulSet tukpub: somebody changed spec.replicas"},
		},
		{
			name:   "a volume never shrinks",
			change: func(e *environ) { e.d.Server.Spec.Storage.Data.Size = resource.MustParse("1Gi") },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
		},
		{
			name:   "what somebody changed is put right",
			change: func(e *environ) { e.o.StatefulSet.Spec.Replicas = ptr.To[int32](2) },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"apply StatefulSet tukpub: somebody changed spec.replicas"},
		},
		{
			name: "a new startup option restarts a server that is in no group",
			change: func(e *environ) {
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the pod's template changed"},
		},
		{
			name: "and waits behind a group",
			change: func(e *environ) {
				e.d.Groups, e.o.Engine.Groups = []string{"content"}, []string{"content"}
				e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning, pending: "the server is in group content",
		},
		{
			name: "a secondary takes its turn when all others are well",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Primary: "quisec", Behind: []v1alpha1.ServerName{"quisec", "dubcfg"}},
				)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{
				"take the turn to restart among the servers of group content",
				"restart pod tukpub-0: the pod's template changed",
			},
		},
		{
			name: "goes on with the turn that it has",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec", Self: "tukpub-0 is not connected"},
				)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the pod's template changed"},
		},
		{
			name: "but not while nobody knows who is primary: it may be",
			change: func(e *environ) {
				e.outdated(
					Turn{
						Group:    "content",
						Declared: true,
						Holder:   "tukpub",
						Err:      errors.New("quisec-0 was its primary and does not say so any more"),
					},
				)
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			pending: "quisec-0 was its primary and does not say so any more",
		},
		{
			name: "unless its engine does not run",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Holder: "tukpub", Err: errors.New("no server is known to be its primary")},
				)
				e.o.Engine = Engine{}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the pod's template changed"},
		},
		{
			name: "and gives the turn back while another replica is not well",
			change: func(e *environ) {
				e.outdated(
					Turn{
						Group:    "content",
						Declared: true,
						Holder:   "tukpub",
						Primary:  "quisec",
						Against:  []string{"dubcfg-0 is not connected"},
					},
				)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting, says: "dubcfg-0 is not connected",
			pending: "dubcfg-0 is not connected",
			steps:   []string{"leave the turn to restart to the other servers of group content"},
		},
		{
			name: "nor is it restarted then when it is only behind",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec", Self: "tukpub-0 is not synchronized",
						Against: []string{"dubcfg-0 is not connected"}},
				)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting, says: "tukpub-0 is not synchronized",
			pending: "dubcfg-0 is not connected",
		},
	}
}
