// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/engineimage"
	"geosql.dev/operator/internal/schedule"
)

// engineImage is the engine's image in the pod's template, or in a pod.
type engineImage struct {
	// use is what the container names: what was declared, or that by a digest.
	use string
	// declared is what was declared when it was taken.
	declared string
	// asked is the hash of the request for an update (v1alpha1.UpdateAnnotation) that it follows; empty without one.
	asked string
	// held is why what is declared now is not taken yet, with its reason; empty when it is.
	held, reason string
}

// imageIn reads it from a template, or from a pod.
func imageIn(m metav1.ObjectMeta, spec corev1.PodSpec) engineImage {
	var i engineImage
	for _, c := range spec.Containers {
		if c.Name == ContainerEngine {
			i.use = c.Image
		}
	}
	i.declared, i.asked = cmp.Or(m.Annotations[annotationImage], i.use), m.Annotations[v1alpha1.UpdateAnnotation]
	return i
}

func imageOfSet(set *appsv1.StatefulSet) engineImage {
	if set == nil {
		return engineImage{}
	}
	return imageIn(set.Spec.Template.ObjectMeta, set.Spec.Template.Spec)
}

func imageOfPod(pod *corev1.Pod) engineImage {
	if pod == nil {
		return engineImage{}
	}
	return imageIn(pod.ObjectMeta, pod.Spec)
}

// image of the engine as the pod's template is to name it. Where nothing was observed it is what is declared.
func (d Desired) image() engineImage {
	if d.chosen.use == "" {
		return engineImage{use: d.Server.Spec.Image, declared: d.Server.Spec.Image}
	}
	return d.chosen
}

// chooseImage takes the image that is declared, once it may, or stays with the one that there is. Of a tag it keeps the
// digest that runs: a node that pulls the tag again changes nothing. What it takes is in the pod's template alone, so
// that whatever else restarts the pod, or a node that is lost, brings no update that waits.
func chooseImage(d Desired, o Observed) Desired {
	now, next := imageOfSet(o.StatefulSet), engineImage{use: d.Server.Spec.Image, declared: d.Server.Spec.Image}
	next.asked = now.asked
	if request := d.Server.Annotations[v1alpha1.UpdateAnnotation]; request != "" {
		next.asked = hashOf(request)
	}
	requested := next.asked != now.asked
	if now.use == "" {
		next.reason, next.held = refusesVersion(d, o)
		d.chosen = next
		return d
	}
	if now.declared == next.declared && !requested {
		d.chosen = keepDigest(d, o, now)
		return d
	}
	reason, held := refusesVersion(d, o)
	if held == "" && now.declared != next.declared && !requested && !takesAtOnce(d, o) {
		reason, held = d.awaits(o.Now)
	}
	if held != "" {
		next = keepDigest(d, o, now)
		next.reason, next.held = reason, held
	}
	d.chosen = next
	return d
}

// keepDigest names the image by the digest that the pod runs, which was started for it. Where nobody may pull, only
// what a node was given by hand is there, under the name that it was given.
func keepDigest(d Desired, o Observed, i engineImage) engineImage {
	if d.Server.Spec.ImagePullPolicy == corev1.PullNever {
		i.use = i.declared
		return i
	}
	runs := imageOfPod(o.Pod)
	if o.Pod == nil || i.use != i.declared || runs.declared != i.declared || runs.asked != i.asked {
		return i
	}
	if runs.use != runs.declared {
		i.use = runs.use
	} else if pinned, ok := engineimage.Pin(i.declared, imageID(o.Pod)); ok {
		i.use = pinned
	}
	return i
}

// takesAtOnce tells of a server that waits for no quiet hour: its engine has never answered, or it can't run.
func takesAtOnce(d Desired, o Observed) bool {
	return writtenBy(d, o) == "" || stuck(o, ContainerEngine)
}

// writtenBy is the version of the engine that wrote the data: the one that answers, else the one that answered last, by
// the claim of the data, which outlives the hub, or by the status. Empty when none is known to have.
func writtenBy(d Desired, o Observed) string {
	noted := ""
	if c := o.Claims[placement.RoleData]; c != nil {
		noted = c.Annotations[annotationWrittenBy]
	}
	if o.Engine.Asked && o.Engine.Err == nil {
		noted = cmp.Or(o.Engine.Instance.ProductVersion, noted)
	}
	if len(o.Claims) == 0 {
		return noted
	}
	return cmp.Or(noted, d.Server.Status.Version)
}

