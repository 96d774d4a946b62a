// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/podshape"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// plan decides what to do next and says what is so until then.
func plan(d Desired, o Observed) reconcile.Plan {
	d = keepEdition(chooseImage(holdBackAgentVolume(keepShape(d, o), o), o), o)
	decision, placementErr := decide(d, o)
	return reconcile.Stages(d, o,
		planSite,
		planStaging,
		planShape,
		planSecrets,
		planPasswords,
		planProductKey,
		planCertificate,
		planVersion,
		func(d Desired, o Observed, p *reconcile.Plan) bool {
			return planVolumes(d, o, decision, placementErr, p)
		},
		planNetwork,
		func(d Desired, o Observed, p *reconcile.Plan) bool { return planWorkload(d, o, decision, p) },
		planLinks,
		planPodMetadata,
		planRestart,
		planDrain,
		planPod,
		planEngine,
		planAdministrator,
		planLogins,
		planFormerPartners,
		planTempDB,
		planWrittenBy,
		planReadiness,
		planTurn,
		planBudget,
		planGrowth,
		planKeptCertificate,
		planNetworkClosed,
		planDatabases,
		planImage,
		planKeptSecrets,
		planKeptShape,
		planRunning,
	)
}

func planRunning(d Desired, o Observed, p *reconcile.Plan) bool {
	p.Outcome = conditions.Ready(
		v1alpha1.ReasonRunning,
		fmt.Sprintf("%s runs on node %s: %s%s", d.host(), o.Pod.Spec.NodeName, o.Engine.Instance.Engine,
			renewedOften(d, o)),
	)
	return true
}

func inProgress(message string) conditions.Outcome {
	return conditions.InProgress(v1alpha1.ReasonCreating, message)
}

func conflictingLogin(d Desired, login tsql.Login, has []byte) conditions.Outcome {
	return conditions.Stalled(v1alpha1.ReasonLoginConflict, conflictMessage(d, login, has))
}

// planSite ends the plan when the site can't be used.
func planSite(d Desired, o Observed, p *reconcile.Plan) bool {
	var namespace *sites.NamespaceError
	switch {
	case o.Site == nil:
		return true
	case errors.As(o.Site, &namespace) && namespace.Missing != "":
		return p.Settle(conditions.InProgress(v1alpha1.ReasonNamespaceMissing, namespace.Error()))
	case errors.As(o.Site, &namespace):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNamespaceNotAllowed, namespace.Error()))
	case errors.Is(o.Site, sites.ErrUnknownSite):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonUnknownSite, o.Site.Error()+"; declare the Site"))
	case errors.Is(o.Site, sites.ErrSiteLost):
		return p.Settle(
			conditions.Outcome{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonSiteLost, Progress: conditions.Stuck,
				Message: o.Site.Error() + "; set its lifecycle to Active when it is back"},
		)
	}
	return p.Settle(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, o.Site.Error()))
}

// planVersion ends the plan before a first pod is made whose engine can't open the data that are there. A pod that
// there is goes on with its image; see planImage.
func planVersion(d Desired, o Observed, p *reconcile.Plan) bool {
	if i := d.image(); i.reason != v1alpha1.ReasonVersionLower || o.StatefulSet != nil {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonDataNewer, d.image().held))
}

// planImage says that the image that is declared is not taken.
func planImage(d Desired, _ Observed, p *reconcile.Plan) bool {
	if i := d.image(); i.reason != v1alpha1.ReasonVersionLower {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonVersionLower,
		fmt.Sprintf("%s. The engine goes on with %s; everything else is as declared", d.image().held, d.image().use)))
}

// planSecrets ends the plan while a Secret stands in the way that somebody else made: it would be written over.
func planSecrets(d Desired, o Observed, p *reconcile.Plan) bool {
	if len(o.ForeignSecrets) == 0 {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonObjectConflict, fmt.Sprintf(
		"these Secrets of namespace %s have names that the server's have, and are not the operator's: %s. Remove them, or "+
			"name the server otherwise",
		d.Server.Namespace,
		strings.Join(o.ForeignSecrets, ", "),
	)))
}

