// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
)

func TestPlanCreatesAServer(t *testing.T) {
	g := NewWithT(t)
	s := server()
	s.Spec.TempDBFiles = ptr.To[int32](4)
	e := newEnviron(t, declared(s, Surroundings{}))
	p, done := e.settle(t, 100)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue), "%+v", p.Outcome)
	g.Expect(p.Outcome.Reason).To(Equal(conditions.ReasonRunning))
	g.Expect(waits(p).Why).To(BeEmpty())
	g.Expect(done[0]).To(HavePrefix("agree on the passwords"))
	g.Expect(strings.Join(done, "\n")).To(ContainSubstring("restart pod tukpub-0: tempdb moves to its volume"))
	for _, d := range done {
		g.Expect(d).NotTo(ContainSubstring(e.o.SitePasswords.Of(credentials.RoleAgent)), "a description shows no password")
	}
	g.Expect(e.o.Engine.TempDB).To(HaveLen(5))
	g.Expect(e.o.Engine.Sysadmins).To(BeEmpty(), "a server that does not replicate has no sysadmin of ours")
	g.Expect(e.o.Engine.Permissions["geosql_agent"]).
		To(ConsistOf("CONNECT SQL", "VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE",
			"VIEW ANY DEFINITION", "ALTER ANY AVAILABILITY GROUP", "ALTER ANY DATABASE", "ALTER ANY CONNECTION"))
	g.Expect(e.o.Engine.Permissions["geosql_replication"]).To(ConsistOf("CONNECT SQL"))
}

// The end is the same when the manager dies after each single step.
func TestPlanSurvivesAnEndAfterEachStep(t *testing.T) {
	g := NewWithT(t)
	whole, single := newEnviron(t, declared(server(), Surroundings{})), newEnviron(t, declared(server(), Surroundings{}))
	_, a := whole.settle(t, 100)
	p, b := single.settle(t, 1)
	g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionTrue))
	g.Expect(b).To(Equal(a))
	g.Expect(single.o.Engine.Permissions).To(Equal(whole.o.Engine.Permissions))
}

