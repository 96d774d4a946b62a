// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// outcomesOfEngines are about pods, engines and what is in them.
func outcomesOfEngines(t *testing.T) []planOutcome {
	setRunning := func(pod *corev1.Pod, state corev1.ContainerState) { pod.Status.ContainerStatuses[0].State = state }
	return []planOutcome{
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting, says: "comes after its secondaries",
			pending: "comes after its secondaries",
			steps:   []string{"leave the turn to restart to the other servers of group content"},
		},
		{
			name:   "waits while it is another one's",
			change: func(e *environ) { e.outdated(Turn{Group: "content", Declared: true, Holder: "dubcfg"}) },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning, pending: "in group content it is the turn of dubcfg",
		},
		{
			name: "waits while a replica is not well",
			change: func(e *environ) {
				e.outdated(
					Turn{Group: "content", Declared: true, Primary: "quisec", Against: []string{"dubcfg-0 is not connected"}},
				)
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			pending: "group content can't do without a replica now: dubcfg-0 is not connected",
		},
		{
			name: "waits while nobody knows",
			change: func(e *environ) {
				e.outdated(Turn{Group: "content", Declared: true, Err: errors.New("no server is known to be its primary")})
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning, pending: "no server is known to be its primary",
		},
		{
			name: "a primary comes after its secondaries",
			change: func(e *environ) {
				e.outdated(Turn{Group: "content", Declared: true, Primary: "tukpub", Behind: []v1alpha1.ServerName{"quisec"}})
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			pending: "the primary of group content comes after its secondaries: quisec",
		},
		{
			name:   "and waits for a switchover then",
			change: func(e *environ) { e.outdated(Turn{Group: "content", Declared: true, Primary: "tukpub"}) },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
			pending: "kubectl geosql switchover content --to SERVER",
		},
		{
			name: "tempdb moves when it is the server's turn",
			change: func(e *environ) {
				e.o.Engine.Groups, e.o.Engine.TempDB[0].Path = []string{"content"}, "/var/opt/mssql/data/tempdb.mdf"
				e.o.Turns = []Turn{{Group: "content", Declared: true, Primary: "quisec"}}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting, says: "tukpub-0 is not synchronized",
		},
		{
			name: "and gives it back then",
			change: func(e *environ) {
				e.o.Engine.Groups = []string{"content"}
				e.o.Turns = []Turn{{Group: "content", Declared: true, Holder: "tukpub", Primary: "quisec"}}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{"leave the turn to restart to the other servers of group content"},
		},
		{
			name: "and behind one that nobody declares",
			change: func(e *environ) {
				e.o.Engine.Groups = []string{"theirs"}
				e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning, pending: "the server is in group theirs",
		},
		{
			name: "and behind a declared one while the engine does not answer",
			change: func(e *environ) {
				e.d.Groups = []string{"content"}
				e.o.Engine.Err = &mssql.Error{Server: "tukpub-0", Doing: "read", Class: mssql.Unknown, Err: errors.New("deadline")}
				e.d.Server.Spec.Startup.CheckpointThrottleMBps = nil
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonEngineNotAnswering,
			pending: "the server is in group content",
		},
		{
			name: "a group that is not made yet holds up no restart: its listener's name must come into the certificate",
			change: func(e *environ) {
				e.d.Groups, e.d.Listeners = []string{"content"}, []string{"content"}
				e.do(t, IssueCertificate{Names: e.d.certificateNames()})
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting,
			steps: []string{"restart pod tukpub-0: the certificate changed"},
		},
		{
			name: "unless its engine has never run",
			change: func(e *environ) {
				e.d.Groups = []string{"content"}
				e.d.Server.Spec.Image = "mssql:2022-right"
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
				setRunning(e.o.Pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonRestarting, steps: []string{"restart pod tukpub-0"},
		},
		{
			name: "a new place restarts nothing",
			change: func(e *environ) {
				e.d.Server.Spec.Scheduling = &v1alpha1.ServerScheduling{PriorityClassName: "high"}
				e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
		},
		{
			name: "an image that can't be pulled",
			change: func(e *environ) {
				setRunning(
					e.o.Pod,
					corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
				)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonImagePullFailed,
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonPodNotReady, says: "last with exit code 1 (Error)",
		},
		{
			name: "a volume that is not bound",
			change: func(e *environ) {
				e.o.Pod.Spec.NodeName = ""
				e.o.Claims[placement.RoleData].Status.Phase = corev1.ClaimPending
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonVolumePending, says: "volumes not bound yet: data",
		},
		{
			name: "an engine that times out is unknown",
			change: func(e *environ) {
				e.o.Engine.Err = &mssql.Error{Server: "tukpub-0", Doing: "read", Class: mssql.Unknown, Err: errors.New("deadline")}
			},
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonEngineNotAnswering,
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonEngineNotAnswering, says: "no such host",
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
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonLoginFailed,
			says: "put the right sa-password into the Secret",
		},
		{
			name:   "an instance of another name",
			change: func(e *environ) { e.o.Engine.Instance.ServerName = "OTHER-0" },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonServerNameMismatch, says: "calls itself OTHER-0",
		},
		{
			name:   "a login's password is put right",
			change: func(e *environ) { e.o.Engine.Refused[credentials.RoleAgent] = errors.New("18456") },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"refresh the Secrets of pod tukpub-0",
				"execute as sa in master: ALTER LOGIN [geosql_agent] WITH PASSWORD = N'***'"},
		},
		{
			name:   "a sa password changed in the Secret is given to the engine by the previous one",
			change: func(e *environ) { e.changeSA("new"); e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456") },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER LOGIN [sa] WITH PASSWORD = N'***'"},
		},
		{
			name:   "and the previous one is forgotten when the engine takes the new one",
			change: func(e *environ) { e.changeSA("new") },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating, steps: []string{"forget the previous sa password"},
		},
		{
			name: "a sa password that the engine does not take holds up what only sa can do",
			change: func(e *environ) {
				e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456")
				delete(e.o.Engine.Logins, "geosql_agent")
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonLoginFailed,
			says: "put the right sa-password into the Secret",
		},
		{
			name:   "and nothing else",
			change: func(e *environ) { e.o.Engine.Refused[credentials.RoleSA] = errors.New("18456") },
			ready:  metav1.ConditionTrue, reason: v1alpha1.ReasonRunning,
		},
		{
			name:   "a login of somebody else is left alone",
			change: func(e *environ) { e.o.Engine.Logins["geosql_agent"] = mssql.Login{SID: make([]byte, 16)} },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonLoginConflict, says: "with another SID",
		},
		{
			name: "a grant that was revoked",
			change: func(e *environ) {
				e.o.Engine.Permissions["geosql_agent"] = slices.Delete(slices.Clone(e.o.Engine.Permissions["geosql_agent"]), 1, 2)
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"execute as sa in master: GRANT VIEW SERVER STATE TO [geosql_agent]"},
		},
		{
			name:   "replication makes the operator a sysadmin",
			change: func(e *environ) { e.d.Replicates = true },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER SERVER ROLE [sysadmin] ADD MEMBER [geosql_operator]"},
		},
		{
			name:   "and no longer when it ends",
			change: func(e *environ) { e.o.Engine.Sysadmins = []string{"sa", "geosql_operator"} },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonCreating,
			steps: []string{"execute as sa in master: ALTER SERVER ROLE [sysadmin] DROP MEMBER [geosql_operator]"},
		},
		{
			name: "a restart that did not move tempdb is not repeated",
			change: func(e *environ) {
				e.o.Engine.TempDB[0].Path = "/var/opt/mssql/data/tempdb.mdf"
				e.o.StatefulSet.Annotations[annotationRestarted] = hashOf(e.o.Engine.TempDB)
			},
			ready: metav1.ConditionTrue, reason: v1alpha1.ReasonRunning, pending: "tempdb moves to its volume",
		},
		{
			name: "a foreign Service of the server's name",
			change: func(e *environ) {
				e.o.Names = &metav1.Condition{
					Type:    v1alpha1.ConditionNamesReady,
					Status:  metav1.ConditionFalse,
					Reason:  v1alpha1.ReasonNamesConflict,
					Message: "Service tukpub-0 at site dublin is not the operator's",
				}
			},
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonNamesConflict, says: "at site dublin",
		},
		{
			name:   "a frozen engine's pod is not ready",
			change: func(e *environ) { e.o.Pod.Status.Conditions[0].Status = corev1.ConditionFalse },
			ready:  metav1.ConditionFalse, reason: v1alpha1.ReasonPodNotReady,
		},
	}
}