// refusesVersion says why the declared image can't be used on the data; empty where it can, or where nobody knows.
func refusesVersion(d Desired, o Observed) (reason, why string) {
	image, wrote := d.Server.Spec.Image, writtenBy(d, o)
	major, known := engineimage.Major(image)
	if !known || engineimage.MajorOf(wrote) <= major {
		return "", ""
	}
	return v1alpha1.ReasonVersionLower, fmt.Sprintf(
		"image %s is of %s, and the data were written by %s of %s: no engine of a lower major version opens them. Declare "+
			"an image of %[4]s or later", image, engineimage.Name(major), wrote, engineimage.Name(engineimage.MajorOf(wrote)))
}

// anotherImage tells of an engine that does not run that its image is another one than that of the engine that wrote
// the data. Of which version it is may not be known before it runs.
func anotherImage(d Desired, o Observed) string {
	wrote, runs := d.Server.Status.Image, imageOfPod(o.Pod).declared
	if wrote == "" || runs == "" || wrote == runs || writtenBy(d, o) == "" {
		return ""
	}
	return fmt.Sprintf("; %s of image %s wrote the data, and the pod is of image %s: an engine of a lower major version "+
		"does not open them. Declare the former image again, or what helps this one", writtenBy(d, o), wrote, runs)
}

// keptImage tells of an image that can't be had that it is the digest that a tag once named.
func keptImage(d Desired, o Observed, reason string) string {
	pod := imageOfPod(o.Pod)
	if reason != v1alpha1.ReasonImagePullFailed || pod.use == pod.declared {
		return ""
	}
	return fmt.Sprintf("; it is what %s named when the server first started with it: `kubectl geosql update %s` takes what "+
		"that names now", pod.declared, d.Server.Name)
}

// awaits says what another image waits for: a group goes by its strictest server.
func (d Desired) awaits(now time.Time) (reason, why string) {
	for _, s := range d.withPeers() {
		if s.Spec.UpdatePolicy == v1alpha1.UpdateOnRequest {
			return v1alpha1.ReasonUpdateAwaitsRequest, fmt.Sprintf(
				"image %s is declared, and updatePolicy of %s is OnRequest: `kubectl geosql update %s` asks for it",
				d.Server.Spec.Image, s.Name, d.Server.Name)
		}
	}
	return d.awaitsWindow(now)
}

// awaitsWindow says which maintenance window is closed, of those of the server and of its groups' others.
func (d Desired) awaitsWindow(now time.Time) (reason, why string) {
	for _, s := range d.withPeers() {
		open, next, err := schedule.Open(s.Spec.MaintenanceWindows, now)
		if open {
			continue
		}
		when := "none opens within five years"
		switch {
		case err != nil:
			when = err.Error()
		case !next.IsZero():
			when = "the next one opens at " + next.UTC().Format(time.RFC3339)
		}
		return v1alpha1.ReasonUpdateAwaitsWindow, fmt.Sprintf(
			"image %s is declared and waits for a maintenance window of %s: %s; `kubectl geosql update %s` asks for it now",
			d.Server.Spec.Image, s.Name, when, d.Server.Name)
	}
	return "", ""
}

// withPeers are the server and the other servers of its groups that are there, the server first.
func (d Desired) withPeers() []*v1alpha1.SQLServer {
	all := []*v1alpha1.SQLServer{d.Server}
	for i := range d.servers {
		if s := &d.servers[i]; slices.Contains(d.Partners, v1alpha1.ServerName(s.Name)) {
			all = append(all, s)
		}
	}
	return all
}

// updates tells that the pod runs another image than its template is to bring.
func updates(o Observed) bool {
	runs, next := imageOfPod(o.Pod), imageOfSet(o.StatefulSet)
	return runs.use != "" && next.use != "" && (runs.declared != next.declared || updateAsked(o))
}

// updateAsked tells that a person has asked for an update since the pod was made. A digest names one image for ever: a
// request for it asks for nothing else.
func updateAsked(o Observed) bool {
	runs, next := imageOfPod(o.Pod), imageOfSet(o.StatefulSet)
	return runs.use != "" && next.asked != "" && runs.asked != next.asked && engineimage.Digest(next.declared) == ""
}