func TestPlanOutcomes(t *testing.T) {
	setRunning := func(pod *corev1.Pod, state corev1.ContainerState) { pod.Status.ContainerStatuses[0].State = state }
	tests := []struct {
		name   string
		change func(e *environ)
		ready  metav1.ConditionStatus
		reason string
		says   string
		// steps is how the descriptions of the plan's steps begin.
		steps   []string
		pending string
	}{
		{
			name: "a silent site is unknown, not failed",
			change: func(e *environ) {
				e.o.Site = &sites.UnreachableError{Site: "tukwila", Since: start, Cause: errors.New("i/o timeout")}
			},
			ready: metav1.ConditionUnknown, reason: conditions.ReasonSiteUnreachable,
			says: "has not answered since 2026-11-20T10:00:00Z",
		},
		{
			name: "a namespace that is not allowed",
			change: func(e *environ) {
				e.o.Site = &sites.NamespaceError{Site: "tukwila", Namespace: "web", Allowed: []string{"shop"}}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonNamespaceNotAllowed, says: "allowed are shop",
		},
		{
			name:   "a site that is declared lost",
			change: func(e *environ) { e.o.Site = fmt.Errorf("site tukwila: %w", sites.ErrSiteLost) },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonSiteLost,
		},
		{
			name: "lost passwords of existing volumes are not made again",
			change: func(e *environ) {
				e.o.SitePasswords, e.o.HubPasswords = nil, nil
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCredentialsLost, says: "restore Secret tukpub-credentials",
		},
		{
			name:   "a rebuilt hub adopts the site's passwords",
			change: func(e *environ) { e.o.HubPasswords = nil },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"agree on the passwords: the hub adopts those of the site"},
		},
		{
			name:   "an old certificate is renewed",
			change: func(e *environ) { e.o.Now = start.Add(250 * 24 * time.Hour) },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"issue a certificate: two thirds of its life", "refresh the Secrets of pod tukpub-0"},
		},
		{
			name: "a certificate of the user's is copied to the site",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "tukpub-0")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"copy the certificate", "refresh the Secrets of pod tukpub-0"},
		},
		{
			name: "a certificate of the user's that is in place",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: credentials.CertificateName("tukpub")}
				e.o.UserCertificate = e.o.HubCertificate
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning,
		},
		{
			name: "a certificate of the user's for another name",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "sql.example.com")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCertificateInvalid,
			says: "it is not for the name tukpub-0 but for sql.example.com",
		},
		{
			name: "a certificate of the user's that sidecars of a group do not know whose it is by",
			change: func(e *environ) {
				e.d.Server.Spec.TLS, e.d.Groups = &v1alpha1.ServerTLS{SecretName: "mine"}, []string{"content"}
				e.o.UserCertificate = issued(t, "tukpub-0", "tukpub-0.web")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCertificateInvalid,
			says: "in group content sidecars show it to each other: it must be for the name tukpub-0.web.svc, too",
		},
		{
			name: "a certificate of the user's for servers alone, in a group",
			change: func(e *environ) {
				e.d.Server.Spec.TLS, e.d.Groups = &v1alpha1.ServerTLS{SecretName: "mine"}, []string{"content"}
				e.o.UserCertificate = forServers(t, "tukpub-0", "*.web", "*.web.svc")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCertificateInvalid, says: "client auth beside server auth",
		},
		{
			name: "a certificate of the user's for servers alone",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = forServers(t, "tukpub-0")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCreating,
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
			ready: metav1.ConditionFalse, reason: conditions.ReasonCertificateInvalid, says: "does not exist in the hub",
		},
		{
			name: "a certificate of the user's that has ended",
			change: func(e *environ) {
				e.d.Server.Spec.TLS = &v1alpha1.ServerTLS{SecretName: "mine"}
				e.o.UserCertificate = issued(t, "tukpub-0")
				e.o.Now = start.Add(400 * 24 * time.Hour)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCertificateInvalid, says: "it ended at 2027-11-20",
		},
		{
			name:   "a storage class that does not exist",
			change: func(e *environ) { e.d.Site.Spec.StorageClasses.Log = "quick"; delete(e.o.Claims, placement.RoleLog) },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonStorageClassNotFound,
			says: "storage class quick for log does not exist; existing classes: archive, capacity, fast",
		},
		{
			name: "classes that exclude each other, for a new server",
			change: func(e *environ) {
				e.d.Site.Spec.StorageClasses.Backup = "archive"
				e.o.Claims, e.o.StatefulSet, e.o.Pod = map[placement.Role]*corev1.PersistentVolumeClaim{}, nil, nil
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonNoNodeForVolumes,
			says: "class fast allows tukwila-worker; class archive allows tukwila-worker2; no node can serve data, log, " +
				"tempdb (fast) and backup (archive)",
		},
		{
			name:   "a cordoned node is not held against a running pod",
			change: func(e *environ) { e.o.Cluster.Nodes[0].Spec.Unschedulable = true },
			ready:  metav1.ConditionTrue, reason: conditions.ReasonRunning,
		},
		{
			name: "a claim of somebody else",
			change: func(e *environ) {
				e.o.Claims[placement.RoleLog].Labels = nil
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonObjectConflict,
			says: "PersistentVolumeClaim tukpub-log exists",
		},
		{
			name:   "a Secret of somebody else",
			change: func(e *environ) { e.o.ForeignSecrets = []string{"tukpub-tls of site tukwila"} },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonObjectConflict,
			says: "not the operator's: tukpub-tls of site tukwila. Remove them",
		},
		{
			name:   "a ConfigMap of somebody else",
			change: func(e *environ) { e.o.ConfigMap.Labels = nil },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonObjectConflict, says: "ConfigMap tukpub-mssql-conf exists",
		},
		{
			name:   "a Role of somebody else",
			change: func(e *environ) { e.o.Account.Role.Labels = nil },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonObjectConflict, says: "Role tukpub-agent exists",
		},
		{
			name: "a PodDisruptionBudget of somebody else",
			change: func(e *environ) {
				e.o.Budget = disruptionBudget(e.d, false, nil)
				e.o.Budget.Labels = map[string]string{"app": "tukpub"}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonObjectConflict, says: "PodDisruptionBudget tukpub exists",
		},
		{
			name:   "a StatefulSet of somebody else",
			change: func(e *environ) { e.o.StatefulSet.Labels = map[string]string{"app": "x"} },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonObjectConflict, says: "StatefulSet tukpub exists",
		},
		{
			name:   "a volume grows where its class allows it",
			change: func(e *environ) { e.d.Server.Spec.Storage.Backup.Size = resource.MustParse("80Gi") },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"apply PersistentVolumeClaim tukpub-backup: it grows from 50Gi to 80Gi"},
		},
		{
			name:   "a volume can't grow where its class does not allow it",
			change: func(e *environ) { e.d.Server.Spec.Storage.Data.Size = resource.MustParse("80Gi") },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonVolumeCannotGrow,
			says: "storage class fast does not allow it",
		},
		{
			name: "and keeps nothing else from being done",
			change: func(e *environ) {
				e.d.Server.Spec.Storage.Data.Size = resource.MustParse("80Gi")
				e.o.StatefulSet.Spec.Replicas = ptr.To[int32](2)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"apply StatefulSet tukpub: somebody changed spec.replicas"},
		},
		{
			name:   "a volume never shrinks",
			change: func(e *environ) { e.d.Server.Spec.Storage.Data.Size = resource.MustParse("1Gi") },
			ready:  metav1.ConditionTrue, reason: conditions.ReasonRunning,
		},
		{
			name:   "what somebody changed is put right",
			change: func(e *environ) { e.o.StatefulSet.Spec.Replicas = ptr.To[int32](2) },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"apply StatefulSet tukpub: somebody changed spec.replicas"},
		},
		{
			name: "a new startup option restarts a server that is in no group",
			change: func(e *environ) {
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the pod's template changed"},
		},
		{
			name: "and waits behind a group",
			change: func(e *environ) {
				e.d.Groups, e.o.Engine.Groups = []string{"content"}, []string{"content"}
				e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning, pending: "the server is in group content",
		},
		{
			name: "a secondary takes its turn when all others are well",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Primary: "quisec", Behind: []v1alpha1.ServerName{"quisec", "dubcfg"}},
				)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
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
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
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
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning,
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
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
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
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting, says: "dubcfg-0 is not connected",
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
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting, says: "tukpub-0 is not synchronized",
			pending: "dubcfg-0 is not connected",
		},
		{
			name: "but when the primary does without it anyway",
			change: func(e *environ) {
				e.outdated(
					Turn{
						Group:    "content",
						Declared: true,
						Holder:   "tukpub",
						Primary:  "quisec",
						Self:     "tukpub-0 is not connected",
						Away:     true,
						Against:  []string{"dubcfg-0 is not connected"},
					},
				)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the pod's template changed"},
		},
		{
			name: "and when it is primary by now",
			change: func(e *environ) {
				e.outdated(
					Turn{
						Group:    "content",
						Declared: true,
						Holder:   "tukpub",
						Primary:  "tukpub",
						Behind:   []v1alpha1.ServerName{"quisec"},
					},
				)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting, says: "comes after its secondaries",
			pending: "comes after its secondaries",
			steps:   []string{"leave the turn to restart to the other servers of group content"},
		},
		{
			name:   "waits while it is another one's",
			change: func(e *environ) { e.outdated(Turn{Group: "content", Declared: true, Holder: "dubcfg"}) },
			ready:  metav1.ConditionTrue, reason: conditions.ReasonRunning, pending: "in group content it is the turn of dubcfg",
		},
		{
			name: "waits while a replica is not well",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Primary: "quisec", Against: []string{"dubcfg-0 is not connected"}},
				)
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning,
			pending: "group content can't do without a replica now: dubcfg-0 is not connected",
		},
		{
			name: "waits while nobody knows",
			change: func(e *environ) {
				e.outdated(Turn{Group: "content", Declared: true, Err: errors.New("no server is known to be its primary")})
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning, pending: "no server is known to be its primary",
		},
		{
			name: "a primary comes after its secondaries",
			change: func(e *environ) {
				e.outdated(Turn{Group: "content", Declared: true, Primary: "tukpub", Behind: []v1alpha1.ServerName{"quisec"}})
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning,
			pending: "the primary of group content comes after its secondaries: quisec",
		},
		{
			name:   "and waits for a switchover then",
			change: func(e *environ) { e.outdated(Turn{Group: "content", Declared: true, Primary: "tukpub"}) },
			ready:  metav1.ConditionTrue, reason: conditions.ReasonRunning,
			pending: "kubectl geosql switchover content --to SERVER",
		},
		{
			name: "tempdb moves when it is the server's turn",
			change: func(e *environ) {
				e.o.Engine.Groups, e.o.Engine.TempDB[0].Path = []string{"content"}, "/var/opt/mssql/data/tempdb.mdf"
				e.o.Turns = []Turn{{Group: "content", Declared: true, Primary: "quisec"}}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
			steps: []string{"take the turn", "restart pod tukpub-0: tempdb moves to its volume"},
		},
		{
			name: "a restarted server keeps its turn until its replica is well",
			change: func(e *environ) {
				e.o.Engine.Groups = []string{"content"}
				e.o.Turns = []Turn{
					{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec", Self: "tukpub-0 is not synchronized"},
				}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting, says: "tukpub-0 is not synchronized",
		},
		{
			name: "and gives it back then",
			change: func(e *environ) {
				e.o.Engine.Groups = []string{"content"}
				e.o.Turns = []Turn{{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec"}}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
			steps: []string{"leave the turn to restart to the other servers of group content"},
		},
		{
			name: "and behind one that nobody declares",
			change: func(e *environ) {
				e.o.Engine.Groups = []string{"theirs"}
				e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning, pending: "the server is in group theirs",
		},
		{
			name: "and behind a declared one while the engine does not answer",
			change: func(e *environ) {
				e.d.Groups = []string{"content"}
				e.o.Engine.Err = &mssql.Error{Server: "tukpub-0", Doing: "read", Class: mssql.Unknown, Err: errors.New("deadline")}
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionUnknown, reason: conditions.ReasonEngineNotAnswering,
			pending: "the server is in group content",
		},
		{
			name: "a group that is not made yet holds up no restart: its listener's name must come into the certificate",
			change: func(e *environ) {
				e.d.Groups, e.d.Listeners = []string{"content"}, []string{"content"}
				e.do(t, IssueCertificate{Names: e.d.certificateNames()})
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the certificate changed"},
		},
		{
			name: "unless its engine has never run",
			change: func(e *environ) {
				e.d.Groups = []string{"content"}
				e.d.Server.Spec.Image = "mssql:2022-right"
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
				setRunning(e.o.Pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonRestarting, steps: []string{"restart pod tukpub-0"},
		},
		{
			name: "a new place restarts nothing",
			change: func(e *environ) {
				e.d.Server.Spec.Scheduling = &v1alpha1.ServerScheduling{PriorityClassName: "high"}
				e.o.StatefulSet = stamp(statefulSet(e.d, must(decide(e.d, e.o)), e.o.SiteCertificate[credentials.KeyCertificate]))
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning,
		},
		{
			name: "an image that can't be pulled",
			change: func(e *environ) {
				setRunning(
					e.o.Pod,
					corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
				)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonImagePullFailed,
			says: "image mssql:2022 of container mssql can't be had on node tukwila-worker (ErrImagePull): not found",
		},
		{
			name: "an engine that ends again and again",
			change: func(e *environ) {
				setRunning(e.o.Pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
				e.o.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
					ExitCode: 1,
					Reason:   "Error",
				}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonPodNotReady, says: "last with exit code 1 (Error)",
		},
		{
			name: "a volume that is not bound",
			change: func(e *environ) {
				e.o.Pod.Spec.NodeName = ""
				e.o.Claims[placement.RoleData].Status.Phase = corev1.ClaimPending
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonVolumePending, says: "volumes not bound yet: data",
		},
		{
			name: "an engine that times out is unknown",
			change: func(e *environ) {
				e.o.Engine.Err = &mssql.Error{Server: "tukpub-0", Doing: "read", Class: mssql.Unknown, Err: errors.New("deadline")}
			},
			ready: metav1.ConditionUnknown, reason: conditions.ReasonEngineNotAnswering,
		},
		{
			name: "an engine whose name does not resolve",
			change: func(e *environ) {
				e.o.Engine.Err = &mssql.Error{
					Server: "tukpub-0",
					Doing:  "read",
					Class:  mssql.Unreachable,
					Err:    errors.New("no such host"),
				}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonEngineNotAnswering, says: "no such host",
		},
		{
			name: "passwords that the engine does not take",
			change: func(e *environ) {
				e.o.Engine.Err = &mssql.Error{
					Server: "tukpub-0",
					Doing:  "log in as sa",
					Class:  mssql.LoginFailed,
					Err:    errors.New("18456"),
				}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonLoginFailed,
			says: "put the right sa-password into the Secret",
		},
		{
			name:   "an instance of another name",
			change: func(e *environ) { e.o.Engine.Instance.ServerName = "OTHER-0" },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonServerNameMismatch, says: "calls itself OTHER-0",
		},
		{
			name:   "a login's password is put right",
			change: func(e *environ) { e.o.Engine.Refused[credentials.RoleAgent] = errors.New("18456") },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"refresh the Secrets of pod tukpub-0",
				"execute as sa in master: ALTER LOGIN [geosql_agent] WITH PASSWORD = N'***'"},
		},
		{
			name:   "a sa password changed in the Secret is given to the engine by the previous one",
			change: func(e *environ) { e.changeSA("new"); e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456") },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER LOGIN [sa] WITH PASSWORD = N'***'"},
		},
		{
			name:   "and the previous one is forgotten when the engine takes the new one",
			change: func(e *environ) { e.changeSA("new") },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating, steps: []string{"forget the previous sa password"},
		},
		{
			name: "a sa password that the engine does not take holds up what only sa can do",
			change: func(e *environ) {
				e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456")
				delete(e.o.Engine.Logins, "geosql_agent")
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonLoginFailed,
			says: "put the right sa-password into the Secret",
		},
		{
			name:   "and nothing else",
			change: func(e *environ) { e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456") },
			ready:  metav1.ConditionTrue, reason: conditions.ReasonRunning,
		},
		{
			name:   "a login of somebody else is left alone",
			change: func(e *environ) { e.o.Engine.Logins["geosql_agent"] = mssql.Login{SID: make([]byte, 16)} },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonLoginConflict, says: "with another SID",
		},
		{
			name: "a grant that was revoked",
			change: func(e *environ) {
				e.o.Engine.Permissions["geosql_agent"] = slices.Delete(slices.Clone(e.o.Engine.Permissions["geosql_agent"]), 1, 2)
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"execute as sa in master: GRANT VIEW SERVER STATE TO [geosql_agent]"},
		},
		{
			name:   "replication makes the operator a sysadmin",
			change: func(e *environ) { e.d.Replicates = true },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER SERVER ROLE [sysadmin] ADD MEMBER [geosql_operator]"},
		},
		{
			name:   "and no longer when it ends",
			change: func(e *environ) { e.o.Engine.Sysadmins = []string{"sa", "geosql_operator"} },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER SERVER ROLE [sysadmin] DROP MEMBER [geosql_operator]"},
		},
		{
			name: "a restart that did not move tempdb is not repeated",
			change: func(e *environ) {
				e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
				e.o.StatefulSet.Annotations[annotationRestarted] = hashOf(e.o.Engine.TempDB)
			},
			ready: metav1.ConditionTrue, reason: conditions.ReasonRunning, pending: "tempdb moves to its volume",
		},
		{
			name: "a foreign Service of the server's name",
			change: func(e *environ) {
				e.o.Names = &metav1.Condition{
					Type:    conditions.TypeNamesReady,
					Status:  metav1.ConditionFalse,
					Reason:  conditions.ReasonNamesConflict,
					Message: "Service tukpub-0 at site dublin is not the operator's",
				}
			},
			ready: metav1.ConditionFalse, reason: conditions.ReasonNamesConflict, says: "at site dublin",
		},
		{
			name:   "a frozen engine's pod is not ready",
			change: func(e *environ) { e.o.Pod.Status.Conditions[0].Status = corev1.ConditionFalse },
			ready:  metav1.ConditionFalse, reason: conditions.ReasonPodNotReady,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			settled, _ := e.settle(t, 100)
			g.Expect(settled.Outcome.Reason).To(Equal(conditions.ReasonRunning))
			tc.change(e)
			p := plan(e.d, e.o)
			g.Expect(p.Outcome.Reason).To(Equal(tc.reason), "%+v", p.Outcome)
			g.Expect(p.Outcome.Ready).To(Equal(tc.ready))
			g.Expect(p.Outcome.Message).To(ContainSubstring(tc.says))
			g.Expect(waits(p).Why).To(ContainSubstring(tc.pending))
			if tc.pending == "" {
				g.Expect(waits(p).Why).To(BeEmpty())
			}
			g.Expect(p.Steps).To(HaveLen(len(tc.steps)))
			for i, s := range p.Steps {
				g.Expect(s.Describe()).To(HavePrefix(tc.steps[i]))
			}
			g.Expect(plan(e.d, e.o)).To(Equal(p), "the same world gives the same plan")
		})
	}
}

func issued(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	return issuedAt(t, start, names...)
}

func must(d placement.Decision, err error) placement.Decision {
	if err != nil {
		panic(err)
	}
	return d
}
