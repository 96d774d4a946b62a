// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	// spent is the hash of a request that asks for nothing any more: it was for an image that is declared no longer.
	spent string
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
	i.spent = m.Annotations[annotationSpent]
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
// what waits is not in it, or no longer: whatever else restarts the pod, or a node that is lost, would bring it.
func chooseImage(d Desired, o Observed) Desired {
	now, runs := imageOfSet(o.StatefulSet), imageOfPod(o.Pod)
	next := engineImage{use: d.Server.Spec.Image, declared: d.Server.Spec.Image, asked: now.asked, spent: now.spent}
	requested := false
	if request := d.Server.Annotations[v1alpha1.UpdateAnnotation]; request != "" {
		if hash := hashOf(request); hash != now.asked && hash != now.spent {
			requested, next.asked, next.spent = true, hash, ""
		}
	}
	another := now.declared != next.declared
	var reason, held string
	if another || requested {
		reason, held = refusesVersion(d, o)
	}
	switch {
	case held != "":
		if now.use != "" {
			next = stays(d, o)
		}
		next.reason, next.held = reason, held
	case requested && runs.declared == next.declared && engineimage.Digest(next.declared) != "":
		// It has what the digest names, and is to have no other image for this request.
		back := runs.back(now)
		back.spent = next.asked
		next = keepDigest(d, o, back)
	case requested || now.use == "":
	case another && runs.declared == next.declared:
		next = keepDigest(d, o, runs.back(now))
	case !another && (runs.declared == "" || runs.declared == next.declared || runs.asked != now.asked || begun(o)):
		next = keepDigest(d, o, now)
	default:
		next = waitingImage(d, o, next)
	}
	d.chosen = next
	return d
}

// waitingImage is the image that is declared, which nobody asked for and the pod does not run, if it may be taken now.
// Else it is what runs.
func waitingImage(d Desired, o Observed, next engineImage) engineImage {
	if takesAtOnce(d, o) {
		return next
	}
	reason, held := d.awaits(o.Now)
	if held == "" {
		return next
	}
	next = stays(d, o)
	next.reason, next.held = reason, held
	return next
}

// stays is the image with which the server goes on: what its pod runs, though its template has another one by now.
func stays(d Desired, o Observed) engineImage {
	now, runs := imageOfSet(o.StatefulSet), imageOfPod(o.Pod)
	if runs.declared != "" && runs.declared != now.declared {
		now = runs.back(now)
	}
	return keepDigest(d, o, now)
}

// back is the image that a pod runs as its template had it. What was asked for since was another image.
func (i engineImage) back(now engineImage) engineImage {
	spent := now.spent
	if now.asked != i.asked {
		spent = now.asked
	}
	return engineImage{use: i.declared, declared: i.declared, asked: i.asked, spent: spent}
}

// begun tells that the pod's restart has begun, which is finished whatever the hour.
func begun(o Observed) bool { return o.Pod != nil && o.Pod.DeletionTimestamp != nil }

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

// takesAtOnce tells of a server that waits for no quiet hour: its engine has never answered, or another one than that
// which wrote the data can't run. That an engine ends again and again is no consent to another one by itself.
func takesAtOnce(d Desired, o Observed) bool {
	wrote, runs := d.Server.Status.Image, imageOfPod(o.Pod).declared
	return writtenBy(d, o) == "" ||
		stuck(o, ContainerEngine) && wrote != "" && runs != wrote && !mayBeLater(d, o, d.Server.Spec.Image)
}

// mayBeLater tells that an image may be of a later major version than the engine that wrote the data, from which there
// is no going back: it is, or nobody knows.
func mayBeLater(d Desired, o Observed, image string) bool {
	wrote := writtenBy(d, o)
	if wrote == "" || image == d.Server.Status.Image {
		return false
	}
	major, known := engineimage.Major(image)
	return !known || major > engineimage.MajorOf(wrote)
}

// awaitsConsent says of a server whose engine can't run that its template brings an image that may be of a later major
// version, and that nobody asked for: it has its turn like any other. Empty when there is nothing of it.
func awaitsConsent(d Desired, o Observed) string {
	runs, next := imageOfPod(o.Pod), imageOfSet(o.StatefulSet)
	if !stuck(o, ContainerEngine) || !updates(o) || runs.asked != next.asked || !mayBeLater(d, o, next.declared) {
		return ""
	}
	return fmt.Sprintf("; image %s may be of a later major version than the data, so it does not come before: `kubectl "+
		"geosql update %s` asks for it now", next.declared, d.Server.Name)
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

// awaitsWindow says which maintenance window is closed, of those of the server and of its groups' others, and when all
// of them are open.
func (d Desired) awaitsWindow(now time.Time) (reason, why string) {
	var all [][]v1alpha1.MaintenanceWindow
	var names []string
	closed := ""
	for _, s := range d.withPeers() {
		if len(s.Spec.MaintenanceWindows) == 0 {
			continue
		}
		all, names = append(all, s.Spec.MaintenanceWindows), append(names, s.Name)
		if open, _, _ := schedule.Open(s.Spec.MaintenanceWindows, now); !open {
			closed = cmp.Or(closed, s.Name)
		}
	}
	if closed == "" {
		return "", ""
	}
	when, of := "", strings.Join(names, ", ")
	switch next, err := schedule.Common(all, now); {
	case err != nil:
		when = err.Error()
	case next.IsZero() && len(names) > 1:
		when = "those of " + of + " are never all open within a year: change them"
	case next.IsZero():
		when = "none opens within a year: change it"
	case len(names) > 1:
		when = "those of " + of + " are next all open at " + next.UTC().Format(time.RFC3339)
	default:
		when = "the next one opens at " + next.UTC().Format(time.RFC3339)
	}
	return v1alpha1.ReasonUpdateAwaitsWindow, fmt.Sprintf(
		"image %s is declared and waits for a maintenance window of %s: %s; `kubectl geosql update %s` asks for it now",
		d.Server.Spec.Image, closed, when, d.Server.Name)
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