// closed says which maintenance window the image that is in the template waits for; empty when it may come. What a
// person asks for comes at once, and so does what helps an engine that does not run.
func (d Desired) closed(o Observed) string {
	if !updates(o) || updateAsked(o) || restartAsked(o) || takesAtOnce(d, o) {
		return ""
	}
	_, why := d.awaitsWindow(o.Now)
	return why
}

// stoppedAfter is how long a server may take after its update until it is well: recovery takes its time.
const stoppedAfter = 5 * time.Minute

// stopped says which other server of the groups has the image that is declared and is not well with it.
func (d Desired) stopped(now time.Time) string {
	for _, s := range d.withPeers()[1:] {
		ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		current := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionImageCurrent)
		if s.Spec.Image != d.Server.Spec.Image || ready == nil || s.Status.Serves() ||
			current == nil || current.Status != metav1.ConditionTrue || current.ObservedGeneration != s.Generation {
			continue
		}
		if ill := now.Sub(ready.LastTransitionTime.Time); ill >= stoppedAfter {
			return fmt.Sprintf("%s has image %s and has not been well for %s: %s. The others keep theirs. Mend it, or "+
				"declare the former image again (a lower major version is not taken)",
				s.Name, s.Spec.Image, ill.Truncate(time.Second), ready.Message)
		}
	}
	return ""
}

// progress says how many servers of the groups answer with the image that is declared.
func (d Desired) progress() string {
	all := d.withPeers()
	if len(all) == 1 {
		return ""
	}
	done := 0
	for _, s := range all {
		if s.Status.Image == d.Server.Spec.Image {
			done++
		}
	}
	return fmt.Sprintf("; %d of the %d servers of its groups have it", done, len(all))
}

// movedTag says by what it shows that the tag names another image by now than the one that runs.
func (d Desired) movedTag(o Observed) string {
	image := d.Server.Spec.Image
	digest := engineimage.DigestOf(image, imageID(o.Pod))
	if digest == "" || engineimage.Digest(image) != "" {
		return ""
	}
	for _, node := range o.Cluster.Nodes {
		for _, i := range node.Status.Images {
			if now, moved := engineimage.Moved(image, digest, i.Names); moved {
				return fmt.Sprintf("on node %s it names %s", node.Name, now)
			}
		}
	}
	for i := range d.servers {
		s := &d.servers[i]
		if other := engineimage.DigestOf(image, s.Status.ImageID); s.Spec.Image == image && s.Status.Image == image &&
			other != "" && other != digest && s.Name != d.Server.Name {
			return fmt.Sprintf("%s runs %s of it", s.Name, other)
		}
	}
	return ""
}

// imageCondition says whether the engine runs what is declared; nil while that is not known.
func imageCondition(d Desired, o Observed) *metav1.Condition {
	if o.StatefulSet == nil || o.Site != nil {
		return nil
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionImageCurrent, Status: metav1.ConditionFalse}
	chosen, moved, image := chooseImage(d, o).chosen, "", d.Server.Spec.Image
	if o.Pod != nil {
		moved = d.movedTag(o)
	}
	stopped := d.stopped(o.Now)
	switch waiting := updates(o) || chosen.held != "" && chosen.reason != v1alpha1.ReasonVersionLower; {
	case waiting && stopped != "":
		c.Reason, c.Message = v1alpha1.ReasonUpdateStopped, stopped
	case chosen.held != "":
		c.Reason, c.Message = chosen.reason, chosen.held+d.progress()
	case updates(o):
		c.Reason, c.Message = v1alpha1.ReasonUpdating, fmt.Sprintf("image %s comes with the pod's next start, when it is "+
			"the server's turn (RestartPending)%s", image, d.progress())
		if why := d.closed(o); why != "" {
			c.Reason, c.Message = v1alpha1.ReasonUpdateAwaitsWindow, why+d.progress()
		}
	case moved != "":
		c.Reason, c.Message = v1alpha1.ReasonTagMoved, fmt.Sprintf("image %s is kept at %s, and its tag has moved: %s. "+
			"`kubectl geosql update %s` takes what it names now; a tag of one build, or a digest, does not move",
			image, engineimage.DigestOf(image, imageID(o.Pod)), moved, d.Server.Name)
	default:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonImageAsDeclared
		c.Message = "the pod is of image " + chosen.use
	}
	return c
}