// planPasswords brings site and hub to the same passwords.
func planPasswords(d Desired, o Observed, p *reconcile.Plan) bool {
	if o.DeclaredSA.why() != "" && o.SitePasswords.Of(credentials.RoleSA) == "" &&
		o.HubPasswords.Of(credentials.RoleSA) == "" {
		return p.Settle(o.DeclaredSA.outcome())
	}
	agreement, err := o.administrator(o.DeclaredSA.Value).Agree(o.SitePasswords, o.HubPasswords, o.volumesExist())
	if errors.Is(err, credentials.ErrLost) {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonCredentialsLost, fmt.Sprintf(
			"%v: restore Secret %s with the key %s in namespace %s of site %s or of the hub, or delete the volumes",
			err, credentials.PasswordsName(d.name()), credentials.KeySA, d.Server.Namespace, d.Server.Spec.Site)))
	}
	if err != nil {
		return p.Settle(inProgress(err.Error()))
	}
	if !agreement.WriteSite && !agreement.WriteHub {
		// One that waits is agreed on once the engine has said which it has (planAdministrator).
		return true
	}
	reason := "site and hub differ; the site's count"
	switch {
	case agreement.Adopted:
		reason = "the hub adopts those of the site"
	case agreement.SetBack:
		reason = "one of site and hub has those of an earlier agreement, from a backup of its cluster, say; the later " +
			"ones count"
	case agreement.Restored:
		reason = "the site has lost them"
	case agreement.Generated:
		reason = "new ones are made"
	case o.DeclaredSA.Value != nil && slices.Equal(agreement.Rotated, []string{credentials.KeySA}):
		reason = fmt.Sprintf("Secret %s of %s has another one", o.DeclaredSA.Secret, o.DeclaredSA.Field)
	case len(agreement.Rotated) > 0:
		reason = "somebody changed " + strings.Join(agreement.Rotated, ", ")
	}
	p.Add(AgreePasswords{VolumesExist: o.volumesExist(), Reason: reason})
	return p.Settle(inProgress("the passwords are being written"))
}

// decide places the server.
func decide(d Desired, o Observed) (placement.Decision, error) {
	scheduling := d.scheduling()
	request := placement.Request{NodeSelector: scheduling.NodeSelector, Tolerations: scheduling.Tolerations,
		Occupied: d.occupied()}
	if a := d.shape.Affinity; a != nil && a.NodeAffinity != nil {
		request.NodeAffinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	for _, v := range d.volumes() {
		wanted := placement.Volume{Role: v.role, Class: v.class, Size: v.spec.Size, Bound: o.Bound[v.role]}
		if c := o.Claims[v.role]; c != nil && c.Spec.StorageClassName != nil {
			// A claim's class can't be changed; what is there counts.
			wanted.Class = *c.Spec.StorageClassName
		}
		request.Volumes = append(request.Volumes, wanted)
	}
	return placement.Decide(request, o.Cluster)
}

// planWorkload writes the ConfigMap and the StatefulSet.
func planWorkload(d Desired, o Observed, decision placement.Decision, p *reconcile.Plan) bool {
	conf := stamp(configMap(d))
	set := stamp(statefulSet(d, o, decision))
	for _, one := range append(account(d).pairs(o.Account),
		pair{set, o.StatefulSet}, pair{conf, o.ConfigMap}, pair{disruptionBudget(d, false, nil), o.Budget}) {
		if exists(one.have) && !owned(d, one.have.GetLabels()) {
			return p.Settle(foreign(one.want.GetObjectKind().GroupVersionKind().Kind, one.have.GetName(), d))
		}
	}
	planReaders(o, p)
	planAccount(d, o, p)
	if why := drift(conf, o.ConfigMap); why != "" {
		p.Add(ApplyObject{Object: conf, Reason: why})
	}
	if why := drift(set, o.StatefulSet); why != "" {
		p.Add(ApplyObject{Object: set, Reason: why})
	}
	if len(p.Steps) > 0 {
		return p.Settle(inProgress("the pod's objects are being written"))
	}
	return true
}

// owned tells whether the labels name this server as the owner.
func owned(d Desired, labels map[string]string) bool {
	return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy &&
		labels[v1alpha1.LabelServer] == d.Server.Name && labels[v1alpha1.LabelNamespace] == d.Server.Namespace
}

func foreign(kind, name string, d Desired) conditions.Outcome {
	return conditions.Stalled(v1alpha1.ReasonObjectConflict, fmt.Sprintf(
		"%s %s exists in namespace %s of site %s and is not the operator's: remove it, or name the server otherwise",
		kind, name, d.Server.Namespace, d.Server.Spec.Site))
}

// planReadiness waits for what remains when engine and logins are right: the pod's readiness, and the server's name at
// the other sites when somebody else's Service stands in its way.
func planReadiness(d Desired, o Observed, p *reconcile.Plan) bool {
	if n := o.Names; n != nil && n.Status == metav1.ConditionFalse && n.Reason == v1alpha1.ReasonNamesConflict {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNamesConflict, n.Message))
	}
	if sidecarComes(o.Pod) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonRestarting, "the sidecar is being replaced"))
	}
	if sites.PodReady(o.Pod) {
		return true
	}
	for _, c := range slices.Concat(o.Pod.Status.InitContainerStatuses, o.Pod.Status.ContainerStatuses) {
		if outcome, stop := containerProblem(o.Pod, c); stop && !podshape.OwnsContainer(c.Name) {
			return p.Settle(outcome)
		}
	}
	return p.Settle(
		conditions.InProgress(v1alpha1.ReasonPodNotReady, "the engine answers; the pod's readiness is awaited"),
	)
}
